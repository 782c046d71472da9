import type { Members, OriginalPath } from '../core/json/original.ts';
import type { Usage } from '../core/money/usage.ts';
import type { FAILURE_KINDS } from '../core/request/failure-kinds.ts';

/** OpenAI's finish reasons. Every adapter maps its service's own finish reasons to OpenAI's finish reasons. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/**
 * One event of an answer. The type is the same for every dialect, and for whole bodies and streams. `choice` counts from 0. Usage may come
 * at any time; the last usage counts.
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
      /** Index of the tool call in its choice, from 0. All deltas of one tool call have the same index. */
      readonly index: number;
      /** ID of the tool call. Only the first delta of a tool call has its ID. */
      readonly id?: string;
      /** The name of the called tool. Only the first delta of a tool call has its name. */
      readonly name?: string;
      /** The next piece of the arguments' JSON text. */
      readonly arguments: string;
      /**
       * Data that only the calling model can read. Callers receive this data as `extra_content` of the tool call and send it back with the
       * call.
       */
      readonly extra?: Members;
      /** Location of the arguments in the `passthrough` event. */
      readonly place?: EventPlace;
    }
  /**
   * Data that only the answering model can read (signed or encrypted reasoning). Callers receive this data as members of the message and
   * send it back unchanged: `details` as entries of `reasoning_details`, `extra` as `extra_content`.
   */
  | { readonly type: 'state'; readonly choice: number; readonly details?: readonly Members[]; readonly extra?: Members }
  | {
      readonly type: 'logprobs';
      readonly choice: number;
      readonly content: readonly unknown[];
      readonly refusal: readonly unknown[];
    }
  /**
   * An event of an answer in the caller's own dialect, as the service sent it. The surface of that dialect writes this event instead of the
   * other parts of the answer. All readers except that surface use the other parts. A whole body counts as one `passthrough` event. A
   * `passthrough` part comes before the parts that were read from the same event. The adapter keeps events that precede the first content,
   * and returns them together with that content, so that another model may still answer.
   */
  | {
      readonly type: 'passthrough';
      readonly choice: 0;
      readonly event: Members;
      /**
       * The JSON text of the event as its service wrote it, in one line. The gateway sends the `json` text of an event if it changes
       * nothing in the event.
       */
      readonly json?: string;
      /**
       * Output in the event that no other part contains, such as the input of a service's own tool. The gateway counts the tokens of this
       * output if the service reports no usage. `unread` is absent if other parts contain all output of the event.
       */
      readonly unread?: UnreadOutput;
      /**
       * The usage so far, as the event states it; absent if the event states none. If the usage in an event cannot be true, the caller gets
       * the gateway's own count.
       */
      readonly usage?: Usage;
      /**
       * Whether the gateway reads the texts of the answer from here on, and may change them. Later events that repeat a text then repeat
       * its pieces as the caller got them. Adapters leave `mayBeEdited` out.
       */
      readonly mayBeEdited?: true;
    }
  /**
   * Output of a translated answer that no other part contains, such as blocks and members that no dialect of the gateway can express.
   * Callers never get `unread` parts. If the service reports no usage, the gateway counts this output in full and ignores `state` parts
   * that follow, so an adapter that sends `unread` parts must include its state in them. In a passed event, `passthrough.unread` holds this
   * output.
   */
  | { readonly type: 'unread'; readonly choice: number; readonly unread: UnreadOutput }
  /** The vector of one text of an embedding call. @see EmbeddingAdapter */
  | {
      readonly type: 'embedding';
      readonly choice: 0;
      /** Index of the text in its embedding call, from 0. */
      readonly index: number;
      readonly vector: readonly number[];
    }
  | {
      readonly type: 'finish';
      readonly choice: number;
      readonly reason: FinishReason;
      readonly raw: string;
      /**
       * The stop sequence that ended the choice with reason `stop`. `stop` is absent if no stop sequence ended the choice, or if the
       * service does not report it.
       */
      readonly stop?: string;
    }
  | {
      readonly type: 'usage';
      /** Absent if the event states only the service tier, which some services state before they count tokens. */
      readonly usage?: Usage | undefined;
      /**
       * The cost that the service states for the answer so far, in USD, as a decimal text such as `0.00012` (`statedUsd`). The gateway
       * compares it with the cost at its own price, and never charges it. Absent if the service states none.
       */
      readonly cost?: string | undefined;
      /**
       * The service tier that the service states for the answer, such as `flex`. The last one counts. Absent if the event states none.
       */
      readonly serviceTier?: string | undefined;
    }
  | { readonly type: 'failure'; readonly failure: ProviderFailure };

