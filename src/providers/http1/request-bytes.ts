import type { JsonText } from '../../core/json/source.ts';

/** A destination for bytes. */
interface ByteSink {
  /**
   * Accepts up to `length` bytes from `offset` on. Returns how many bytes the sink accepted; a negative number if the sink is closed. The
   * sink does not keep `bytes` after the call.
   */
  write(bytes: Uint8Array, offset?: number, length?: number): number;
}

/** A request that is larger than this many bytes gets a buffer of its own. */
const SHARED_BYTES = 524_288;
/** The kernel accepts most requests at once, so this buffer can be reused immediately. A buffer for each request would cost page faults. */
const shared = Buffer.allocUnsafeSlow(SHARED_BYTES);

/**
 * Begins to send a request. Returns the bytes that the sink has not accepted; null for none.
 * @param start the request line and headers, each with its line end, without the header for the length of the body
 */
export function sendRequest(start: string, body: JsonText, sink: ByteSink): Uint8Array | null {
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.reduce((sum, one) => sum + sizeOf(one), 0);
  const head = `${start}content-length: ${length}\r\n\r\n`;
  const bytes = head.length + length;
  const buffer = bytes <= SHARED_BYTES ? shared : Buffer.allocUnsafeSlow(bytes);
  buffer.write(head, 0, 'latin1');
  if (typeof body === 'string') buffer.write(body, head.length, 'utf8');
  else writePieces(body, buffer, head.length);
  const taken = Math.max(0, sink.write(buffer, 0, bytes));
  if (taken === bytes) return null;
  const rest = buffer.subarray(taken, bytes);
  // The next request overwrites the shared buffer, so the rest is copied.
  return buffer === shared ? Buffer.copyBytesFrom(rest) : rest;
}

const sizeOf = (piece: string | Uint8Array): number =>
  typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length;

function writePieces(pieces: readonly (string | Uint8Array)[], buffer: Buffer, from: number): void {
  let at = from;
  for (const piece of pieces) {
    if (typeof piece === 'string') at += buffer.write(piece, at, 'utf8');
    else {
      buffer.set(piece, at);
      at += piece.length;
    }
  }
}

/** Continues to send. Returns the bytes that the sink has not accepted; null for none. */
export function sendBytes(bytes: Uint8Array, sink: ByteSink): Uint8Array | null {
  const taken = Math.max(0, sink.write(bytes));
  return taken < bytes.length ? bytes.subarray(taken) : null;
}
