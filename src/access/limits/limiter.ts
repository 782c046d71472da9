import type { Caller, KeyLimits } from '../../core/caller.ts';
import { holds, subjectIn } from '../../core/condition.ts';
import type { LimitScope, RateLimit } from '../../core/rate-limit.ts';
import { type AccountTable, bucketOf, LimitAccounts } from './accounts.ts';
import { take, waitMs } from './bucket.ts';
import { Quota } from './quota.ts';
import { type LimitShortage, limitError, type RequestLimit } from './refusal.ts';

/** A limit that holds for a caller. */
interface CallerLimit {
  /** Null for the key's own. */
  readonly name: string | null;
  readonly figures: KeyLimits;
  readonly table: AccountTable;
  /** Null: the caller's address. */
  readonly subject: string | null;
}

/** What is counted by address alone. */
export type Offence = 'failed-auth' | 'keyless';

/**
 * Counts what callers do against the limits that apply to them. In memory: a restart begins anew. A new policy does
 * not: accounts are known by the name of their limit and the subject.
 */
export class Limiter {
  readonly #now: () => number;
  readonly #accounts: LimitAccounts;
  /** Which limits hold for a caller depends on the key and the policy alone. */
  readonly #byCaller = new WeakMap<
    Caller,
    { readonly limits: readonly RateLimit[]; readonly applied: CallerLimit[] }
  >();

  /** `clock` gives milliseconds and never goes back. */
  constructor(clock: () => number, accounts = new LimitAccounts()) {
    this.#now = () => Math.floor(clock());
    this.#accounts = accounts;
  }

  /**
   * Counts a request: in all limits that apply, or in none. Null when none applies. Throws SignalboxError
   * `rate_limit_exceeded`. `addressOf` is asked only where a limit needs it.
   */
  admit(limits: readonly RateLimit[], caller: Caller, addressOf: () => string): Quota | null {
    if (limits.length === 0 && caller.limits === null) return null;
    const applied = this.#appliedTo(limits, caller);
    if (applied.length === 0) return null;
    const now = this.#now();
    const shares = applied.map(({ name, figures, table, subject }): RequestLimit => {
      const account = this.#accounts.of(table, subject ?? addressOf(), now);
      if (figures.requestsPerMinute !== null) bucketOf(account, 'requests', figures.requestsPerMinute, now);
      if (figures.tokensPerMinute !== null) bucketOf(account, 'tokens', figures.tokensPerMinute, now);
      // Kept from here on: the account of the next limit may need room.
      account.open++;
      return { name, figures, account };
    });
    const short = shortageOf(shares);
    if (short) {
      for (const { account } of shares) account.open--;
      throw limitError(short, shares);
    }
    for (const { figures, account } of shares) {
      if (figures.requestsPerMinute !== null && account.requests) take(account.requests, 1);
    }
    return new Quota(shares, this.#now);
  }

  /** Counts something by address: 0 when there was room for it, else the milliseconds until there is. */
  count(offence: Offence, address: string, perMinute: number): number {
    const now = this.#now();
    const account = this.#accounts.of(this.#accounts.table(`door ${offence}`), address, now);
    const bucket = bucketOf(account, 'requests', perMinute, now);
    const wait = waitMs(bucket, 1);
    if (wait === 0) take(bucket, 1);
    return wait;
  }

  #appliedTo(limits: readonly RateLimit[], caller: Caller): CallerLimit[] {
    const cached = this.#byCaller.get(caller);
    if (cached?.limits === limits) return cached.applied;
    const scope: LimitScope = { key: { id: caller.keyId, labels: new Map(Object.entries(caller.labels)) } };
    const applied = limits
      .filter(({ match }) => holds(match, scope))
      .map(({ name, figures, each }): CallerLimit => {
        const table = this.#accounts.table(`rule ${name}`);
        return { name, figures, table, subject: each === 'address' ? null : subjectIn(each, scope) };
      });
    if (caller.limits) {
      applied.push({
        name: null,
        figures: caller.limits,
        table: this.#accounts.table('key'),
        subject: caller.keyId,
      });
    }
    this.#byCaller.set(caller, { limits, applied });
    return applied;
  }
}

function shortageOf(shares: readonly RequestLimit[]): LimitShortage | null {
  let worst: LimitShortage | null = null;
  for (const share of shares) {
    const { figures, account } = share;
    const wait = figures.requestsPerMinute !== null && account.requests ? waitMs(account.requests, 1) : 0;
    if (wait > (worst?.waitMs ?? 0)) worst = { share, kind: 'requests', waitMs: wait, units: 1 };
  }
  return worst;
}
