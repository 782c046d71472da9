import type { TSchema } from '@sinclair/typebox';
import type { StreamPart } from '../contract/parts.ts';
import type { AnswerIdentity, Receipt } from '../core/answer.ts';
import type { SignalboxError } from '../core/errors.ts';
import type { ModelRequest } from '../core/model-request.ts';
import type { Operation } from '../core/operation.ts';

/**
 * A dialect that callers speak: it reads a request into the neutral form, and writes the answer and errors. A surface is pure: it uses no
 * clock, randomness, socket or store. For every surface alike, the HTTP layer checks the key and the limits, sends the text, and keeps
 * answers for repeated requests.
 *
 * @example export const myChat: Surface = {
 *   name: 'my-chat',
 *   operation: 'chat',
 *   path: '/my/chat',
 *   pays: false,
 *   docs: MY_DOCS,
 *   read: (body) => {
 *     const request = modelRequest(check(body), MY_READER);
 *     return { request, events: request.stream ? LINES : null };
 *   },
 *   json: (identity) => new MyWriter(identity),
 *   errorBody: (error) => ({ error: error.message }), };
 */
export interface Surface {
  /** The name of the surface, unique among the surfaces, in kebab-case: `openai-chat`. */
  readonly name: string;
  /** The operation that requests of this surface need from a model. */
  readonly operation: Operation;
  /** The path to which callers send POST requests of this surface. */
  readonly path: string;
  /** Whether a request without a key may pay for itself, if the policy accepts payments. */
  readonly pays: boolean;
  readonly docs: SurfaceDocs;
  /** Maps fields of other dialects that callers may send by mistake to the fields to use instead, for the log. */
  readonly foreignFields?: ReadonlyMap<string, string>;
  /**
   * Checks and reads a body.
   * @param body parsed JSON, within the limits of size and depth.
   * @throws SignalboxError that names the field at fault by its path in the body.
   */
  read(body: unknown, headers: Headers): SurfaceRequest;
  /** Returns the writer of one answer as a JSON body. The `write` of a JSON writer returns ''; its `end` returns the whole body. */
  readonly json: (identity: AnswerIdentity) => AnswerWriter;
  /**
   * Reads a request that needs nothing from a model; undefined if no client sends such requests.
   * @returns null for every other request
   * @throws SignalboxError that names the field at fault
   */
  warmUp?(body: unknown, headers: Headers): WarmUp | null;
  /** Opens a WebSocket at the same path, whose text frames are requests and events; undefined if the dialect has no WebSocket. */
  dialogue?(): SocketDialogue;
  /**
   * Returns the JSON body of an error that occurs before any part of an answer.
   * @param requestId as in the header `x-request-id`
   */
  errorBody(error: SignalboxError, requestId?: string): object;
  /**
   * The header that every client of this dialect sends and no other client does, in lower case. On paths that clients of several dialects
   * use, this header decides the dialect of errors. `versionHeader` is undefined if the dialect has no such header.
   */
  readonly versionHeader?: string;
  /** The header with the request ID in this dialect, sent in addition to `x-request-id`, in lower case. */
  readonly requestIdHeader?: string;
}

/** A request that its surface has read. */
interface SurfaceRequest {
  /** The request in the neutral form. */
  readonly request: ModelRequest;
  /** The form of the requested stream; null for an answer in one JSON body. */
  readonly events: EventForm | null;
  /** Replaces the surface's own `json` if an answer in JSON repeats members of the request. */
  readonly json?: Surface['json'];
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
   * @returns the body of the request as JSON for `Surface.read`, in pieces
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
  /**
   * Returns the text of the end after an error; the server calls `error` instead of `end`.
   * @param error must contain no secrets
   * @param platform the cost of the answer so far; null if nothing was settled
   */
  error(error: SignalboxError, platform: Receipt['platform'] | null): string;
}

/**
 * The part of a surface from which the API's documentation is made. The examples are created on access, because the server does not need
 * them to start.
 */
export interface SurfaceDocs {
  /** The official name of the dialect, such as `OpenAI Chat Completions`. The documentation groups the routes of a dialect by this name. */
  readonly dialect: string;
  readonly summary: string;
  /** The description in Markdown. */
  readonly description: string;
  /** The schema of a request's body. */
  readonly request: TSchema;
  /** Example request bodies, by name. */
  readonly requests: Readonly<Record<string, { readonly summary: string; readonly value: object }>>;
  readonly answer: { readonly schema: TSchema; readonly description: string; readonly example: object };
  /** The schema of the data of one event, and an example stream as text; undefined if the dialect has no streams. */
  readonly events?: {
    readonly schema: TSchema;
    /** The data of the last event, if the data is not JSON. */
    readonly end?: string;
    readonly description: string;
    readonly example: string;
    readonly mediaType: string;
  };
  /** The schema of an error's body. */
  readonly error: TSchema;
  /** The path of a field that is used in examples of errors about one field. */
  readonly errorField: string;
}
