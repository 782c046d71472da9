import type { FAILURE_KINDS } from '../core/failure-kinds.ts';
import type { Members, OriginalPath } from '../core/original.ts';
import type { Usage } from '../core/usage.ts';

/** OpenAI's finish reasons; every adapter maps its own to these. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/**
 * One event of an answer, the same for every dialect, for whole bodies and streams. `choice` counts from 0. Usage may come
 * at any time; the last one counts.
 *
 * @example An adapter returns these parts for a short answer:
 * ```ts
 * [
 *   { type: 'text', choice: 0, text: 'Hello' },
 *   { type: 'finish', choice: 0, reason: 'stop', raw: 'end_turn' },
 *   { type: 'usage', usage: plainUsage(12, 3) },
 * ]
 * ```
 */
export type StreamPart =
  | { readonly type: 'text'; readonly choice: number; readonly text: string; readonly place?: EventPlace }
  | { readonly type: 'reasoning'; readonly choice: number; readonly text: string; readonly place?: EventPlace }
  | { readonly type: 'refusal'; readonly choice: number; readonly text: string; readonly place?: EventPlace }
  | {
      readonly type: 'tool-call';
      readonly choice: number;
      /** Index of the call in its choice, from 0; the same for all its deltas. */
      readonly index: number;
      /** On the first delta of a call only. */
      readonly id?: string;
      /** On the first delta of a call only. */
      readonly name?: string;
      /** The next piece of the arguments' JSON text. */
      readonly arguments: string;
      /** Data that only the calling model can read. Callers get it as the call's `extra_content` and return it. */
      readonly extra?: Members;
      /** That of the arguments. */
      readonly place?: EventPlace;
    }
  /**
   * Data that only the answering model can read (signed or encrypted reasoning). Callers get it as members of the message
   * and return it unchanged: `details` as entries of `reasoning_details`, `extra` as `extra_content`.
   */
  | { readonly type: 'state'; readonly choice: number; readonly details?: readonly Members[]; readonly extra?: Members }
  | {
      readonly type: 'logprobs';
      readonly choice: number;
      readonly content: readonly unknown[];
      readonly refusal: readonly unknown[];
    }
  /**
   * An event of an answer that goes out in the dialect it came in, as its service sent it: a surface of that dialect writes it
   * in place of the other parts of the answer, which stay for everything else that reads it. A whole body counts as one event.
   * It comes before the parts that were read from it. Events before the first content come with that.
   */
  | {
      readonly type: 'passthrough';
      readonly choice: 0;
      readonly event: Members;
      /** The JSON of the event as its service wrote it, in one line: what goes out where nothing of the event changes. */
      readonly json?: string;
      /** Output in the event that no other part has, such as the input of a service's own tool; absent for none. It is counted. */
      readonly unread?: UnreadOutput;
      /** The usage so far, as the event states it; absent for none. In place of one that cannot be true its caller gets the gateway's count. */
      readonly usage?: Usage;
      /** Whether a text in it was changed on its way: later events that repeat that text follow. Adapters leave it out. */
      readonly isEdited?: true;
    }
  /**
   * Output of a translated answer that no other part has, such as blocks and members that no dialect of the gateway can say.
   * Callers never get it. Where the service reports no usage, it is counted in full, and `state` parts after it are not: an
   * adapter that sends `unread` parts has its state in them, too. In an event that goes out, `passthrough.unread` has it.
   */
  | { readonly type: 'unread'; readonly choice: number; readonly unread: UnreadOutput }
  /** The vector of one text of a call. @see EmbeddingAdapter */
  | {
      readonly type: 'embedding';
      readonly choice: 0;
      /** Index of the text in its call, from 0. */
      readonly index: number;
      readonly vector: readonly number[];
    }
  | {
      readonly type: 'finish';
      readonly choice: number;
      readonly reason: FinishReason;
      readonly raw: string;
      /** The stop sequence that ended the choice, with reason `stop`; absent for none, and where the service does not tell. */
      readonly stop?: string;
    }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'failure'; readonly failure: ProviderFailure };

/** An event that goes out as it came. */
export type PassedPart = Extract<StreamPart, { readonly type: 'passthrough' }>;

/**
 * The place of a part's text in the event that passes before it, the last one in its batch: whoever changes the text changes it
 * there, too. Absent where no event passes, and for text that stands in none. An object at the place has the text as its JSON.
 */
export interface EventPlace {
  readonly at: OriginalPath;
  /** Whether the text is escaped as in a string of JSON, and the event has it as it reads. */
  readonly isEscaped?: true;
}

/** Output that only its dialect can say: the gateway counts it where its service reports no usage. */
export interface UnreadOutput {
  /** Texts and arguments, which weigh as all text does. */
  readonly texts: readonly string[];
  /** Characters of state in base64, such as signatures and encrypted reasoning. Four weigh as a token. */
  readonly stateChars: number;
}

/**
 * Whether a caller sees the part as content. Once one was sent, no other model may answer.
 *
 * @returns false for usage, failures and output that is only counted
 */
export function isContent(part: StreamPart): boolean {
  return part.type !== 'usage' && part.type !== 'failure' && part.type !== 'unread';
}

/** The failure of a call to a provider, in terms that the gateway can act on. */
export interface ProviderFailure {
  readonly kind: (typeof FAILURE_KINDS)[number];
  /** A sentence for the log. Callers see it, with secrets masked, only if `kind` is `rejected`. */
  readonly message: string;
  /** HTTP status; absent where none came. */
  readonly status?: number;
  /** The pause that the provider asks for, ms; absent for none. */
  readonly retryAfterMs?: number;
  /**
   * With `rejected` and `context`, of a request that went out as its caller sent it: the error's body as the service sent it.
   * A caller in the same dialect gets it in place of ours, with secrets masked.
   */
  readonly original?: Members;
  /** With `malformed`: the model wrote text that its provider could not parse. The endpoint itself is healthy. */
  readonly ofModel?: true;
  /**
   * With `credit`: the service says that the whole account is out of credit, so every request fails. Absent where the request
   * alone may cost too much, as with a bare 402.
   */
  readonly ofAccount?: true;
  /** With `not_found`: the service says that it does not know the model. Another 404 may be about a part of the request, such as a file. */
  readonly unknownModel?: true;
}
