import type { StreamPart } from '../contract/parts.ts';
import type { PreparedProvider } from '../contract/provider.ts';
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

/** Called before bytes of an unstreamed answer are kept. False without memory: the callee has aborted the call. */
export type ReserveBytes = (bytes: number) => boolean;

/** One call to one endpoint, in progress. */
export interface UpstreamCall {
  /**
   * Returns the parts of one network read, at least one; null after the end and after `abort`. The last batch of a
   * failed call ends with a `failure` part; otherwise every requested choice has had its `finish`. Never rejects and
   * never waits past the call's deadlines. Do not call again before it resolves.
   */
  read(): Promise<readonly StreamPart[] | null>;
  /** Ends the call and its connection at once. Does nothing after the end. */
  abort(): void;
  /** Request fields that the adapter omitted. */
  readonly dropped: readonly string[];
  /** False while it is certain that no byte of the request was sent. */
  readonly sent: boolean;
  /** The provider's ID of the request; null before the answer and where there is none. */
  readonly requestId: string | null;
}
