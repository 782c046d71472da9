/** Names that are taken, and numbers for those that would be there twice. */
export class Names {
  readonly #taken: Set<string>;
  /** Stem → the number that was given last: of thousands of one name, none is looked for from the beginning. */
  readonly #last = new Map<string, number>();

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  has(name: string): boolean {
    return this.#taken.has(name);
  }

  add(name: string): void {
    this.#taken.add(name);
  }

  /** The first of `stem-2`, `stem-3` and so on that is not taken. It is not taken by that. */
  numbered(stem: string): string {
    let n = this.#last.get(stem) ?? 2;
    while (this.#taken.has(`${stem}-${n}`)) n++;
    this.#last.set(stem, n);
    return `${stem}-${n}`;
  }
}
