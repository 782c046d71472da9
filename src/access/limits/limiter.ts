import type { Caller, KeyLimits } from '../../core/people/caller.ts';
import { holds, subjectIn } from '../../core/policy/condition.ts';
import type { LimitScope, RateLimit } from '../../core/policy/rate-limit.ts';
import { readCaller, readKey } from '../../core/tables/facts/caller.ts';
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
  /** Null to use the caller's address. */
  readonly subject: string | null;
}

/** Events that are counted only by address. */
export type Offence = 'failed-auth' | 'keyless';

/**
 * How many requests a login may make for each request of a key. An open view of the console sends about 36 requests a minute, and a person
 * may have several open.
 */
const LOGIN_FACTOR = 4;

const A_REQUEST = { requests: 1, tokens: null, streams: null } as const;

/**
 * Enforces rate limits. Accounts survive a change of policy, because they are found by the name of their limit and the subject. Offences
 * are counted only by this process. State: offences.
 */
export class Limiter {
  readonly #now: () => number;
  readonly #accounts: LimitAccounts;
  readonly #counts: LimitCounts;
  readonly #newest: Pick<NewestLimits, 'newer'>;
  /** The limits of a caller depend only on the key, the active policy and a newer policy of another server. */
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
   * @param shared counts of limits that are shared with other servers, and the limits of their newest policy; absent if only this process
   * counts
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
   * Counts a request in all limits that apply, or in none. Returns null if no limit applies.
   * @param address of the caller; any text if no limit counts addresses
   * @returns a promise if the store must be asked; it rejects with the same errors
   * @throws SignalboxError `rate_limit_exceeded`, or `overloaded` if the store failed
   */
  admit(limits: readonly RateLimit[], caller: Caller, address: string): Quota | Promise<Quota> | null {
    const applied = this.#appliedTo(limits, caller);
    return applied.length === 0 ? null : this.#charge(applied, address);
  }

  /**
   * Counts a request that only reads, with a key for reports or with a login. A key counts only in its own limits and in the limits of its
   * user, team and organization, because limits of the policy are for requests that spend. All logins of one person, or with one key, share
   * a separate account, so that a person at the console does not use up the limits of programs with the same key.
   * @param perMinute requests, from the policy's `gateway.reports_per_minute` Returns and throws like `admit`.
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
      // Counting the request keeps its account, because the next account may cause a sweep.
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

  /** Counts an event by address. Returns 0 if the limit allowed it, else the milliseconds until the limit allows the next. */
  count(offence: Offence, address: string, perMinute: number): number {
    const now = this.#now();
    const account = this.#accounts.of(this.#accounts.table(`door ${offence}`), address, now);
    const bucket = bucketOf(account, 'requests', perMinute, now);
    const wait = waitMs(bucket, 1);
    if (wait === 0) take(bucket, 1);
    return wait;
  }

  /** Undoes the count of an event that turned out not to be an offence. */
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
    // All keys of a line have the same team and user.
    const facts = readCaller(caller);
    const applied = [...this.#limitsOf(limits, caller, null, facts)];
    // A child key also counts in the limits of its parents, so that more child keys do not allow more requests.
    for (let above = caller.parent; above; above = above.parent) {
      const shared = this.#limitsOf(limits, above, ABOVE, { ...facts, key: readKey(above) }).filter(
        (limit) => !applied.some((one) => isSame(one, limit)),
      );
      applied.push(...shared);
    }
    return [...applied, ...this.#ofLevels(caller)];
  }

  /** Returns the limits of one key without the limits of its parents. @param own the name of the key's own limit */
  #limitsOf(
    limits: readonly RateLimit[],
    { keyId, limits: figures }: Caller,
    own: CallerLimit['name'],
    scope: LimitScope,
  ) {
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

/** Whether two limits count a request in the same account. */
const isSame = (one: CallerLimit, other: CallerLimit): boolean =>
  one.table === other.table && one.subject === other.subject;