/** A part of the message that an answer to a conversation is. */
export type MessagePart = Extract<StreamPart, { type: (typeof MESSAGE_TYPES)[number] }>;
export const MESSAGE_TYPES = ['text', 'reasoning', 'refusal', 'tool-call', 'state'] as const;

/** An event that the gateway passes to the caller in the service's own form. */
export type PassedPart = Extract<StreamPart, { readonly type: 'passthrough' }>;

/**
 * Location of a part's text in the last `passthrough` event before the part, in the same batch. Code that changes the text of the part must
 * also change the text at this location. The location is absent if no event is passed on, and for text that is in no event. If the value at
 * the location is an object, the text is the JSON of that object.
 */
export interface EventPlace {
  readonly at: OriginalPath;
  /** Whether the part's text is escaped as in a JSON string while the event has the text unescaped. */
  readonly isEscaped?: true;
}

/** Output that only its own dialect can express. The gateway counts the tokens of unread output if the service reports no usage. */
export interface UnreadOutput {
  /** Texts and tool arguments in this output. The gateway counts the tokens of these texts as it does for any text. */
  readonly texts: readonly string[];
  /** Characters of base64 state, such as signatures and encrypted reasoning. Four characters of base64 state count as one token. */
  readonly stateChars: number;
}

/**
 * Whether callers see the part as content. After the gateway sends content, it cannot switch to another model.
 *
 * @returns false for usage, failures and output that is only counted
 */
export function isContent(part: StreamPart): boolean {
  return part.type !== 'usage' && part.type !== 'failure' && part.type !== 'unread';
}

/** The failure of a call to a provider, in terms that the gateway can act on. */
export interface ProviderFailure {
  readonly kind: (typeof FAILURE_KINDS)[number];
  /** A sentence about the failure, for the log. Callers see the message, with secrets masked, only if `kind` is `rejected`. */
  readonly message: string;
  /** HTTP status; absent if the provider sent no response. */
  readonly status?: number;
  /** The pause that the provider requests before the next call, ms; absent for none. */
  readonly retryAfterMs?: number;
  /**
   * The body of the error as the service sent it. `original` is set for the kinds `rejected` and `context` if the request was passed
   * through in its caller's dialect. The caller gets the service's error body instead of Signalbox's own, with secrets masked.
   */
  readonly original?: Members;
  /**
   * For the kind `malformed`: the model wrote text that its provider could not parse. The endpoint of a `malformed` answer of the model is
   * itself healthy.
   */
  readonly ofModel?: true;
  /** For the kind `connect`: the connection broke after the request was sent, so the service may bill the request. */
  readonly afterSending?: true;
  /** For the kind `rejected`: a content filter of the service refuses the prompt, so that another model may answer it. */
  readonly ofFilter?: true;
  /**
   * For the kind `credit`: the service states that the whole account is out of credit, so every request would fail. `ofAccount` is absent
   * if perhaps only this request costs too much, as with a 402 without details.
   */
  readonly ofAccount?: true;
  /**
   * For the kind `not_found`: the service states that it does not know the model. A 404 without `unknownModel` may be about a part of the
   * request, such as a file.
   */
  readonly unknownModel?: true;
}
