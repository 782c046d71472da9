/** How long a service's word holds that it does not know a model, ms. */
const REMEMBER_MS = 60_000;
/** The most names that are remembered, the newest. */
const NAMES_MAX = 1_000;

/**
 * Names of models that services did not know a moment ago. A request for one is refused without another call.
 * State: unknown names.
 */
export class UnknownNames {
  readonly #until = new Map<string, number>();
  readonly #clock: () => number;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** @param origin of the provider: behind another key or address the name may be known */
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
