import type { Caller, KeyLimits } from '../../core/caller.ts';
import { holds, subjectIn } from '../../core/condition.ts';
import { type CallerGroups, groupsOf } from '../../core/holder.ts';
import type { LimitScope, RateLimit } from '../../core/rate-limit.ts';
import { type AccountTable, bucketOf, LimitAccounts } from './accounts.ts';
import { take, waitMs } from './bucket.ts';
import { type LimitCounts, LocalCounts } from './counts.ts';
import { type NewestLimits, REPORTS, reportLimits } from './newest.ts';
import { Quota, uncounted } from './quota.ts';
import { ABOVE, type LimitShortage, limitError, type RequestLimit } from './refusal.ts';

/** A limit that applies to a caller. */
interface CallerLimit extends Pick<RequestLimit, 'name' | 'level'> {
  readonly figures: KeyLimits;
  readonly table: AccountTable;
  /** Null: the caller's address. */
  readonly subject: string | null;
}

/** Events counted by address alone. */
export type Offence = 'failed-auth' | 'keyless';

/** Requests of a login for each of a key: an open view of the console sends about 36 a minute, and a person has several. */
const LOGIN_FACTOR = 4;

const A_REQUEST = { requests: 1, tokens: null, streams: null } as const;

/**
 * Enforces rate limits. Accounts survive a new policy, by the name of their limit and the subject. Offences are counted by this process
 * alone. State: offences.
 */
export class Limiter {
  readonly #now: () => number;
  readonly #accounts: LimitAccounts;
  readonly #counts: LimitCounts;
  readonly #newest: Pick<NewestLimits, 'newer'>;
  /** The limits of a caller depend only on the key, the policy and a newer one. */
  readonly #byCaller = new WeakMap<
    Caller,
    {
      readonly limits: readonly RateLimit[];
      readonly newer: NewestLimits['newer'];
      readonly applied: readonly CallerLimit[];
    }
  >();

  /**
   * @param clock milliseconds that never decrease
   * @param shared counts of limits that others count in, too, and the limits of their newest policy; absent where this process alone decides
   */
  constructor(
    clock: () => number,
    accounts = new LimitAccounts(),
    shared?: { readonly counts: LimitCounts; readonly newest: Pick<NewestLimits, 'newer'> },
  ) {
    this.#now = () => Math.floor(clock());
    this.#accounts = accounts;
    this.#counts = shared?.counts ?? new LocalCounts(this.#now);
    this.#newest = shared?.newest ?? { newer: null };
  }

  /**
   * Counts a request in all limits that apply, or in none. Returns null when none applies.
   * @param address of the caller; any text where no limit counts addresses
   * @returns a promise where the store is asked, which rejects as this throws
   * @throws SignalboxError `rate_limit_exceeded`, or `overloaded` where the store failed
   */
  admit(limits: readonly RateLimit[], caller: Caller, address: string): Quota | Promise<Quota> | null {
    const applied = this.#appliedTo(limits, caller);
    return applied.length === 0 ? null : this.#charge(applied, address);
  }

  /**
   * Counts a request that reads, of a key for reports or of a login. A key counts only in its own limits and in the limits of
   * its levels: limits of the policy are for requests that spend. All logins of one person, or with one key, share an account of their own, so that a person
   * at the console takes nothing from the programs that have the key.
   * @param perMinute requests, as the policy's `gateway.reports_per_minute`
   * Returns and throws as `admit` does.
   */
  admitReport(caller: Caller, perMinute: number, isLogin: boolean): Quota | Promise<Quota> {
    const name = REPORTS;
    const ofKey = this.#newest.newer?.get(name)?.requestsPerMinute ?? perMinute;
    const figures = reportLimits(isLogin ? LOGIN_FACTOR * ofKey : ofKey);
    const subject = isLogin ? `${caller.keyId} logins` : caller.keyId;
    const reports = { name, level: null, figures, table: this.#accounts.table('reports'), subject };
    return this.#charge(isLogin ? [reports] : [reports, ...this.#ownOf(caller, null), ...this.#ofLevels(caller)], '');
  }

  #charge(applied: readonly CallerLimit[], address: string): Quota | Promise<Quota> {
    const now = this.#now();
    const counts = this.#counts;
    const charged: RequestLimit[] = [];
    for (const { name, level, figures, table, subject } of applied) {
      const account = this.#accounts.of(table, subject ?? address, now);
      if (figures.requestsPerMinute !== null) bucketOf(account, 'requests', figures.requestsPerMinute, now);
      if (figures.tokensPerMinute !== null) bucketOf(account, 'tokens', figures.tokensPerMinute, now);
      // Keeps the account from here on: the next one may cause a sweep.
      account.open++;
      const limit = { name, level, figures, account };
      charged.push({
        ...limit,
        get ageMs() {
          return counts.ageOf(limit);
        },
      });
    }
    const quota = new Quota(charged, counts);
    const go = (short: LimitShortage | null): Quota => {
      if (!short) return quota;
      quota.close();
      throw limitError(short, charged);
    };
    const found = counts.take(charged, A_REQUEST);
    if (!(found instanceof Promise)) return go(found);
    return found.then(go, (cause: unknown) => {
      quota.close();
      return uncounted(cause);
    });
  }

