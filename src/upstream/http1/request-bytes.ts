/** A request as HTTP has it. */
export interface RawRequest {
  /** Request line and headers, in ASCII. */
  readonly head: string;
  readonly body: string;
  /** Bytes of both, the body in UTF-8. */
  readonly bytes: number;
}

/** Takes bytes to send. */
export interface ByteSink {
  /** Returns how many it took; below 0 once it is closed. It does not keep `bytes`. */
  write(bytes: Uint8Array): number;
}

/** Larger requests get a buffer of their own. */
const SHARED_BYTES = 262_144;
/** The kernel takes most requests at once, so that their bytes are needed no longer. A buffer for each would cost page faults. */
const shared = Buffer.allocUnsafeSlow(SHARED_BYTES);
const encoder = new TextEncoder();

/** Begins to send a request. Returns the bytes that the sink has not taken; null for none. */
export function sendRequest({ head, body, bytes }: RawRequest, sink: ByteSink): Uint8Array | null {
  const whole = bytes <= SHARED_BYTES ? shared.subarray(0, bytes) : Buffer.allocUnsafeSlow(bytes);
  whole.write(head, 'latin1');
  encoder.encodeInto(body, whole.subarray(head.length));
  const rest = sendBytes(whole, sink);
  // The next request overwrites the shared buffer.
  return rest && (whole.buffer === shared.buffer ? new Uint8Array(rest) : rest);
}

/** Goes on to send. Returns the bytes that the sink has not taken; null for none. */
export function sendBytes(bytes: Uint8Array, sink: ByteSink): Uint8Array | null {
  const taken = Math.max(0, sink.write(bytes));
  return taken < bytes.length ? bytes.subarray(taken) : null;
}
