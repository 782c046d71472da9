/** The names in use, with a numbered alternative for each. */
export class TakenNames {
  readonly #taken: Set<string>;
  /** Stem → the last number given, so that the search does not restart at 2 for every duplicate. */
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

  /** The first free name of `stem-2`, `stem-3` and so on. Does not add it. */
  nextFree(stem: string): string {
    let n = this.#last.get(stem) ?? 2;
    while (this.#taken.has(`${stem}-${n}`)) n++;
    this.#last.set(stem, n);
    return `${stem}-${n}`;
  }
}
