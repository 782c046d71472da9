import { hash } from 'node:crypto';
import { canBeForeign, KEY_LENGTH_MAX, looksLikeKey } from '../../../access/key.ts';
import { KEY_BITS_MIN, strengthOf } from '../../../access/key-strength.ts';
import { QUARTER_MS } from '../../../core/accounting/window.ts';
import type { WindowKind } from '../../../core/money/budget.ts';
import type { Decimal } from '../../../core/money/decimal.ts';
import { parseMoment } from '../../../core/time/clock.ts';
import type { KeyTerms } from '../../../store/keys.ts';

/** A key as a file of another gateway states it. */
export interface ForeignKey {
  /** Where the file states it, such as `line 3`. */
  readonly at: string;
  /** SHA-256 of the whole key. */
  readonly hash: Uint8Array;
  /** The stated terms, without the team and the user, which the file names in its own words. */
  readonly terms: Partial<Omit<KeyTerms, 'scopes' | 'team' | 'user'>>;
  /** The ID or the name of the team; null for none, absent if the file does not state it. */
  readonly team?: string | null;
  /** The ID or the email address of the user; null for none, absent if the file does not state it. */
  readonly user?: string | null;
  readonly isSuspended: boolean;
  /** Settings of the file that are not imported, each with its reason. */
  readonly leftOut: readonly string[];
}

/** A key of a file that cannot be imported, with the reason. */
export interface UnusableKey {
  readonly at: string;
  readonly name: string;
  readonly reason: string;
}

/** The keys of a file. */
export interface KeyFile {
  readonly keys: readonly (ForeignKey | UnusableKey)[];
  /** Sentences about the whole file. */
  readonly notes: readonly string[];
}

/** A budget as a text states it. */
interface StatedBudget {
  /** The amount as it is written. */
  readonly limit_credits: string;
  readonly window: WindowKind;
  readonly time_zone: string;
  readonly on_exhausted: string;
  readonly until?: string;
  readonly every?: { readonly seconds: number; readonly from: string };
}

/** The values that a reader of a file needs. */
export interface ReadingTerms {
  /** The worth of a Credit; null if it is unknown. */
  readonly usdPerCredit: Decimal | null;
  /** ms since 1970 */
  readonly now: number;
  /** Reads a budget in the form of the command `keys create`. @throws UsageError */
  readonly readBudget: (text: string, now: number) => StatedBudget;
}

/** Why a key of a file cannot be imported. The message is one or two sentences. */
class UnusableRow extends Error {
  override readonly name = 'UnusableRow';
}

export function unusable(reason: string): never {
  throw new UnusableRow(reason);
}

/** Reads a row of a file. @param name of the key, for a row that cannot be imported */
export function rowOf(at: string, name: string, read: () => ForeignKey): ForeignKey | UnusableKey {
  try {
    return read();
  } catch (cause) {
    if (!(cause instanceof UnusableRow)) throw cause;
    return { at, name, reason: cause.message };
  }
}

/** Returns the hash of a plain key. @throws UnusableRow for a key that can be guessed, or that no request can contain */
export function hashOfPlain(key: string): Uint8Array {
  if (looksLikeKey(key)) unusable('A key of Signalbox cannot be imported. Create a key with `keys create`.');
  if (!canBeForeign(key)) {
    unusable(`A key has 1 to ${KEY_LENGTH_MAX} visible ASCII characters, because clients send it in a header.`);
  }
  const bits = Math.floor(strengthOf(key));
  if (bits < KEY_BITS_MIN) {
    unusable(
      `The key can be guessed: it has about ${bits} random bits by an estimate, and needs ${KEY_BITS_MIN}. Give the application a new key.`,
    );
  }
  return hash('sha256', key, 'buffer');
}

/** Reads a SHA-256 in hexadecimal digits or base64. @returns null for another text */
export function hashIn(text: string): Uint8Array | null {
  if (/^[\da-f]{64}$/i.test(text)) return Buffer.from(text, 'hex');
  if (!/^[\w+/-]{43}=?$/.test(text)) return null;
  const bytes = Buffer.from(text, 'base64url');
  return bytes.length === 32 ? bytes : null;
}

/** Returns the first quarter of an hour from a moment on, because windows of budgets begin on quarters. */
export const nextQuarter = (at: number): number => Math.ceil(at / QUARTER_MS) * QUARTER_MS;

/** Reads a moment. A text without a time zone is in UTC, as databases write it. @returns ms since 1970 */
export function momentIn(text: string): number | null {
  const [, day, time = '', zone = ''] =
    /^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?))?\s*(Z|UTC|[+-]\d\d(?::?\d\d)?)?$/.exec(
      text.trim(),
    ) ?? [];
  if (day === undefined) return null;
  const [, sign, hours, minutes = '00'] = /^([+-])(\d\d):?(\d\d)?$/.exec(zone) ?? [];
  const offset = sign === undefined ? 'Z' : `${sign}${hours}:${minutes}`;
  return parseMoment(`${day}T${time === '' ? '00:00' : time}${offset}`);
}
