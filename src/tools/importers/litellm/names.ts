/** The names in use, with a numbered alternative for each. */
export class TakenNames {
  readonly #taken: Set<string>;
  /** Stem → the last number given, so that the search does not restart at 2 for every duplicate. */
  readonly #last = new Map<string, number>();

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  /** Takes the first of some names that is free, or else that of `stem-2`, `stem-3` and so on. */
  take(names: readonly string[], stem: string): string {
    const name = names.find((one) => !this.#taken.has(one)) ?? this.#numbered(stem);
    this.#taken.add(name);
    return name;
  }

  #numbered(stem: string): string {
    let n = this.#last.get(stem) ?? 2;
    while (this.#taken.has(`${stem}-${n}`)) n++;
    this.#last.set(stem, n);
    return `${stem}-${n}`;
  }
}
