import { type Pieces, piecesOf, RUN_MIN, replaceRuns } from '../core/runs.ts';
import { SECRET_SHAPES } from '../core/secret-shapes.ts';

/** What stands in the place of a secret. */
export const SECRET = '[secret]';
/** What is shorter keeps nobody out, and is no secret. */
export const SECRET_LENGTH_MIN = RUN_MIN;

/** Beside keys by their looks: what goes by a name that only credentials go by. */
const NAMED = String.raw`(?:[Aa]uthorization|[Xx]-[Aa][Pp][Ii]-[Kk]ey)["']?\s*[:=]\s*["']?(?:[A-Za-z]+\s+)?[\w.~+/-]{12,}=*|\bbearer\s+[\w.~+/-]{16,}=*`;
const LOOKS = new RegExp(`${SECRET_SHAPES}|${NAMED}`);
const ALL_LOOKS = new RegExp(LOOKS.source, 'g');

/** Addresses stand in variables too, and are no secrets. */
const ADDRESS = /^https?:\/\//i;
const WORD = /^[a-z]{1,15}$|^[A-Z]{1,15}$|^\d{1,11}$/;

const canBeSecret = (text: string): boolean =>
  text.length >= SECRET_LENGTH_MIN && !ADDRESS.test(text) && !WORD.test(text);

/**
 * The secrets of this process. One list for all of it: whoever writes a line or answers a request must leave out what
 * anybody here knows. Nothing is ever forgotten, for requests may still run with a key that a reload has put away.
 */
const known = new Set<string>();
let pieces: Pieces = new Set();
/** Matches any of them, whole. */
let whole: RegExp | null = null;

/** Adds secrets, as they stand in the environment. What is too short is left, and what may be a word, such as `workstation`. */
export function learnSecrets(values: Iterable<string | null | undefined>): void {
  const before = known.size;
  for (const value of values) {
    const secret = value?.trim() ?? '';
    if (!canBeSecret(secret)) continue;
    for (const form of formsOf(secret)) known.add(form);
  }
  if (known.size === before) return;
  pieces = piecesOf(known);
  whole = new RegExp([...known].map(escaped).join('|'));
}

/** A secret in the ways in which texts carry it: as it is, in JSON, in a URL. */
const formsOf = (secret: string): Set<string> =>
  new Set([secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret.toWellFormed())]);

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');

/** Whether a text has a known secret, whole, or what looks like one. Takes a few hundred ns for a line of the log. */
export function hasSecret(text: string): boolean {
  return LOOKS.test(text) || (whole?.test(text) ?? false);
}

/** A text without secrets: known ones and pieces of them, from 8 characters on, and what looks like one. */
export function scrub(text: string): string {
  return replaceRuns(text, pieces, () => SECRET).replace(ALL_LOOKS, SECRET);
}

/** The same of a whole file, with as many asterisks in their place: columns stay where they are. */
export function mask(text: string): string {
  if (!hasSecret(text)) return text;
  const stars = (found: string) => '*'.repeat(found.length);
  return replaceRuns(text, pieces, stars).replace(ALL_LOOKS, stars);
}

/** A value of JSON without secrets in any of its texts or names. */
export function scrubAll(value: unknown): unknown {
  if (typeof value === 'string') return scrub(value);
  if (Array.isArray(value)) return value.map(scrubAll);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [scrub(name), scrubAll(inner)]));
}

/** A value as JSON, scrubbed where it must be. */
export function safeJson(value: unknown): string {
  const text = JSON.stringify(value);
  return hasSecret(text) ? JSON.stringify(scrubAll(value)) : text;
}
