import type { StreamPart } from '../contract/parts.ts';
import type { PreparedProvider } from '../contract/provider.ts';
import type { Dial } from './connection/dial.ts';

/** Where a call goes. */
export interface UpstreamTarget {
  readonly adapter: PreparedProvider;
  /** Null for adapters that answer in-process, and where there is no http address. */
  readonly dial: Dial | null;
  /** Null for keyless providers. */
  readonly apiKey: string | null;
}

/** W3C's trace context, for whoever goes on tracing upstream. */
export type TraceHeaders = Readonly<Record<string, string>>;

/**
 * Asked before bytes of an answer in one piece are kept. False where there is no room for them: then the caller of it has
 * aborted the call.
 */
export type MakeRoom = (bytes: number) => boolean;

/** One call to one endpoint, under way. */
export interface UpstreamCall {
  /**
   * The next parts, all that one network read gave; never empty. Null after the end, and after
   * `abort`. The last batch of a broken call ends with a `failure` part; without one, every choice
   * asked for has had its `finish`. Never rejects, and never waits past the deadlines of the call.
   * One at a time.
   */
  read(): Promise<readonly StreamPart[] | null>;
  /** Ends the call and its connection at once. Harmless after the end. */
  abort(): void;
  /** Request fields that the adapter left out. */
  readonly dropped: readonly string[];
  /** False while it is certain that nothing of the request has left this process. */
  readonly sent: boolean;
  /** The provider's own name of the request, once there is an answer; null where it gives none. */
  readonly requestId: string | null;
}
