import type { TObject, TSchema } from '@sinclair/typebox';
import type { StreamPart } from '../contract/parts.ts';
import type { AnswerIdentity, PromptCount, Receipt } from '../core/decision/answer.ts';
import type { SignalboxError } from '../core/errors.ts';
import type { Members } from '../core/json/original.ts';
import type { Operation } from '../core/kinds/operations.ts';
import type { ModelRequest } from '../core/request/model-request.ts';

/**
 * A dialect that callers speak: its routes, and how it writes errors. A surface is pure: it uses no clock, randomness, socket or store. For
 * every surface alike, the HTTP layer checks the key and the limits, sends the text, and keeps answers for repeated requests.
 *
 * @example export const myChat: Surface = {
 *   name: 'my-chat',
 *   dialect: 'My Chat',
 *   maker: 'Me',
 *   routes: [
 *     {
 *       kind: 'answer',
 *       operation: 'chat',
 *       method: 'POST',
 *       path: '/my/chat',
 *       pays: false,
 *       docs: MY_DOCS,
 *       read({ body }) {
 *         const request = modelRequest(check(body), MY_READER);
 *         return { request, events: request.stream ? LINES : null };
 *       },
 *       json: (identity) => new MyWriter(identity),
 *     },
 *   ],
 *   error: MyError,
 *   errorBody: (error) => ({ error: error.message }),
 * };
 */
export interface Surface {
  /** The name of the surface, unique among the surfaces, in kebab-case: `openai-chat`. */
  readonly name: string;
  /** The official name of the dialect, such as `OpenAI Chat Completions`. The documentation groups the routes of a dialect by this name. */
  readonly dialect: string;
  /** The company whose API this is, for messages. */
  readonly maker: string;
  /** The routes of the dialect. The first one is the route that the documentation names. */
  readonly routes: readonly [SurfaceRoute, ...SurfaceRoute[]];
  /** Maps fields of other dialects that callers may send by mistake to the fields to use instead, for the log. */
  readonly foreignFields?: ReadonlyMap<string, string>;
  /** The schema of an error's body. */
  readonly error: TSchema;
  /**
   * Returns the JSON body of an error that occurs before any part of an answer.
   * @param requestId as in the header `x-request-id`
   */
  errorBody(error: SignalboxError, requestId?: string): object;
  /**
   * The header that every client of this dialect sends and no other client does, in lower case. On paths that clients of several dialects
   * use, this header decides the dialect of errors, and of lists of models if the dialect has its own form of them. A header with a key
   * decides only without `authorization`. `versionHeader` is undefined if the dialect has no such header.
   */
  readonly versionHeader?: string;
  /** The header with the request ID in this dialect, sent in addition to `x-request-id`, in lower case. */
  readonly requestIdHeader?: string;
  /** The headers in which clients of this dialect send a key, in lower case, if it is not `authorization`. Every route accepts them. */
  readonly keyHeaders?: readonly string[];
  /** The parameter of the query in which clients may send a key, on the surface's own paths only. */
  readonly keyParameter?: string;
  /** Paths of this API that Signalbox does not serve, without `/v1`, and a name for messages. */
  readonly unserved?: readonly UnservedApi[];
  /** How the console's playground names the dialect and shows its requests; undefined if the playground leaves it out. */
  readonly playground?: PlaygroundDialect;
}

/** Paths of an API that Signalbox does not serve. */
export interface UnservedApi {
  readonly path: RegExp;
  /** The name of the API in the sentence "Signalbox does not serve … yet." */
  readonly name: string;
  /** Whether the path begins like a model in a list of models, and ends with a method. */
  readonly isMethod?: true;
}

/** A dialect in the console's playground. */
export interface PlaygroundDialect {
  /** The value of `dialect` in a request to the playground. */
  readonly word: string;
  /** The name for people. */
  readonly label: string;
  /** The part of the URL that the base URL of the client library ends with: `/v1`, or empty. */
  readonly base: '/v1' | '';
  /** The client library: its package, its class, and the option with the key, in which `KEY` stands for the value. */
  readonly client: { readonly package: string; readonly name: string; readonly key: string };
  /** The method that sends a body. */
  readonly call: string;
  /** The body of a request without a model, in which `PROMPT` stands for the text. */
  readonly prompt: Members;
  /**
   * Expressions for the text of `answer`, and for the text of an `event` of a stream; null for a dialect without streams. The console
   * reads an answer along the members that an expression names, unless `wire.ts` of the playground has a reader of the dialect.
   */
  readonly text: string;
  readonly delta: string | null;
}

/** A route of a dialect. */
export type SurfaceRoute = AnswerRoute | CountRoute | ListRoute;

/** A route's input from its HTTP request. */
export interface RouteInput {
  /** Parsed JSON, within the limits of size and depth. */
  readonly body: unknown;
  readonly headers: Headers;
  /** The values of the parameters in the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** The query of the address, without its question mark; '' for none. */
  readonly query: string;
}

