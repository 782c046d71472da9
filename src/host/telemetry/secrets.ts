import { piecesOf, RUN_MIN, replaceRuns } from '../../core/text/runs.ts';
import { GLUED_SECRET_SHAPES, SECRET_SHAPES } from '../../core/text/secret-shapes.ts';

/** The text that replaces a secret. */
export const SECRET = '[secret]';
/** A value with fewer characters is not treated as a secret. */
export const SECRET_LENGTH_MIN = RUN_MIN;

/** Matches values that follow the name of a credential. */
const NAMED = String.raw`(?:[Aa]uthorization|[Xx]-[Aa][Pp][Ii]-[Kk]ey)["']?\s*[:=]\s*["']?(?:[A-Za-z]+\s+)?[\w.~+/-]{12,}=*|\bbearer\s+[\w.~+/-]{16,}=*`;
const SECRET_PATTERN = new RegExp(`${SECRET_SHAPES}|${NAMED}`);
const ALL_SECRETS = new RegExp(SECRET_PATTERN.source, 'g');
const GLUED_SECRETS = new RegExp(GLUED_SECRET_SHAPES, 'g');

/** How many characters of a secret `hasSecret` searches for. Compiling an expression of 65,536 characters takes 80 ms. */
const BEGINNING_MAX = 256;

/** Some environment variables contain addresses, which are not secrets. */
const ADDRESS = /^https?:\/\//i;
const WORD = /^[a-z]{1,15}$|^[A-Z]{1,15}$|^\d{1,11}$/;

const canBeSecret = (text: string): boolean =>
  text.length >= SECRET_LENGTH_MIN && !ADDRESS.test(text) && !WORD.test(text);

/**
 * The registered secrets. The registered secrets belong to the process, like its environment, so that no log line of any application in the
 * process shows a secret. Secrets of the environment are never removed, because requests may still use a key after a reload without that
 * key. Tokens are removed after their end, because a process fetches thousands of them.
 */
class SecretRegistry {
  /** The complete secrets, in all forms. */
  readonly #secrets = new Set<string>();
  /** The tokens, in all forms. */
  readonly #tokens = new Set<ReadonlySet<string>>();
  readonly pieces = new Set<string>();
  /** Matches the beginning of any secret. */
  beginnings: RegExp | null = null;

