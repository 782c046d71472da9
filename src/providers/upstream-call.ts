import type { StreamPart } from '../contract/parts.ts';
import type { PreparedProvider } from '../contract/provider.ts';
import type { EndpointRoom } from '../core/policy/endpoint-room.ts';
import type { Deadlines } from '../core/policy/snapshot.ts';
import type { SourcedKey } from '../core/policy/sourced-key.ts';
import type { Alarms } from './alarm.ts';
import type { Dial } from './connection/dial.ts';

/** The destination of a call to a provider. */
export interface UpstreamTarget {
  readonly adapter: PreparedProvider;
  /** The connections to the provider; null for in-process adapters, and if the base URL is not an http address. */
  readonly dial: Dial | null;
  /** The provider's API key; null for providers that need no key, and if a token source has the key. */
  readonly apiKey: string | null;
  /** The key that a token source renews while the target is used; absent for other keys. */
  readonly sourced?: SourcedKey;
}

/** Returns the key of a call that begins now; null for none. */
export const keyNow = ({ apiKey, sourced }: Pick<UpstreamTarget, 'apiKey' | 'sourced'>): string | null =>
  sourced === undefined ? apiKey : sourced.token();

/** W3C trace context headers, for upstreams that continue the trace. */
export type TraceHeaders = Readonly<Record<string, string>>;

/** The memory for an answer that is kept until its end. */
export interface AnswerRoom {
  /** Called before the call keeps more bytes of the answer. Returns false if there is no memory; `makeRoom` has then aborted the call. */
  makeRoom(bytes: number): boolean;
}

/** Always grants memory, for answers that have another limit. */
export const AMPLE_ROOM: AnswerRoom = { makeRoom: () => true };

/** The time limits of a call, and the services that it uses. */
export interface CallTerms {
  readonly deadlines: Deadlines;
  /** The deadline in ms of performance.now, shared by all attempts of one request. */
  readonly totalBy: number;
  readonly alarms: Alarms;
  readonly trace?: TraceHeaders | null;
  /** Without `room`, the memory for the answer is unlimited. */
  readonly room?: AnswerRoom;
  /** Learns what remains of the provider's own limits, as the answer says; null or absent for an endpoint without limits. */
  readonly limits?: Pick<EndpointRoom, 'correct'> | null;
}

/**
 * The next parts of an answer: a non-empty batch, null after the end, or a promise while nothing has arrived. Call `read` again once the
 * promise resolves. The promise has no value, so that each layer can pass it on unchanged and all layers share one wait.
 */
export type NextParts = readonly StreamPart[] | null | Promise<void>;

/** One call to one endpoint, in progress. */
export interface UpstreamCall {
  /**
   * Returns the parts of one network read; null after the end and after `abort`. The last batch of a failed call ends with a `failure`
   * part; otherwise every requested choice has had its `finish`. `read` never throws, never waits past the call's deadlines, and its
   * promises never reject.
   */
  read(): NextParts;
  /** Ends the call and its connection at once. `abort` does nothing after the end of the call. */
  abort(): void;
  /** The request fields that the adapter omitted. */
  readonly dropped: readonly string[];
  /** False as long as it is certain that no byte of the request was sent. */
  readonly sent: boolean;
  /** The provider's ID of the request; null before the answer, and if the provider sends none. */
  readonly requestId: string | null;
}
