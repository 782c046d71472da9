const BLOCK_BYTES = 4_096;
const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;
const ZEROS = /^0+$/;

let digits = '';
let at = 0;

/** Draws random bytes in blocks: a system call per ID would cost more than the rest of an unsampled trace. */
function take(count: number): string {
  for (;;) {
    if (at + count > digits.length) {
      digits = Buffer.from(crypto.getRandomValues(new Uint8Array(BLOCK_BYTES))).toString('hex');
      at = 0;
    }
    const id = digits.slice(at, at + count);
    at += count;
    // All zeros are invalid.
    if (id[0] !== '0' || !ZEROS.test(id)) return id;
  }
}

/** 32 random hexadecimal digits, not all zero. */
export const newTraceId = (): string => take(TRACE_DIGITS);

/** 16 random hexadecimal digits, not all zero. */
export const newSpanId = (): string => take(SPAN_DIGITS);
