import { type Awaitable, orElse, whenReady } from '../../core/awaitable.ts';
import type { KeyLimits } from '../../core/people/caller.ts';
import type {
  EndpointLimitName,
  EndpointRoom,
  EndpointRooms,
  EndpointShortage,
  EndpointStay,
  LimitUse,
  RemainingUnits,
} from '../../core/policy/endpoint-room.ts';
import type { EndpointLimits } from '../../core/policy/snapshot.ts';
import { MINUTE_MS } from '../../core/time/clock.ts';
import type { RateUnit } from '../../store/rates.ts';
import { bucketOf, type LimitAccount, LimitAccounts } from './accounts.ts';
import { type Bucket, unitsLeft, waitMs } from './bucket.ts';
import { FIGURES, LIMIT_UNITS, type LimitCounts, LocalCounts } from './counts.ts';
import type { LimitShortage, RequestLimit } from './refusal.ts';
import { ReportedTokens } from './reported-tokens.ts';

/** The name under which servers share the limits of endpoints. No rate limit of callers has this name. */
const TABLE = 'endpoint';
/** When an attempt looks for a concurrent place again, because the end of another request cannot be predicted, ms. */
const PLACE_RETRY_MS = 100;
/** When an attempt tries again after the store failed to count, ms. */
const STORE_RETRY_MS = 1_000;

const NAMES: Readonly<Record<RateUnit, EndpointLimitName>> = {
  requests: 'requests_per_minute',
  tokens: 'tokens_per_minute',
  streams: 'concurrent_requests',
};

/**
 * Counts what is sent to endpoints against the limits in the policy. The counts are found by the name of the endpoint, so that they survive
 * a change of policy. State: endpoint limits.
 */
export class CountedRooms implements EndpointRooms {
  readonly #now: () => number;
  readonly #accounts = new LimitAccounts();
  readonly #reported = new WeakMap<LimitAccount, ReportedTokens>();
  #counts: LimitCounts;

  /** @param clock milliseconds that never decrease */
  constructor(clock: () => number) {
    this.#now = () => Math.floor(clock());
    this.#counts = new LocalCounts(this.#now);
  }

  /** Counts together with other servers from now on. Call `share` before the first request. */
  share(counts: LimitCounts): void {
    this.#counts = counts;
  }

  room(endpoint: string, limits: EndpointLimits): EndpointRoom {
    const account = this.#accounts.of(this.#accounts.table(TABLE), endpoint, this.#now());
    const reported = this.#reported.getOrInsertComputed(account, () => new ReportedTokens());
    return new CountedRoom(account, reported, limits, () => this.#counts, this.#now);
  }
}

class CountedRoom implements EndpointRoom {
  readonly #limit: RequestLimit;
  readonly #reported: ReportedTokens;
  readonly #counts: () => LimitCounts;
  readonly #now: () => number;

  constructor(
    account: LimitAccount,
    reported: ReportedTokens,
    limits: EndpointLimits,
    counts: () => LimitCounts,
    now: () => number,
  ) {
    const { requestsPerMinute, tokensPerMinute, concurrentRequests: concurrentStreams } = limits;
    const figures: KeyLimits = { requestsPerMinute, tokensPerMinute, concurrentStreams };
    const limit = { name: TABLE, level: null, figures, account };
    this.#limit = {
      ...limit,
      get ageMs() {
        return counts().ageOf(limit);
      },
    };
    this.#reported = reported;
    this.#counts = counts;
    this.#now = now;
  }

  load(): number {
    return this.uses().reduce((most, { used }) => Math.max(most, used), 0);
  }

  uses(): LimitUse[] {
    return LIMIT_UNITS.flatMap((unit) => {
      const most = this.#limit.figures[FIGURES[unit]];
      return most === null ? [] : [{ limit: NAMES[unit], most, used: this.#usedShare(unit, most) }];
    });
  }

  hasRoom(tokens: number): boolean {
    const { figures, account } = this.#limit;
    if (figures.concurrentStreams !== null && account.streams >= figures.concurrentStreams) return false;
    const requests = this.#bucket('requests');
    const tokenBucket = this.#bucket('tokens');
    return !(requests && waitMs(requests, 1) > 0) && !(tokenBucket && waitMs(tokenBucket, tokens) > 0);
  }

  begin(tokens: number, requests = 1, places = 1): Awaitable<EndpointStay | EndpointShortage> {
    const limit = this.#limit;
    const streams = Math.min(places, limit.figures.concurrentStreams ?? places);
    // The counts need the buckets of the limits in this policy.
    this.#bucket('requests');
    this.#bucket('tokens');
    limit.account.open++;
    const found = this.#counts().take([limit], { requests, tokens, streams });
    const counted = whenReady(found, (short) =>
      short ? this.#refused(short) : this.#stay({ requests, tokens, streams }),
    );
    return orElse(counted, () => this.#refused({ limit, kind: 'requests', waitMs: STORE_RETRY_MS, units: requests }));
  }

  correct(remaining: RemainingUnits): void {
    const excess = (unit: 'requests' | 'tokens'): number | null => {
      const [bucket, left] = [this.#bucket(unit), remaining[unit]];
      return bucket && left !== undefined && unitsLeft(bucket) > left ? unitsLeft(bucket) - Math.floor(left) : null;
    };
    const [requests, tokens] = [excess('requests'), excess('tokens')];
    if (requests !== null || tokens !== null) this.#counts().add([this.#limit], { requests, tokens, streams: null });
    const { tokensPerMinute } = this.#limit.figures;
    if (remaining.tokens !== undefined && tokensPerMinute !== null)
      this.#reported.report(remaining.tokens, tokensPerMinute, this.#now());
  }

  #stay({ requests, tokens, streams }: Readonly<Record<RateUnit, number>>): EndpointStay {
    const limit = this.#limit;
    const takenAt = this.#now();
    const attempt = this.#reported.begin(tokens, takenAt);
    let isOpen = true;
    const close = (unused: number | null, unusedTokens: number | null) => {
      if (!isOpen) return;
      isOpen = false;
      const returned =
        unusedTokens && this.#reported.returned(attempt, unusedTokens, this.#bucket('tokens'), this.#now());
      this.#counts().add([limit], { requests: unused, tokens: returned && -returned, streams: -streams });
      limit.account.open--;
    };
    return {
      end: (used) => close(null, used === null ? null : tokens - Math.ceil(used)),
      // A request whose unit may have refilled since does not return, because more requests would then pass than the limit allows.
      undo: () => close(this.#now() === takenAt ? -requests : null, tokens),
    };
  }

  #refused({ kind, waitMs }: LimitShortage): EndpointShortage {
    const { account, figures } = this.#limit;
    account.open--;
    const most = figures[FIGURES[kind]] ?? 0;
    return { limit: NAMES[kind], most, waitMs: kind === 'streams' ? PLACE_RETRY_MS : waitMs };
  }

  #usedShare(unit: RateUnit, most: number): number {
    if (unit === 'streams') return Math.min(1, this.#limit.account.streams / most);
    const { left } = this.#bucket(unit)!;
    return Math.min(1, Math.max(0, 1 - left / (most * MINUTE_MS)));
  }

  /** Returns the bucket of a limit, refilled up to now; null if there is no such limit. */
  #bucket(unit: 'requests' | 'tokens'): Bucket | null {
    const { account, figures } = this.#limit;
    const perMinute = figures[FIGURES[unit]];
    return perMinute === null ? null : bucketOf(account, unit, perMinute, this.#now());
  }
}
