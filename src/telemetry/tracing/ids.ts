const BLOCK_BYTES = 4_096;
const TRACE_DIGITS = 32;
const SPAN_DIGITS = 16;
const ZEROS = /^0+$/;

let digits = '';
let at = 0;

/** Drawn in blocks: a call to the system's source for each would cost more than all the rest of a trace that is not sampled. */
function take(count: number): string {
  for (;;) {
    if (at + count > digits.length) {
      digits = Buffer.from(crypto.getRandomValues(new Uint8Array(BLOCK_BYTES))).toString('hex');
      at = 0;
    }
    const id = digits.slice(at, at + count);
    at += count;
    // All zero stands for none.
    if (id[0] !== '0' || !ZEROS.test(id)) return id;
  }
}

/** 32 hexadecimal digits by chance, never all zero. */
export const newTraceId = (): string => take(TRACE_DIGITS);

/** 16 hexadecimal digits by chance, never all zero. */
export const newSpanId = (): string => take(SPAN_DIGITS);
