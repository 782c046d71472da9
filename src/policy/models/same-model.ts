/** The dates and versions that services append to a name: `-2025-08-07`, `-20251001`, `-09-2025`, `-0613`, `-001`, `-latest`. */
const DATED = /(?:[-@:](?:\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2}|\d{8}|\d{6}|\d{4}|00\d|latest))+$/;

/** The digest of a model's files, which local programs accept after a name and may ignore: `qwen3:8b@sha256:4bd…`. */
const DIGEST = /@sha256:[0-9a-f]+$/;

/** Returns a name as the provider's own list writes it: in lower case, and without Gemini's prefix `models/`. */
const plain = (upstream: string): string => upstream.toLowerCase().replace(/^models\//, '');

/** Returns the name that all spellings of a provider's model share: in lower case, without a digest and a date. */
const undated = (upstream: string): string => plain(upstream).replace(DIGEST, '').replace(DATED, '');

/** The names of one provider's models. `SameModels` finds a model by other spellings of its name. */
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
   * Returns the names that mean the same model: the name itself; or else the name that differs only in capitals; or else the name without a
   * digest; or else the name without a date; or else names with other dates. Several results are versions of the model, and none of them is exactly the requested version.
   */
  namesOf(name: string): readonly string[] {
    if (this.#exact.has(name)) return [name];
    const shared = undated(name);
    const one =
      this.#plain.get(plain(name)) ?? this.#plain.get(plain(name).replace(DIGEST, '')) ?? this.#plain.get(shared);
    return one === undefined ? (this.#undated.get(shared) ?? []) : [one];
  }
}

/** The most characters of a name. */
const NAME_MAX = 128;

/** Whether a name may be a model ID. No part of a model ID may lead to another path when an adapter puts the ID into a URL. */
export const isWellFormed = (name: string): boolean =>
  name.length <= NAME_MAX &&
  /^[A-Za-z0-9._:/@-]+$/.test(name) &&
  !name.includes('..') &&
  name.split('/').every((part) => part !== '' && part !== '.');

/** Parts of a name with which routers mean another model or another price, at any address: `:online`, `ft:`, `@preset/x`. */
const ANOTHER_BILL =
  /:(?:online|free|nitro|floor|exacto|extended|thinking|cloud)$|-cloud$|^@|@preset\/|(?:^|\/)ft:|^openrouter\/|^auto$/i;
/**
 * The characters that separate a model's name from its variant. Hosted services use `:` and `@` for variants with another price; local
 * programs such as Ollama use them for versions: `qwen3:8b`.
 */
const VARIANT = /[:@]/;
/** Two such parts after the last slash. A program may ignore one of them, so that the name means a model with another price. */
const TWO_VARIANTS = /[:@][^/]*[:@][^/]*$/;

/** Whether a part of a model's name changes its price or which model answers. */
export const changesBill = (upstream: string, isHosted: boolean): boolean =>
  ANOTHER_BILL.test(upstream) || TWO_VARIANTS.test(upstream) || (isHosted && VARIANT.test(upstream));
