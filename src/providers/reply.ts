import { Arrival } from './arrival.ts';

/** An answer whose head has arrived. Its body is read piece by piece. */
export interface UpstreamReply {
  readonly status: number;
  /** Made when it is asked for: for more than a few of them. */
  readonly headers: Headers;
  /** Returns the value of a header; null for none. @param name in lower case */
  header(name: string): string | null;
  /**
   * Returns the next bytes of the body; null after the last; a promise while none have arrived: read again then.
   *
   * @throws an error that has a code, or an AbortError, after the last bytes of a body that broke off
   */
  read(): Uint8Array | null | Promise<void>;
  /** Gives up the rest of the body. */
  cancel(): void;
}

/** A request on its way. */
export interface PendingReply {
  /**
   * Returns the answer; a promise while its head has not arrived: ask again then.
   *
   * @throws an error that has a code, or an AbortError
   */
  reply(): UpstreamReply | Promise<void>;
  /** Ends the request, or its answer, in any state. */
  abort(): void;
}

/** A POST request except its path. */
export interface Post {
  readonly headers: Headers;
  /** Read before `onConnected`. */
  readonly body: string;
  /** Called when the connection is established and its certificate verified, before the first byte is written. */
  onConnected(): void;
}

/** A request that fetch sends. */
export function pendingFetch(response: Promise<Response>, abort: () => void): PendingReply {
  const reply = new Arrival(response.then(fetchedReply));
  return { reply: () => reply.get(), abort };
}

/** The answer of a fetch. */
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
