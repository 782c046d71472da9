/**
 * The number of pieces that are joined at once. The number of joined pieces is large enough that the memory overhead of a joined piece is
 * small.
 */
const PIECES_MAX = 64;

/**
 * Collects a text that arrives in many small pieces. Appending each piece to a string would take about a hundred bytes of memory for each
 * piece, until the string is read.
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

  /** The whole text that was collected so far. */
  get value(): string {
    if (this.#pieces.length > 0) this.#join();
    return this.#joined;
  }

  #join(): void {
    this.#joined += this.#pieces.join('');
    this.#pieces = [];
  }
}
