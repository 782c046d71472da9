import { crc32 } from 'node:zlib';

/**
 * A test cannot compare a picture byte by byte, because each machine has its own fonts. The picture therefore contains a digest of the text
 * that it shows.
 */
const KEYWORD = 'Words';
/** The bytes of a chunk's length, type and checksum, and of `IEND`, the empty last chunk of every PNG. */
const [FRAME, END] = [12, 12];

/** Returns a PNG with the digest of the text that it shows, replacing any earlier digest. */
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

/** Returns the digest of a PNG, or null. */
export function stampOf(png: Uint8Array): string | null {
  const tail = Buffer.from(png.subarray(png.length - END - FRAME - KEYWORD.length - 1 - 64)).toString('latin1');
  return /tEXtWords\0([0-9a-f]{64})/.exec(tail)?.[1] ?? null;
}