/** A route on which a model answers, with text or with vectors. */
export interface AnswerRoute {
  readonly kind: 'answer';
  /** The operation that the route needs from a model. */
  readonly operation: Operation;
  readonly method: 'POST';
  /** The path, with at most one parameter, which can have a suffix: `/v1beta/models/{model}:generateContent`. */
  readonly path: string;
  /** Further paths of the route, which the OpenAPI document leaves out; templates only. */
  readonly alsoAt?: readonly string[];
  /** Whether a request without a key may pay for itself, if the policy accepts payments. */
  readonly pays: boolean;
  readonly docs: AnswerDocs;
  /**
   * Checks and reads a request.
   * @throws SignalboxError that names the field at fault by its path in the body.
   */
  read(input: RouteInput): SurfaceRequest;
  /**
   * Whether a body of `/v1/route` that does not state its dialect is a body of this route. Undefined if `/v1/route` accepts the body only
   * with `dialect`.
   */
  owns?(body: Members): boolean;
  /** The features of chats that requests of this route cannot have; undefined for a route with all of them. */
  readonly lacks?: LackedFeatures;
  /** Returns the writer of one answer as a JSON body. The `write` of a JSON writer returns ''; its `end` returns the whole body. */
  readonly json: (identity: AnswerIdentity) => AnswerWriter;
  /**
   * Reads a request that needs nothing from a model; undefined if no client sends such requests.
   * @returns null for every other request
   * @throws SignalboxError that names the field at fault
   */
  warmUp?(input: RouteInput): WarmUp | null;
  /** Opens a WebSocket at the same path, whose text frames are requests and events; undefined if the dialect has no WebSocket. */
  dialogue?(): SocketDialogue;
}

/** For each feature of chats that a route lacks: the fields in which callers may send the feature. The route refuses these fields by name. */
export type LackedFeatures = Readonly<Partial<Record<ChatFeature, readonly [string, ...string[]]>>>;
export type ChatFeature = 'tools' | 'turns' | 'instructions' | 'media';

/** A route that counts the tokens of a prompt. */
export interface CountRoute {
  readonly kind: 'count';
  readonly method: 'POST';
  readonly path: string;
  /** As in `AnswerRoute`. */
  readonly alsoAt?: readonly string[];
  readonly docs: CountDocs;
  /**
   * Checks and reads the request whose tokens are counted.
   * @throws SignalboxError that names the field at fault
   */
  read(input: RouteInput): ModelRequest;
  /** Returns the body of the answer. */
  answer(count: PromptCount): object;
}

/** A route that lists the models a caller may use. Below it, each model has a path with its ID. */
export interface ListRoute {
  readonly kind: 'list';
  readonly method: 'GET';
  readonly path: string;
  /** Whether clients of several dialects use the path, so that their headers decide the form of errors. */
  readonly isShared: boolean;
  readonly docs: ListDocs;
  /**
   * Reads the requested page; null for the complete list. Undefined if the list has `limit`, `after_id` and `before_id`.
   * @throws SignalboxError that names the parameter at fault
   */
  page?(query: URLSearchParams): ListPage | null;
  /** Returns the body with a page of models. */
  list(models: readonly ListedModel[], hasMore: boolean): object;
  /** Returns the body with one model. */
  model(model: ListedModel): object;
}

/** A requested page of a list of models. */
export interface ListPage {
  readonly limit: number;
  /** The ID before the page; null for none. */
  readonly after: string | null;
  /** The ID after the page; null for none. */
  readonly before: string | null;
}

/** Every path of a route. */
export const pathsOf = (route: SurfaceRoute): readonly string[] =>
  route.kind === 'list' ? [route.path] : [route.path, ...(route.alsoAt ?? [])];

/** Returns the dialect that the headers of a request indicate, on paths that clients of several dialects use. */
export function spokenIn(surfaces: readonly Surface[], headers: Headers): Surface | undefined {
  for (const surface of surfaces) {
    const { versionHeader, keyHeaders } = surface;
    if (versionHeader === undefined || !headers.has(versionHeader)) continue;
    if (!keyHeaders?.includes(versionHeader) || !headers.has('authorization')) return surface;
  }
  return undefined;
}

/** A model, a selector or an alias in a list of models. */
export interface ListedModel {
  readonly id: string;
  /** The ID; for an alias, the name that it stands for. */
  readonly shownAs: string;
  /** When the model was released, Unix time in seconds; 0 for a selector. */
  readonly created: number;
  /** The provider that is tried first; `signalbox` for a selector. */
  readonly owner: string;
  /** When the provider deprecated the model, Unix time in seconds; null for an active model. */
  readonly deprecated: number | null;
  /** Tokens; null if unknown. */
  readonly inputTokensMax: number | null;
  readonly outputTokensMax: number | null;
  readonly operations: readonly Operation[];
  readonly abilities: readonly string[];
}