  /** Counts an event by address. Returns 0 if there was room for it, else the milliseconds until there is. */
  count(offence: Offence, address: string, perMinute: number): number {
    const now = this.#now();
    const account = this.#accounts.of(this.#accounts.table(`door ${offence}`), address, now);
    const bucket = bucketOf(account, 'requests', perMinute, now);
    const wait = waitMs(bucket, 1);
    if (wait === 0) take(bucket, 1);
    return wait;
  }

  /** Takes back an event that was counted before it was known to be none. */
  giveBack(offence: Offence, address: string): void {
    const { requests } = this.#accounts.of(this.#accounts.table(`door ${offence}`), address, this.#now());
    if (requests) take(requests, -1);
  }

  #appliedTo(limits: readonly RateLimit[], caller: Caller): readonly CallerLimit[] {
    const cached = this.#byCaller.get(caller);
    const { newer } = this.#newest;
    if (cached?.limits === limits && cached.newer === newer) return cached.applied;
    const applied = this.#chosenFor(limits, caller);
    this.#byCaller.set(caller, { limits, newer, applied });
    return applied;
  }

  #chosenFor(limits: readonly RateLimit[], caller: Caller): readonly CallerLimit[] {
    // A line is of one team and one user.
    const groups = groupsOf(caller);
    const applied = [...this.#limitsOf(limits, caller, null, groups)];
    // A child counts in all that its parents would, so that more children bring no more requests.
    for (let above = caller.parent; above; above = above.parent) {
      const shared = this.#limitsOf(limits, above, ABOVE, groups).filter(
        (limit) => !applied.some((one) => isSame(one, limit)),
      );
      applied.push(...shared);
    }
    return [...applied, ...this.#ofLevels(caller)];
  }

  /** The limits of one key, as if it asked by itself. @param own the name of its own one */
  #limitsOf(
    limits: readonly RateLimit[],
    { keyId, labels, limits: figures }: Caller,
    own: CallerLimit['name'],
    groups: CallerGroups,
  ) {
    const key = { id: keyId, labels: new Map(Object.entries(labels)) };
    const scope: LimitScope = { key, ...groups };
    const applied = limits
      .filter(({ match }) => holds(match, scope))
      .map(({ name, figures, each }): CallerLimit => {
        const table = this.#accounts.table(`rule ${name}`);
        const subject = each === 'address' ? null : subjectIn(each, scope);
        return { name, level: null, figures: this.#newest.newer?.get(name) ?? figures, table, subject };
      });
    return [...applied, ...this.#ownOf({ keyId, limits: figures }, own)];
  }

  #ownOf(
    { keyId: subject, limits: figures }: Pick<Caller, 'keyId' | 'limits'>,
    name: CallerLimit['name'],
  ): CallerLimit[] {
    return figures ? [{ name, level: null, figures, table: this.#accounts.table('key'), subject }] : [];
  }

  #ofLevels({ levels = [] }: Caller): CallerLimit[] {
    return levels.flatMap((level) => {
      const { kind, id: subject, limits: figures } = level;
      return figures ? [{ name: null, level, figures, table: this.#accounts.table(kind), subject }] : [];
    });
  }
}

/** Whether two limits count a request in one account. */
const isSame = (one: CallerLimit, other: CallerLimit): boolean =>
  one.table === other.table && one.subject === other.subject;
