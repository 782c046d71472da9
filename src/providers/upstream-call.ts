import type { StreamPart } from '../contract/parts.ts';
import type { PreparedProvider } from '../contract/provider.ts';
import type { Deadlines } from '../core/snapshot.ts';
import type { Alarms } from './alarm.ts';
import type { Dial } from './connection/dial.ts';

/** The destination of a call. */
export interface UpstreamTarget {
  readonly adapter: PreparedProvider;
  /** Null for in-process adapters and without an http address. */
  readonly dial: Dial | null;
  /** Null for keyless providers. */
  readonly apiKey: string | null;
}

/** W3C trace context headers, for upstreams that continue the trace. */
export type TraceHeaders = Readonly<Record<string, string>>;

/** The memory for an answer that is kept to its end. */
export interface AnswerRoom {
  /** Called before bytes of it are kept. False without memory: the callee has aborted the call. */
  makeRoom(bytes: number): boolean;
}

/** Memory for what is bounded otherwise. */
export const AMPLE_ROOM: AnswerRoom = { makeRoom: () => true };

/** How long a call may take, and what goes with it. */
export interface CallTerms {
  readonly deadlines: Deadlines;
  /** Its end, ms on performance.now's clock, shared by all attempts of one request. */
  readonly totalBy: number;
  readonly alarms: Alarms;
  readonly trace?: TraceHeaders | null;
  /** Ample unless stated. */
  readonly room?: AnswerRoom;
}

/**
 * The next parts of an answer: a batch, never an empty one; null after the end; or a promise while nothing has come.
 * Read again once it is resolved. The promise has no value, so each layer passes it on as it is, and one wait serves all.
 */
export type NextParts = readonly StreamPart[] | null | Promise<void>;

/** One call to one endpoint, in progress. */
export interface UpstreamCall {
  /**
   * Returns the parts of one network read; null after the end and after `abort`. The last batch of a failed call ends
   * with a `failure` part; otherwise every requested choice has had its `finish`. Never throws, and never waits past the
   * call's deadlines. Its promises never reject.
   */
  read(): NextParts;
  /** Ends the call and its connection at once. Does nothing after the end. */
  abort(): void;
  /** Request fields that the adapter omitted. */
  readonly dropped: readonly string[];
  /** False while it is certain that no byte of the request was sent. */
  readonly sent: boolean;
  /** The provider's ID of the request; null before the answer and where there is none. */
  readonly requestId: string | null;
}
