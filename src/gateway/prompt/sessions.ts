import { createHash } from 'node:crypto';
import { DAY_MS } from '../../core/clock.ts';
import { REDACTIONS } from '../../core/content.ts';
import { NO_RUN, type RunNames } from '../../core/run-names.ts';
import { redact } from '../records/redact.ts';
import { RecentByKey } from './recent-by-key.ts';

/** Names of one key at once. */
const NAMES_MAX = 1_000;
/** Names of all keys at once; with their keys some 15 MB. */
const ALL_NAMES_MAX = 50_000;
/** A name that was not used for so long makes room for another, ms. */
const IDLE_MS = DAY_MS;

/** A name that the books keep as it is. */
const PLAIN = /^[\x21-\x7e]{1,128}$/;

/** The name under which all further sessions of a key, and further agents, count together. No caller can send it: it is not plain. */
export const OTHER_SESSIONS = '…';

/**
 * The sessions that callers name, and the agents in them. A name is a claim: it stands within its key, and so never reaches what another key spends
 * or caches. Names are bounded in number and age; those beyond count together as one session, so that a cap for each
 * session holds for them, too. Local to the process: what a session has spent is in the books. State: sessions.
 */
export class Sessions {
  readonly #names: RecentByKey<string>;
  /** By session and agent, so that no session can name more of them than there are names. */
  readonly #agents: RecentByKey<string>;

  /** @param clock ms, never goes back */
  constructor(clock: () => number, most = NAMES_MAX, mostOfAll = ALL_NAMES_MAX) {
    const limits = { most, mostOfAll, idleMs: IDLE_MS };
    this.#names = new RecentByKey(clock, limits);
    this.#agents = new RecentByKey(clock, limits);
  }

  /** Number of names that are remembered. */
  get size(): number {
    return this.#names.size;
  }

  /** Returns the names of a run as books and records have them. */
  run(keyId: string, { session: claimed, agent, parentAgent }: RunNames): RunNames {
    if (claimed === null && agent === null) return NO_RUN;
    const session = this.nameOf(keyId, claimed);
    return {
      session,
      agent: this.#agentOf(keyId, session, agent),
      parentAgent: this.#agentOf(keyId, session, parentAgent),
    };
  }

  #agentOf(keyId: string, session: string | null, claimed: string | null): string | null {
    return nameIn(this.#agents, keyId, claimed, (name) => `${session ?? ''} ${name}`);
  }

  /**
   * Returns the name of a session as books and records have it; null for a request of none.
   * @param claimed the name that the caller sent
   */
  nameOf(keyId: string, claimed: string | null): string | null {
    return nameIn(this.#names, keyId, claimed, (name) => name);
  }
}

/** Returns a claimed name as it is kept, and remembers it. @param within what it is remembered by */
function nameIn(
  names: RecentByKey<string>,
  keyId: string,
  claimed: string | null,
  within: (name: string) => string,
): string | null {
  if (claimed === null) return null;
  if (!PLAIN.test(claimed)) return OTHER_SESSIONS;
  const known = names.get(keyId, within(claimed));
  if (known !== undefined) return known;
  if (names.isFull(keyId)) return OTHER_SESSIONS;
  const name = shownName(keyId, claimed);
  names.set(keyId, within(claimed), name);
  return name;
}

/** A name with an address or a secret in it is kept as a hash: it stands in books that are never edited. */
function shownName(keyId: string, claimed: string): string {
  if (redact(claimed, REDACTIONS) === claimed) return claimed;
  return `hash_${createHash('sha256').update(`${keyId}\0${claimed}`).digest('hex').slice(0, 24)}`;
}
