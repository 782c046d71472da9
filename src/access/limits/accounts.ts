import { type Bucket, fullAfterMs, fullBucket, refill } from './bucket.ts';

/** What one subject has left of one limit. */
export interface LimitAccount {
  /** Null until something is asked of it. */
  requests: Bucket | null;
  tokens: Bucket | null;
  /** Streams that are open. */
  streams: number;
  /** Requests that have come in under it and have not ended. While there are any it is kept. */
  open: number;
}

/** The accounts of one limit, by subject. */
export type AccountTable = Map<string, LimitAccount>;

/** About 200 bytes each, so 7 MB; and a look at all of them takes some 5 ms, once in thousands of new ones. */
const ACCOUNTS_MAX = 32_768;

/**
 * All accounts. However many subjects there are, no more than `most` are kept beside those in use: then those that
 * are full again go, for they say nothing, and in any case the fullest quarter, which loses least.
 */
export class LimitAccounts {
  readonly #tables = new Map<string, AccountTable>();
  readonly #most: number;
  /** How many there may be before the next look. */
  #lookAt: number;
  #count = 0;

  constructor(most = ACCOUNTS_MAX) {
    this.#most = most;
    this.#lookAt = most;
  }

  get size(): number {
    return this.#count;
  }

  /** The accounts of a limit by its name. They stay when the policy changes. */
  table(limit: string): AccountTable {
    const existing = this.#tables.get(limit);
    if (existing) return existing;
    const table: AccountTable = new Map();
    this.#tables.set(limit, table);
    return table;
  }

  /** The account of a subject; a new one is full. */
  of(table: AccountTable, subject: string, now: number): LimitAccount {
    const existing = table.get(subject);
    if (existing) return existing;
    if (this.#count >= this.#lookAt) this.#forget(now);
    const account: LimitAccount = { requests: null, tokens: null, streams: 0, open: 0 };
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
    // Those that are full, and in any case a quarter: the next look is then a while off.
    const until = after.subarray(0, idle).sort()[Math.floor(idle / 4)] ?? 0;
    for (const table of this.#tables.values()) {
      for (const [subject, account] of table) {
        if (account.open > 0 || fullAfter(account, now) > until) continue;
        table.delete(subject);
        this.#count--;
      }
    }
    // Where most are in use it would come with every new one.
    this.#lookAt = Math.max(this.#most, Math.ceil(this.#count * 1.25));
  }
}

/** Milliseconds until all of an account is full, as it stands; 0 or less once it is. */
function fullAfter({ requests, tokens }: LimitAccount, now: number): number {
  const after = (bucket: Bucket | null) => (bucket ? Math.max(0, bucket.at + fullAfterMs(bucket) - now) : 0);
  return Math.max(after(requests), after(tokens));
}

/** One of an account's buckets as it is now, under this limit. */
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
