import { createHash } from 'node:crypto';
import { REDACTIONS } from '../../core/policy/content.ts';
import { NO_RUN, type RunNames } from '../../core/request/run-names.ts';
import { DAY_MS } from '../../core/time/clock.ts';
import { redact } from '../records/redact.ts';
import { RecentByKey } from './recent-by-key.ts';

/** The most names of one key at once. */
const NAMES_MAX = 1_000;
/** The most names of all keys at once; the names and their keys take about 15 MB. */
const ALL_NAMES_MAX = 50_000;
/** A name that was not used for this time may be replaced by another, ms. */
const IDLE_MS = DAY_MS;

/** A name that the books store unchanged. */
const PLAIN = /^[\x21-\x7e]{1,128}$/;

/**
 * The shared name of all further sessions of a key, and of all further agents. No caller can send the shared name, because `PLAIN` does not
 * match it.
 */
export const OTHER_SESSIONS = '…';

/**
 * The sessions that callers name, and the agents in them. A name is only a claim, so it applies only within the key that sent it, and never
 * affects what another key spends or caches. Names are bounded in number and age. Names beyond the limit count together as one session, so
 * that a limit for each session also applies to these names. The names are local to the process; the books store what a session has spent.
 * State: sessions.
 */
export class Sessions {
  readonly #names: RecentByKey<string>;
  /** Agents by session and agent, so that one session cannot name more agents than there may be names. */
  readonly #agents: RecentByKey<string>;

  /** @param clock ms, never decreases */
  constructor(clock: () => number, most = NAMES_MAX, mostOfAll = ALL_NAMES_MAX) {
    const limits = { most, mostOfAll, idleMs: IDLE_MS };
    this.#names = new RecentByKey(clock, limits);
    this.#agents = new RecentByKey(clock, limits);
  }

  /** The number of names that are remembered. */
  get size(): number {
    return this.#names.size;
  }

  /** Returns the names of a run as the books and records store them. */
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
   * Returns the name of a session as the books and records store it; null for a request without a session.
   * @param claimed the name that the caller sent
   */
  nameOf(keyId: string, claimed: string | null): string | null {
    return nameIn(this.#names, keyId, claimed, (name) => name);
  }
}

/** Returns a claimed name as it is stored, and remembers it. @param within the key, or the key and session, under which it is remembered */
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

/** A name that contains an address or a secret is stored as a hash, because the books are never edited. */
function shownName(keyId: string, claimed: string): string {
  if (redact(claimed, REDACTIONS) === claimed) return claimed;
  return `hash_${createHash('sha256').update(`${keyId}\0${claimed}`).digest('hex').slice(0, 24)}`;
}
