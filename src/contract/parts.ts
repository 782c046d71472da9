import type { Members } from '../core/original.ts';
import type { Usage } from '../core/usage.ts';

/** OpenAI's finish reasons; every adapter maps its own to these. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/**
 * One event of a completion, whoever speaks it and whether it came in one body or in a
 * stream. `choice` counts from 0. Usage may come at any time; the last one counts.
 */
export type StreamPart =
  | { readonly type: 'text'; readonly choice: number; readonly text: string }
  | { readonly type: 'reasoning'; readonly choice: number; readonly text: string }
  | { readonly type: 'refusal'; readonly choice: number; readonly text: string }
  | {
      readonly type: 'tool-call';
      readonly choice: number;
      /** Which call of the choice; stable over its deltas. */
      readonly index: number;
      /** On the first delta of a call only. */
      readonly id?: string;
      /** On the first delta of a call only. */
      readonly name?: string;
      /** The next piece of the arguments' JSON text. */
      readonly arguments: string;
      /** What only the model that made the call can read; callers get it as the call's `extra_content` and give it back. */
      readonly extra?: Members;
    }
  /**
   * What only the model that answers can read (signed or encrypted reasoning). Callers get it as members of the message
   * and give it back untouched: `details` as entries of `reasoning_details`, `extra` as `extra_content`.
   */
  | { readonly type: 'state'; readonly choice: number; readonly details?: readonly Members[]; readonly extra?: Members }
  | {
      readonly type: 'logprobs';
      readonly choice: number;
      readonly content: readonly unknown[];
      readonly refusal: readonly unknown[];
    }
  | { readonly type: 'finish'; readonly choice: number; readonly reason: FinishReason; readonly raw: string }
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'failure'; readonly failure: ProviderFailure };

/** True for parts that a caller sees as content: once one is out, no other model may answer. */
export function isContent(part: StreamPart): boolean {
  return part.type !== 'usage' && part.type !== 'failure';
}

/** The kinds of failure that the gateway can tell apart. */
export const FAILURE_KINDS = [
  /** The provider refuses our key: the operator's fault. */
  'auth',
  /** The provider refuses the content of the request: the caller's. */
  'rejected',
  /** The prompt does not fit the model. */
  'context',
  /** Unknown model or path at the provider. */
  'not_found',
  'rate_limited',
  'overloaded',
  'server',
  /** The answer breaks the dialect. */
  'malformed',
  /** The answer began and then broke off, or ended without a finish. */
  'cut',
  'connect',
  'timeout',
] as const;

/** How a call to a provider failed, in terms that the gateway can act on. */
export interface ProviderFailure {
  readonly kind: (typeof FAILURE_KINDS)[number];
  /** For the log; repeated to callers only where `kind` is `rejected`, and scrubbed. */
  readonly message: string;
  readonly status?: number;
  readonly retryAfterMs?: number;
  /** With `malformed`: the model wrote what its provider could not read. A request can bring that about: the endpoint is well. */
  readonly ofModel?: true;
}
