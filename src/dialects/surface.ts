import type { TSchema } from '@sinclair/typebox';
import type { StreamPart } from '../contract/parts.ts';
import type { SignalboxError } from '../core/errors.ts';
import type { ModelRequest } from '../core/model-request.ts';
import type { Operation } from '../core/operation.ts';
import type { AnswerIdentity } from '../gateway/exchange/answer-source.ts';
import type { Receipt } from '../gateway/money/receipt.ts';

/**
 * A dialect that callers speak: how a request is read into the neutral one, and how its answer and its errors are
 * written. A surface is pure: it knows no clock, chance, socket or store. The edge checks the key and the limits,
 * sends the text, and keeps answers for repeats, the same for every surface.
 *
 * @example
 * export const myChat: Surface = {
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
 *   errorBody: (error) => ({ error: error.message }),
 * };
 */
export interface Surface {
  /** Unique among the surfaces, in kebab-case: `openai-chat`. */
  readonly name: string;
  /** The operation that its requests ask of a model. */
  readonly operation: Operation;
  /** The path that takes its requests by POST. */
  readonly path: string;
  /** Whether a request without a key may pay for itself, where the policy takes payments. */
  readonly pays: boolean;
  readonly docs: SurfaceDocs;
  /** Fields of other dialects that callers may send by mistake → what to send in their place, for the log. */
  readonly foreignFields?: ReadonlyMap<string, string>;
  /**
   * Checks a body and reads it.
   * @param body parsed JSON, within the limits of size and depth.
   * @throws SignalboxError that names the field at fault by its path in the body.
   */
  read(body: unknown, headers: Headers): SurfaceRequest;
  /** Returns the writer of one answer as a JSON body. Its `write` returns ''; `end` returns the whole. */
  readonly json: (identity: AnswerIdentity) => AnswerWriter;
  /**
   * Reads a request that asks nothing of a model; absent where no client sends any.
   * @returns null for every other request
   * @throws SignalboxError that names the field at fault
   */
  warmUp?(body: unknown, headers: Headers): WarmUp | null;
  /** Opens a WebSocket at the same path, whose text frames are requests and events; absent for none. */
  dialogue?(): SocketDialogue;
  /**
   * Returns the JSON body of an error that comes before any part of an answer.
   * @param requestId as in the header `x-request-id`
   */
  errorBody(error: SignalboxError, requestId?: string): object;
  /**
   * The header that every client of this dialect sends, and no other client; in lower case. On paths that clients of several
   * dialects use, errors have the dialect of the request's header. Absent for none.
   */
  readonly versionHeader?: string;
  /** The header that names the request in this dialect, beside `x-request-id`; in lower case. */
  readonly requestIdHeader?: string;
}

/** A request as its surface has read it. */
interface SurfaceRequest {
  /** The request as all else sees it. */
  readonly request: ModelRequest;
  /** The form of the stream that the caller asks for; null for an answer in one JSON body. */
  readonly events: EventForm | null;
  /** In place of the surface's own, where an answer in JSON repeats members of the request. */
  readonly json?: Surface['json'];
}

/** A request that asks nothing of a model, as its surface has read it. */
export interface WarmUp {
  readonly request: ModelRequest;
  /** Returns the events of its answer. */
  answer(identity: AnswerIdentity): string;
}

/** One connection by WebSocket. It has one request at a time. */
export interface SocketDialogue {
  /** Bytes of all that it remembers of past requests and answers. */
  readonly bytes: number;
  /**
   * Reads a frame. Called once its request is admitted.
   * @returns the body of the request that it makes, JSON for `Surface.read`, in pieces
   * @throws SignalboxError that names the field at fault
   */
  read(frame: string): readonly Uint8Array[];
  /** Notes an event that is sent, as JSON. */
  sent(event: string): void;
  /** Forgets the request under way, which is over, answered or not. */
  end(): void;
  /** Returns the frame of an error that comes before any event. @param headers those that it has by POST */
  error(status: number, body: object, headers: Readonly<Record<string, string>>): string;
}

/** A form of streamed answers. */
export interface EventForm {
  readonly contentType: string;
  /** Text that keeps a quiet connection open and that clients skip, before the first part. Not empty. */
  readonly heartbeat: string;
  /**
   * Whether the dialect has no event for the end of a failed answer. Some of its clients then take the part for a whole answer,
   * unless the connection breaks.
   */
  readonly hasNoFailedEnd?: boolean;
  /** Called once the first content is there, or has failed to come. */
  writer(identity: AnswerIdentity): EventWriter;
}

/** Writes one answer as text. The split of its parts into batches changes nothing of the text. */
export interface AnswerWriter {
  /** Returns the text of a batch of parts; '' for a batch without anything to show yet. A body is all texts and the end. */
  write(parts: readonly StreamPart[]): string;
  /** Returns the text of a good end. Called once, last. */
  end(receipt: Receipt): string;
}

export interface EventWriter extends AnswerWriter {
  /**
   * Returns the text of an end by an error, in place of `end`.
   * @param error free of secrets.
   * @param platform what the answer cost until then; null where nothing was settled.
   */
  error(error: SignalboxError, platform: Receipt['platform'] | null): string;
}

/** The part of a surface that the API's documentation is made from. Examples are made when they are read, as no start needs them. */
export interface SurfaceDocs {
  /** The dialect as its makers call it: `OpenAI Chat Completions`. The documentation groups its routes under it. */
  readonly dialect: string;
  readonly summary: string;
  /** Markdown. */
  readonly description: string;
  /** The schema of a request's body. */
  readonly request: TSchema;
  /** Bodies to send, by name. */
  readonly requests: Readonly<Record<string, { readonly summary: string; readonly value: object }>>;
  readonly answer: { readonly schema: TSchema; readonly description: string; readonly example: object };
  /** The schema of one event's data, and a whole stream as text; absent for answers in one piece. */
  readonly events?: {
    readonly schema: TSchema;
    /** The data of the last event, where it is no JSON. */
    readonly end?: string;
    readonly description: string;
    readonly example: string;
    readonly mediaType: string;
  };
  /** The schema of an error's body. */
  readonly error: TSchema;
  /** Path of a field that examples of errors about one field name. */
  readonly errorField: string;
}
