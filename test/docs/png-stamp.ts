import { crc32 } from 'node:zlib';

/** A picture of a page cannot be compared byte by byte, for each machine has fonts of its own. It names the words that it shows. */
const KEYWORD = 'Words';
/** The length, type and check sum of a chunk, and `IEND`, the last chunk of every PNG, which has no data. */
const [FRAME, END] = [12, 12];

/** A PNG with the digest of the words that it shows, in place of any that it has. */
export function stamped(png: Uint8Array, words: string): Uint8Array {
  const digest = new Bun.CryptoHasher('sha256').update(words).digest('hex');
  const typed = Buffer.from(`tEXt${KEYWORD}\0${digest}`, 'latin1');
  const chunk = Buffer.alloc(typed.length + 8);
  chunk.writeUInt32BE(typed.length - 4);
  typed.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(typed), 4 + typed.length);
  const body = png.subarray(0, png.length - END - (stampOf(png) === null ? 0 : chunk.length));
  return Buffer.concat([body, chunk, png.subarray(png.length - END)]);
}

/** The digest that a PNG has, or null. */
export function stampOf(png: Uint8Array): string | null {
  const tail = Buffer.from(png.subarray(png.length - END - FRAME - KEYWORD.length - 1 - 64)).toString('latin1');
  return /tEXtWords\0([0-9a-f]{64})/.exec(tail)?.[1] ?? null;
}
