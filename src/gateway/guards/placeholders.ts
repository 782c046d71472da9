import { createHmac } from 'node:crypto';
import type { GuardMatch } from '../../contract/guard.ts';
import type { UnmaskPlace } from '../../core/policy/guards.ts';

/** The letters of a placeholder. Digits could look like a part of a number, which a guard would find again. */
const LETTERS = 'abcdefghijklmnop';
const LETTER_COUNT = 12;

/** The most characters of a placeholder: the name of a kind, the letters, and three signs. */
export const PLACEHOLDER_MAX = 40 + 2 * LETTER_COUNT + 3;

/**
 * The placeholders of a request, such as `[email:kdmfabclpgeh]`. The letters are an HMAC of the value, so a value has the same placeholder in
 * every turn of a conversation, on every server, and nothing is stored. Another conversation or another key has other placeholders.
 */
export class Placeholders {
  readonly #secretOf: () => Uint8Array;
  #secret: Uint8Array | null = null;
  readonly #values = new Map<string, string>();
  readonly #places = new Map<string, ReadonlySet<UnmaskPlace>>();

  /** @param secretOf returns the secret of the conversation. It is called at most once, when a value is masked. */
  constructor(secretOf: () => Uint8Array) {
    this.#secretOf = secretOf;
  }

  get isEmpty(): boolean {
    return this.#values.size === 0;
  }

  has(placeholder: string): boolean {
    return this.#values.has(placeholder);
  }

  /** Returns the value of a placeholder in a place of the answer; null if it stays masked there. */
  valueAt(place: UnmaskPlace, placeholder: string): string | null {
    return this.#places.get(placeholder)?.has(place) ? (this.#values.get(placeholder) ?? null) : null;
  }

  /**
   * Returns the placeholder of a value.
   * @param kind the kind of a match, which is part of the placeholder
   * @param places the places of the answer in which the placeholder becomes the value again
   */
  of(kind: string, value: string, places: readonly UnmaskPlace[] = []): string {
    this.#secret ??= this.#secretOf();
    const digest = createHmac('sha256', this.#secret).update(`${kind}\0${value}`).digest();
    const letters = [...digest].map((byte) => LETTERS[byte & 15]).join('');
    const short = `[${kind}:${letters.slice(0, LETTER_COUNT)}]`;
    const known = this.#values.get(short);
    // Two values almost never have the same letters. If they do, the second value gets more of them.
    const placeholder =
      known === undefined || known === value ? short : `[${kind}:${letters.slice(0, 2 * LETTER_COUNT)}]`;
    this.#values.set(placeholder, value);
    if (places.length > 0)
      this.#places.set(placeholder, new Set([...(this.#places.get(placeholder) ?? []), ...places]));
    return placeholder;
  }
}

/** Matches the form of every placeholder. */
export const PLACEHOLDER = /\[[a-z][a-z0-9-]{0,39}:[a-p]{12}(?:[a-p]{12})?\]/g;

/** Leaves out matches in placeholders of the request, because a placeholder contains the name of a kind. */
export function withoutPlaceholders(
  matches: readonly GuardMatch[],
  texts: readonly { readonly text: string }[],
  placeholders: Placeholders,
): readonly GuardMatch[] {
  if (placeholders.isEmpty || matches.length === 0) return matches;
  return matches.filter(({ at }) => {
    if (!at) return true;
    // A longer search would take quadratic time in a text with many matches.
    const from = Math.max(0, at.from - PLACEHOLDER_MAX);
    const near = texts[at.text]!.text.slice(from, at.from + PLACEHOLDER_MAX);
    const begin = near.lastIndexOf('[', at.from - from);
    const end = begin < 0 ? -1 : near.indexOf(']', begin) + 1;
    return from + end < at.to || !placeholders.has(near.slice(begin, end));
  });
}

/** Does the same in steps of some thousand matches. */
export function* stepsWithoutPlaceholders(
  matches: readonly GuardMatch[],
  texts: readonly { readonly text: string }[],
  placeholders: Placeholders,
): Generator<void, readonly GuardMatch[]> {
  const left: GuardMatch[] = [];
  for (let at = 0; at < matches.length; at += STEP) {
    for (const match of withoutPlaceholders(matches.slice(at, at + STEP), texts, placeholders)) left.push(match);
    yield;
  }
  return left;
}

const STEP = 4_096;
