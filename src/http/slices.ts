/** The most bytes handed to the server at once: it copies and keeps the bytes that its socket does not take. */
const SLICE = 65_536;

const encoder = new TextEncoder();

/** Texts as UTF-8 in slices, one for each time that the reader has taken the one before. */
export class Slices {
  #bytes: Uint8Array | null = null;
  #at = 0;

  /** Takes the next text. To be called when there is nothing left of the one before. */
  put(text: string): void {
    this.#bytes = encoder.encode(text);
    this.#at = 0;
  }

  /** The next bytes, at most 64 KiB; null when nothing is left. */
  next(): Uint8Array | null {
    const bytes = this.#bytes;
    if (!bytes) return null;
    const from = this.#at;
    this.#at += SLICE;
    if (this.#at >= bytes.length) this.#bytes = null;
    return bytes.length <= SLICE ? bytes : bytes.subarray(from, this.#at);
  }
}
