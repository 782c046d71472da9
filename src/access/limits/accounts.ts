import { type Bucket, fullAfterMs, fullBucket, refill } from './bucket.ts';

/** The state that one limit has for one subject. */
export interface LimitAccount {
  readonly table: AccountTable;
  readonly subject: string;
  /** Null until the account first needs it. */
  requests: Bucket | null;
  tokens: Bucket | null;
  streams: number;
  /** The number of admitted requests that have not ended. The account is kept until this number is 0. */
  open: number;
}

/** The accounts of one limit. The keys of the table are the subjects. */
export class AccountTable extends Map<string, LimitAccount> {
  readonly limit: string;

  constructor(limit: string) {
    super();
    this.limit = limit;
  }
}
const newTable = (limit: string): AccountTable => new AccountTable(limit);

/**
 * An account needs about 200 bytes, so the most accounts need 7 MB. A sweep takes about 5 ms and happens once in thousands of new accounts.
 */
const ACCOUNTS_MAX = 32_768;

/**
 * All accounts: at most `most`, plus those in use. A sweep removes full accounts, which contain no information, and in total at least the
 * fullest quarter, so that little is lost. State: rate limits.
 */
export class LimitAccounts {
  readonly #tables = new Map<string, AccountTable>();
  readonly #most: number;
  /** The number of accounts before the next sweep. */
  #lookAt: number;
  #count = 0;

  constructor(most = ACCOUNTS_MAX) {
    this.#most = most;
    this.#lookAt = most;
  }

  get size(): number {
    return this.#count;
  }

  /** Returns the accounts of a limit by its name. The accounts survive a change of policy. */
  table(limit: string): AccountTable {
    return this.#tables.getOrInsertComputed(limit, newTable);
  }

  /**
   * Returns the account of a subject. A new account is full. Remove the full accounts, and at least a quarter of all, so that the next
   * sweep does not follow soon.
   */
  of(table: AccountTable, subject: string, now: number): LimitAccount {
    const existing = table.get(subject);
    if (existing) return existing;
    if (this.#count >= this.#lookAt) this.#forget(now);
    const account: LimitAccount = { table, subject, requests: null, tokens: null, streams: 0, open: 0 };
    table.set(subject, account);
    this.#count++;
    return account;
  }

  #forget(now: number): void {
    const after = new Float64Array(this.#count);
    let idle = 0;
    for (const table of this.#tables.values()) {
      for (const account of table.values()) if (account.open === 0) after[idle++] = fullAfter(account, now);
    }
    // A sweep removes the full accounts, and at least a quarter of all accounts, so that the next sweep does not follow soon.
    const until = after.subarray(0, idle).sort()[Math.floor(idle / 4)] ?? 0;
    for (const table of this.#tables.values()) {
      for (const [subject, account] of table) {
        if (account.open > 0 || fullAfter(account, now) > until) continue;
        table.delete(subject);
        this.#count--;
      }
    }
    // If most accounts are in use, a sweep would otherwise happen for every new account.
    this.#lookAt = Math.max(this.#most, Math.ceil(this.#count * 1.25));
  }
}

/** Milliseconds until the whole account is full; 0 or less if the account is full. */
function fullAfter({ requests, tokens }: LimitAccount, now: number): number {
  const after = (bucket: Bucket | null) => (bucket ? Math.max(0, bucket.at + fullAfterMs(bucket) - now) : 0);
  return Math.max(after(requests), after(tokens));
}

/** Returns a bucket of the account, refilled according to this limit. */
export function bucketOf(account: LimitAccount, kind: 'requests' | 'tokens', perMinute: number, now: number): Bucket {
  const existing = account[kind];
  if (existing) {
    refill(existing, perMinute, now);
    return existing;
  }
  const bucket = fullBucket(perMinute, now);
  account[kind] = bucket;
  return bucket;
}
