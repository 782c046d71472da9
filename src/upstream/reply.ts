/** An answer whose head has arrived. Its body is read piece by piece. */
export interface UpstreamReply {
  readonly status: number;
  readonly headers: Headers;
  /**
   * Returns the next bytes of the body; null after the last. A promise only where none have arrived yet.
   *
   * @throws (or rejects with) an error that has a code, or an AbortError, after the last bytes of a body that broke off
   */
  read(): Uint8Array | null | Promise<Uint8Array | null>;
  /** Gives up the rest of the body. */
  cancel(): void;
}

/** A request on its way. */
export interface PendingReply {
  /** Rejects with an error that has a code, or with an AbortError. */
  readonly head: Promise<UpstreamReply>;
  /** Ends the request, or its answer, in any state. */
  abort(): void;
}

/** A POST request except its path. */
export interface Post {
  readonly headers: Headers;
  readonly body: string;
  /** Called when the connection is established and its certificate verified, before the first byte is written. */
  readonly onConnected: () => void;
}

/** The answer of a fetch. */
export function fetchedReply({ status, headers, body }: Response): UpstreamReply {
  const reader = body?.getReader();
  return {
    status,
    headers,
    read: async () => (await reader?.read())?.value ?? null,
    cancel: () => void reader?.cancel().catch(() => {}),
  };
}
