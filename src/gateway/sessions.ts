import { createHash } from 'node:crypto';
import { REDACTIONS } from '../core/content.ts';
import { redact } from '../records/redact.ts';

/** Names of one key at once. */
const NAMES_MAX = 1_000;
/** Names of all keys at once; with their keys some 15 MB. */
const ALL_NAMES_MAX = 50_000;
/** A name that was not used for so long makes room for another, ms. */
const IDLE_MS = 86_400_000;

/** A name that the books keep as it is. */
const PLAIN = /^[\x21-\x7e]{1,128}$/;

/** The name under which all further sessions of a key count together. No caller can send it: it is not plain. */
export const OTHER_SESSIONS = '…';

interface SessionName {
  readonly name: string;
  /** When it was last used, ms on the clock. */
  at: number;
}

/**
 * The sessions that callers name. A name is a claim: it stands within its key, and so never reaches what another key spends
 * or caches. Names are bounded in number and age; those beyond count together as one session, so that a cap for each
 * session holds for them, too. Local to the process: what a session has spent is in the books.
 */
export class Sessions {
  readonly #clock: () => number;
  readonly #most: number;
  readonly #mostOfAll: number;
  /** Keys by last use, each with its names by last use, the oldest first. */
  readonly #byKey = new Map<string, Map<string, SessionName>>();
  #size = 0;

  /** @param clock ms, never goes back */
  constructor(clock: () => number, most = NAMES_MAX, mostOfAll = ALL_NAMES_MAX) {
    this.#clock = clock;
    this.#most = most;
    this.#mostOfAll = mostOfAll;
  }

  /** Number of names that are remembered. */
  get size(): number {
    return this.#size;
  }

  /**
   * Returns the name of a session as books and records have it; null for a request of none.
   * @param claimed the name that the caller sent
   */
  nameOf(keyId: string, claimed: string | null): string | null {
    if (claimed === null) return null;
    if (!PLAIN.test(claimed)) return OTHER_SESSIONS;
    const names = this.#namesOf(keyId);
    const now = this.#clock();
    const known = names.get(claimed);
    if (known) {
      names.delete(claimed);
      names.set(claimed, known);
      known.at = now;
      return known.name;
    }
    this.#forgetIdle(names, now);
    if (names.size >= this.#most) return OTHER_SESSIONS;
    const made = { name: shownName(keyId, claimed), at: now };
    names.set(claimed, made);
    this.#size++;
    if (this.#size > this.#mostOfAll) this.#forgetOldestKey();
    return made.name;
  }

  /** Returns the names of a key, which is the last used one from now on. */
  #namesOf(keyId: string): Map<string, SessionName> {
    const names = this.#byKey.get(keyId) ?? new Map<string, SessionName>();
    this.#byKey.delete(keyId);
    this.#byKey.set(keyId, names);
    return names;
  }

  #forgetIdle(names: Map<string, SessionName>, now: number): void {
    for (const [claimed, { at }] of names) {
      if (now - at < IDLE_MS) return;
      names.delete(claimed);
      this.#size--;
    }
  }

  #forgetOldestKey(): void {
    const [keyId, names] = this.#byKey.entries().next().value!;
    // The oldest names, if it is the only key.
    const isOnly = this.#byKey.size === 1;
    for (const claimed of names.keys()) {
      names.delete(claimed);
      this.#size--;
      if (isOnly) return;
    }
    this.#byKey.delete(keyId);
  }
}

/** A name with an address or a secret in it is kept as a hash: it stands in books that are never edited. */
function shownName(keyId: string, claimed: string): string {
  if (redact(claimed, REDACTIONS) === claimed) return claimed;
  return `hash_${createHash('sha256').update(`${keyId}\0${claimed}`).digest('hex').slice(0, 24)}`;
}
