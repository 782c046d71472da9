/** Takes bytes to send. */
interface ByteSink {
  /** Takes `length` bytes from `offset` on. Returns how many it took; below 0 once it is closed. It does not keep `bytes`. */
  write(bytes: Uint8Array, offset?: number, length?: number): number;
}

/** Larger requests get a buffer of their own. */
const SHARED_BYTES = 262_144;
/** The kernel takes most requests at once, so that their bytes are needed no longer. A buffer for each would cost page faults. */
const shared = Buffer.allocUnsafeSlow(SHARED_BYTES);

/**
 * Begins to send a request. Returns the bytes that the sink has not taken; null for none.
 * @param start request line and headers, each with its line end, but for the length of the body
 */
export function sendRequest(start: string, body: string, sink: ByteSink): Uint8Array | null {
  const length = Buffer.byteLength(body);
  const head = `${start}content-length: ${length}\r\n\r\n`;
  const bytes = head.length + length;
  const buffer = bytes <= SHARED_BYTES ? shared : Buffer.allocUnsafeSlow(bytes);
  buffer.write(head, 0, 'latin1');
  buffer.write(body, head.length, 'utf8');
  const taken = Math.max(0, sink.write(buffer, 0, bytes));
  if (taken === bytes) return null;
  const rest = buffer.subarray(taken, bytes);
  // The next request overwrites the shared buffer.
  return buffer === shared ? Buffer.copyBytesFrom(rest) : rest;
}

/** Goes on to send. Returns the bytes that the sink has not taken; null for none. */
export function sendBytes(bytes: Uint8Array, sink: ByteSink): Uint8Array | null {
  const taken = Math.max(0, sink.write(bytes));
  return taken < bytes.length ? bytes.subarray(taken) : null;
}
