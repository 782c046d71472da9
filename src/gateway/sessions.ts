import { createHash } from 'node:crypto';
import { REDACTIONS } from '../core/content.ts';
import { redact } from '../records/redact.ts';
import { RecentByKey } from './recent-by-key.ts';

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

/**
 * The sessions that callers name. A name is a claim: it stands within its key, and so never reaches what another key spends
 * or caches. Names are bounded in number and age; those beyond count together as one session, so that a cap for each
 * session holds for them, too. Local to the process: what a session has spent is in the books.
 */
export class Sessions {
  readonly #names: RecentByKey<string>;

  /** @param clock ms, never goes back */
  constructor(clock: () => number, most = NAMES_MAX, mostOfAll = ALL_NAMES_MAX) {
    this.#names = new RecentByKey(clock, { most, mostOfAll, idleMs: IDLE_MS });
  }

  /** Number of names that are remembered. */
  get size(): number {
    return this.#names.size;
  }

  /**
   * Returns the name of a session as books and records have it; null for a request of none.
   * @param claimed the name that the caller sent
   */
  nameOf(keyId: string, claimed: string | null): string | null {
    if (claimed === null) return null;
    if (!PLAIN.test(claimed)) return OTHER_SESSIONS;
    const known = this.#names.get(keyId, claimed);
    if (known !== undefined) return known;
    if (this.#names.isFull(keyId)) return OTHER_SESSIONS;
    const name = shownName(keyId, claimed);
    this.#names.set(keyId, claimed, name);
    return name;
  }
}

/** A name with an address or a secret in it is kept as a hash: it stands in books that are never edited. */
function shownName(keyId: string, claimed: string): string {
  if (redact(claimed, REDACTIONS) === claimed) return claimed;
  return `hash_${createHash('sha256').update(`${keyId}\0${claimed}`).digest('hex').slice(0, 24)}`;
}