  add(values: Iterable<string | null | undefined>): void {
    const forms = [...values].flatMap((value) => [...formsOfSecret(value)]);
    const added = forms.filter((form) => !this.#secrets.has(form));
    if (added.length === 0) return;
    for (const form of added) this.#secrets.add(form);
    for (const piece of piecesOf(added)) this.pieces.add(piece);
    this.#findBeginnings();
  }

  addToken(value: string): () => void {
    const forms = formsOfSecret(value);
    this.#tokens.add(forms);
    for (const piece of piecesOf(forms)) this.pieces.add(piece);
    this.#findBeginnings();
    return () => {
      if (!this.#tokens.delete(forms)) return;
      this.pieces.clear();
      for (const piece of piecesOf(this.#all())) this.pieces.add(piece);
      this.#findBeginnings();
    };
  }

  *#all(): Iterable<string> {
    yield* this.#secrets;
    for (const forms of this.#tokens) yield* forms;
  }

  #findBeginnings(): void {
    const beginnings = [...this.#all()].map((form) => RegExp.escape(form.slice(0, BEGINNING_MAX)));
    this.beginnings = beginnings.length === 0 ? null : new RegExp(beginnings.join('|'));
  }
}

function formsOfSecret(value: string | null | undefined): ReadonlySet<string> {
  const secret = value?.trim() ?? '';
  return canBeSecret(secret) ? formsOf(secret) : new Set();
}

/** State: secrets. */
const registry = new SecretRegistry();

/** Registers secrets from the environment. `registerSecrets` skips values that are short or may be words, such as `workstation`. */
export const registerSecrets = (values: Iterable<string | null | undefined>): void => registry.add(values);

/** Registers a token until the returned function is called, after the end of the token. */
export const registerToken = (value: string): (() => void) => registry.addToken(value);

/** The first characters by which registered keys are found. A key with fewer characters is not masked, because words may equal it. */
const BEGINNING = 8;
/** A key begins after any character that is not one of these. */
const WORD_CHARACTER = /[\w-]/;

/**
 * The keys of other gateways that this process has seen. They may have any form, so only their own text finds them. Unlike secrets of the
 * environment there can be thousands of keys, so a search takes the same time for any number of them.
 */
class ForeignKeys {
  /** The forms of the keys. */
  readonly #forms = new Set<string>();
  /** The forms by their first characters, the longest first. */
  readonly #byBeginning = new Map<string, string[]>();

  add(key: string): void {
    if (this.#forms.has(key) || key.length < BEGINNING) return;
    for (const form of formsOf(key)) {
      this.#forms.add(form);
      const all = this.#byBeginning.getOrInsertComputed(form.slice(0, BEGINNING), () => []);
      all.push(form);
      all.sort((one, other) => other.length - one.length);
    }
  }

  /** Replaces the keys in a text. A key that begins within a word is replaced only if a pattern of `SECRET_SHAPES` matches it. */
  replaced(text: string, replacement: (key: string) => string): string {
    if (this.#forms.size === 0) return text;
    let out = '';
    let kept = 0;
    for (let at = 0; at + BEGINNING <= text.length; at++) {
      const key = this.#at(text, at);
      if (key === undefined) continue;
      out += text.slice(kept, at) + replacement(key);
      kept = at + key.length;
      at = kept - 1;
    }
    return kept === 0 ? text : out + text.slice(kept);
  }

  /** Whether a text contains a key. */
  isIn(text: string): boolean {
    if (this.#forms.size === 0) return false;
    for (let at = 0; at + BEGINNING <= text.length; at++) if (this.#at(text, at) !== undefined) return true;
    return false;
  }

  #at(text: string, at: number): string | undefined {
    if (at > 0 && WORD_CHARACTER.test(text[at - 1]!)) return undefined;
    return this.#byBeginning.get(text.slice(at, at + BEGINNING))?.find((key) => text.startsWith(key, at));
  }
}

/** State: foreign keys. */
const foreignKeys = new ForeignKeys();

/** Registers a key of another gateway that a caller presented, and that this server knows. */
export const registerForeignKey = (key: string): void => foreignKeys.add(key);

/** Whether a text contains a registered key of another gateway. */
export const hasForeignKey = (text: string): boolean => foreignKeys.isIn(text);

/** Returns the forms of a secret in texts: plain, in JSON, in a URL. */
const formsOf = (secret: string): Set<string> =>
  new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed())]);

/** Whether a text contains a registered secret or a text that looks like a credential. `hasSecret` runs for every log line. */
export function hasSecret(text: string): boolean {
  return SECRET_PATTERN.test(text) || (registry.beginnings?.test(text) ?? false) || foreignKeys.isIn(text);
}

/** Replaces registered secrets, pieces of at least 8 characters of such secrets, and everything that looks like a credential. */
export function scrub(text: string): string {
  const own = foreignKeys.replaced(text, () => SECRET);
  return replaceRuns(own, registry.pieces, () => SECRET).replace(ALL_SECRETS, SECRET);
}

/**
 * Replaces the same texts as `scrub`, and also keys that begin within a word. It is meant for names that a caller chose, such as the name of
 * a model; in other texts it would replace some harmless words.
 */
export const scrubName = (text: string): string => scrub(text).replace(GLUED_SECRETS, SECRET);

/** Replaces the same texts as `scrub`, but with as many asterisks as there were characters, so that columns stay in place. */
export function mask(text: string): string {
  if (!hasSecret(text)) return text;
  const stars = (found: string) => '*'.repeat(found.length);
  return replaceRuns(foreignKeys.replaced(text, stars), registry.pieces, stars).replace(ALL_SECRETS, stars);
}

/** Removes secrets from all texts and member names of a JSON value. */
export function scrubAll<Value>(value: Value): Value;
export function scrubAll(value: unknown): unknown {
  if (typeof value === 'string') return scrub(value);
  if (Array.isArray(value)) return value.map((one: unknown) => scrubAll(one));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [scrub(name), scrubAll(inner)]));
}
