/** The dates and versions that services put behind a name: `-2025-08-07`, `-20251001`, `-09-2025`, `-0613`, `-001`, `-latest`. */
const DATED = /(?:[-@:](?:\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|00\d|latest))+$/;

/** A name in the writing that a provider's own list has: without capitals and the `models/` of Gemini. */
const plain = (upstream: string): string => upstream.toLowerCase().replace(/^models\//, '');

/** The name that all writings of a provider's model share: plain, and without a date. */
const undated = (upstream: string): string => plain(upstream).replace(DATED, '');

/** The names of one provider's models, by which other writings of them are found. */
export class SameModels {
  readonly #exact = new Set<string>();
  readonly #plain = new Map<string, string>();
  readonly #undated = new Map<string, string[]>();

  constructor(names: Iterable<string>) {
    for (const name of names) {
      if (this.#exact.has(name)) continue;
      this.#exact.add(name);
      if (!this.#plain.has(plain(name))) this.#plain.set(plain(name), name);
      const shared = this.#undated.get(undated(name)) ?? [];
      shared.push(name);
      this.#undated.set(undated(name), shared);
    }
  }

  /**
   * The names that mean the same model: the name itself, else the one that differs by capitals, else the one without a date, else
   * those of other dates. Several are versions of which none is the one that was asked for.
   */
  namesOf(name: string): readonly string[] {
    if (this.#exact.has(name)) return [name];
    const shared = undated(name);
    const one = this.#plain.get(plain(name)) ?? this.#plain.get(shared);
    return one === undefined ? (this.#undated.get(shared) ?? []) : [one];
  }
}

/** The most characters of a name. */
const NAME_MAX = 128;

/** Whether a name may be an ID: no part of it can lead elsewhere where an adapter puts it into a path. */
export const isWellFormed = (name: string): boolean =>
  name.length <= NAME_MAX &&
  /^[A-Za-z0-9._:/@-]+$/.test(name) &&
  !name.includes('..') &&
  name.split('/').every((part) => part !== '' && part !== '.');

/** Words of routers by which a name is another model, or another bill, behind whatever address: `:online`, `ft:`, `@preset/x`. */
const ANOTHER_BILL =
  /:(?:online|free|nitro|floor|exacto|extended|thinking|cloud)$|-cloud$|^@|@preset\/|(?:^|\/)ft:|^openrouter\/|^auto$/i;
/** A service with a key has no versions behind these; a program of your own, such as Ollama, has: `qwen3:8b`. */
const VARIANT = /[:@]/;

/** Whether a part of a provider's name of a model changes its bill or the model behind it. */
export const changesBill = (upstream: string, isHosted: boolean): boolean =>
  ANOTHER_BILL.test(upstream) || (isHosted && VARIANT.test(upstream));
