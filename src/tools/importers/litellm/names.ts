/** The names in use. If a name is taken, a number is added. */
export class TakenNames {
  readonly #taken: Set<string>;
  /** Stem → the last number that was used, so that the search does not start at 2 for every duplicate. */
  readonly #last = new Map<string, number>();

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  /** Takes the first free name of a list, or else `stem-2`, `stem-3` and so on. */
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
