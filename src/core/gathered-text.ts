/** Pieces that wait to be joined: enough that the rest of a joined piece is small. */
const PIECES_MAX = 64;

/**
 * A text that comes in many small pieces. A string that they are added to one by one takes about a hundred bytes for each of them
 * until it is read.
 */
export class GatheredText {
  #joined = '';
  #pieces: string[] = [];

  add(piece: string): void {
    if (piece === '') return;
    this.#pieces.push(piece);
    if (this.#pieces.length === PIECES_MAX) this.#join();
  }

  get isEmpty(): boolean {
    return this.#joined === '' && this.#pieces.length === 0;
  }

  /** All of it so far. */
  get value(): string {
    if (this.#pieces.length > 0) this.#join();
    return this.#joined;
  }

  #join(): void {
    this.#joined += this.#pieces.join('');
    this.#pieces = [];
  }
}