/** A route on which a model answers, with its surface. */
export interface ServedRoute {
  readonly surface: Surface;
  readonly route: AnswerRoute;
}

/** Returns the routes of surfaces on which a model answers. */
export const answerRoutesOf = (surfaces: readonly Surface[]): readonly ServedRoute[] =>
  surfaces.flatMap((surface) =>
    surface.routes.flatMap((route) => (route.kind === 'answer' ? [{ surface, route }] : [])),
  );

/** A request that its surface has read. */
interface SurfaceRequest {
  /** The request in the neutral form. */
  readonly request: ModelRequest;
  /** The form of the requested stream; null for an answer in one JSON body. */
  readonly events: EventForm | null;
  /** Replaces the route's own `json` if an answer in JSON repeats members of the request. */
  readonly json?: AnswerRoute['json'];
}

/** A request that needs nothing from a model, as its surface has read it. */
export interface WarmUp {
  readonly request: ModelRequest;
  /** Returns the events of the answer. */
  answer(identity: AnswerIdentity): string;
}

/** One WebSocket connection. A `SocketDialogue` handles one request at a time. */
export interface SocketDialogue {
  /** The size in bytes of all remembered requests and answers. */
  readonly bytes: number;
  /**
   * Reads a frame of the WebSocket. The server calls `read` after it has admitted the request.
   * @returns the body of the request as JSON for `AnswerRoute.read`, in pieces
   * @throws SignalboxError that names the field at fault
   */
  read(frame: string): readonly Uint8Array[];
  /** Records an event that the server sends, as JSON. */
  sent(event: string): void;
  /** Forgets the current request when it is over, with or without an answer. */
  end(): void;
  /** Returns the frame of an error that occurs before any event. @param headers the headers that the error has for a POST request */
  error(status: number, body: object, headers: Readonly<Record<string, string>>): string;
}

/** A form of streamed answers. */
export interface EventForm {
  readonly contentType: string;
  /**
   * The text that keeps a quiet connection open before the first part of the answer. Clients ignore the heartbeat. The heartbeat must not
   * be empty.
   */
  readonly heartbeat: string;
  /**
   * Whether the dialect lacks an event for the end of a failed answer. Some clients of such a dialect treat the incomplete answer as
   * complete, unless the connection breaks.
   */
  readonly hasNoFailedEnd?: boolean;
  /** Creates the writer of an answer. The server calls `writer` when the first content has arrived or has failed to arrive. */
  writer(identity: AnswerIdentity): EventWriter;
}

/** Writes one answer as text. The way in which the parts are split into batches does not affect the text. */
export interface AnswerWriter {
  /**
   * Returns the text of a batch of parts; '' if there is nothing to write yet. The body of the answer consists of the texts that `write`
   * returned and the text that `end` or `error` returned.
   */
  write(parts: readonly StreamPart[]): string;
  /** Returns the text of a successful end. The server calls `end` last. */
  end(receipt: Receipt): string;
}

export interface EventWriter extends AnswerWriter {
  /** Whether `write` writes a separate event for each event of a `TextRun`. Otherwise the server separates the events first. */
  readonly takesRuns?: true;
  /**
   * Returns the text of the end after an error; the server calls `error` instead of `end`.
   * @param error must contain no secrets
   * @param platform the cost of the answer so far; null if nothing was settled
   */
  error(error: SignalboxError, platform: Receipt['platform'] | null): string;
}

/**
 * The part of a route from which the API's documentation is made. The examples are created on access, because the server does not need
 * them to start.
 */
export interface RequestDocs {
  readonly summary: string;
  /** The description in Markdown. */
  readonly description: string;
  /** The schema of a request's body. */
  readonly request: TSchema;
  /** Example request bodies, by name. */
  readonly requests: Readonly<Record<string, { readonly summary: string; readonly value: object }>>;
  readonly answer: { readonly schema: TSchema; readonly description: string; readonly example: object };
  /** The path of a field that is used in examples of errors about one field. */
  readonly errorField: string;
}

export type CountDocs = RequestDocs;

export interface AnswerDocs extends RequestDocs {
  /** The schema of the data of one event, and an example stream as text; undefined if the dialect has no streams. */
  readonly events?: {
    readonly schema: TSchema;
    /** The data of the last event, if the data is not JSON. */
    readonly end?: string;
    readonly description: string;
    readonly example: string;
    readonly mediaType: string;
  };
}

/** The documentation of a list of models, and of one of its models. */
export interface ListDocs {
  readonly list: {
    readonly summary: string;
    readonly description: string;
    readonly schema: TSchema;
    /** The schema of the query that `page` reads. */
    readonly query?: TObject;
  };
  readonly model: { readonly summary: string; readonly description: string; readonly schema: TSchema };
}
