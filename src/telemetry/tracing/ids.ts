const BLOCK_BYTES = 4_096;

let digits = '';
let at = 0;

/** Takes random digits from a block: bytes drawn for each ID would cost as much as the rest of an unsampled trace. */
function take(count: number): string {
  if (at + count > digits.length) {
    digits = Buffer.from(crypto.getRandomValues(new Uint8Array(BLOCK_BYTES))).toString('hex');
    at = 0;
  }
  at += count;
  return digits.slice(at - count, at);
}

/** 32 random hexadecimal digits. */
export const newTraceId = (): string => take(32);

/** 16 random hexadecimal digits. */
export const newSpanId = (): string => take(16);
