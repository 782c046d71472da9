import type { JsonText } from '../core/json/source.ts';
import { Arrival } from './arrival.ts';

/** An answer whose head has arrived. Callers read the body of an answer piece by piece. */
export interface UpstreamReply {
  readonly status: number;
  /** The `Headers` object is created on access, for callers that read more than a few headers. */
  readonly headers: Headers;
  /** Returns the value of a header; null for none. @param name in lower case */
  header(name: string): string | null;
  /**
   * Returns the next bytes of the body, or null after the last. While no bytes have arrived, returns a promise; call `read` again when the
   * promise resolves.
   *
   * @throws after the last bytes of a body that broke off: an error with a code, or an AbortError
   */
  read(): Uint8Array | null | Promise<void>;
  /** Cancels the rest of the body. */
  cancel(): void;
}

/** A request that has been sent or is being sent. */
export interface PendingReply {
  /**
   * Returns the answer. Until the head of the answer has arrived, returns a promise; call `reply` again when the promise resolves.
   *
   * @throws an error with a code, or an AbortError
   */
  reply(): UpstreamReply | Promise<void>;
  /** Ends the request or its answer, in any state. */
  abort(): void;
}

/** A POST request without its path. */
export interface Post {
  readonly headers: Headers;
  /** The body, which is read before `onConnected`. */
  readonly body: JsonText;
  /** Called when the connection is established and its certificate verified, before the first byte is written. */
  onConnected(): void;
}

/** Wraps a request that fetch sends. */
export function pendingFetch(response: Promise<Response>, abort: () => void): PendingReply {
  const reply = new Arrival(response.then(fetchedReply));
  return { reply: () => reply.get(), abort };
}

/** Wraps the answer of a fetch. */
export function fetchedReply({ status, headers, body }: Response): UpstreamReply {
  const reader = body?.getReader();
  let next: Arrival<{ readonly value?: Uint8Array | undefined }> | null = null;
  return {
    status,
    headers,
    header: (name) => headers.get(name),
    read: () => {
      if (!reader) return null;
      next ??= new Arrival(reader.read());
      const piece = next.get();
      if (piece instanceof Promise) return piece;
      next = null;
      return piece.value ?? null;
    },
    cancel: () => void reader?.cancel().catch(() => {}),
  };
}
