/** How long Signalbox remembers that a provider does not know a model, in ms. */
const REMEMBER_MS = 60_000;
/** The maximum number of names that are remembered. Signalbox forgets the oldest names first. */
const NAMES_MAX = 1_000;

/**
 * Names of models that providers recently did not know. Signalbox rejects a request for such a name without calling the provider again.
 * State: unknown names.
 */
export class UnknownNames {
  readonly #until = new Map<string, number>();
  readonly #clock: () => number;
  /** Called with the origin of a provider that did not know a name. */
  onUnknown: (origin: string) => void = () => {};

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** @param origin of the provider, because another key or address may know the name */
  note(origin: string, upstream: string): void {
    const key = JSON.stringify([origin, upstream]);
    this.#until.delete(key);
    this.#until.set(key, this.#clock() + REMEMBER_MS);
    if (this.#until.size > NAMES_MAX) this.#until.delete(this.#until.keys().next().value!);
  }

  has(origin: string, upstream: string): boolean {
    const until = this.#until.get(JSON.stringify([origin, upstream]));
    return until !== undefined && this.#clock() < until;
  }
}
