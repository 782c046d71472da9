import { SignalboxError } from '../../core/errors.ts';
import type { CallerLevel, KeyLimits } from '../../core/people/caller.ts';
import { levelName } from '../../core/people/holder.ts';
import type { Reading } from '../../core/reading.ts';
import { plural } from '../../core/text/text.ts';
import type { LimitAccount } from './accounts.ts';
import { type Bucket, fullAfterMs, unitsLeft } from './bucket.ts';

/** A limit that applies to a request, with the limit's account on this instance. Each instance has its own account for the limit. */
export interface RequestLimit extends Reading {
  /** The name of the limit; null for the limits of the key itself, and of its user, team or organization. */
  readonly name: string | null;
  /** The user, team or organization whose limit this is; null for the key's own limit, and for a limit of the policy. */
  readonly level: CallerLevel | null;
  readonly figures: KeyLimits;
  readonly account: LimitAccount;
}

/** The limit that stops a request. */
export interface LimitShortage {
  readonly limit: RequestLimit;
  readonly kind: 'requests' | 'tokens' | 'streams';
  /** Milliseconds until a retry makes sense. */
  readonly waitMs: number;
  /** The units that the request needs. */
  readonly units: number;
}

/** The name in `details.limit` for the limits of a key itself, and of a key above it. */
const OWN = 'api-key';
export const ABOVE = 'parent-key';

/** The error of a request that a limit stops. */
export function limitError(shortage: LimitShortage, limits: readonly RequestLimit[]): SignalboxError {
  const { limit, kind, waitMs, units } = shortage;
  const { figures } = limit;
  const [allows, then] = {
    requests: [`${plural(figures.requestsPerMinute ?? 0, 'request')} a minute`, ''],
    tokens: [
      `${plural(figures.tokensPerMinute ?? 0, 'token')} a minute`,
      `, and this request needs about ${units}, more than are left`,
    ],
    streams: [
      `${plural(figures.concurrentStreams ?? 0, 'stream')} at the same time`,
      figures.concurrentStreams === 1 ? ', and it is in use' : ', and all of them are in use',
    ],
  }[kind];
  const message = `${ownerOf(limit)} allows ${allows}${then}. Try again in ${durationText(waitMs)}.`;
  return new SignalboxError('rate_limit_exceeded', message, {
    details: { limit: limit.name ?? limit.level?.kind ?? OWN, kind },
    retryAfterMs: waitMs,
    headers: limitHeaders(limits),
  });
}

function ownerOf({ name, level }: RequestLimit): string {
  if (name === ABOVE) return 'The rate limit of a parent of this API key';
  if (name !== null) return `The rate limit \`${name}\``;
  return `The rate limit of ${level ? levelName(level) : 'this API key'}`;
}

/** The `x-ratelimit-…` headers in the format of OpenAI. Each kind shows the limit with the least left. Refill the buckets first. */
export function limitHeaders(limits: readonly RequestLimit[]): Record<string, string> {
  const headers: Record<string, string> = {};
  addHeaders(headers, NAMES.requests, leastLeft(limits, 'requests'));
  addHeaders(headers, NAMES.tokens, leastLeft(limits, 'tokens'));
  return headers;
}

const namesOf = (kind: 'requests' | 'tokens') => ({
  limit: `x-ratelimit-limit-${kind}`,
  remaining: `x-ratelimit-remaining-${kind}`,
  reset: `x-ratelimit-reset-${kind}`,
});

const NAMES = { requests: namesOf('requests'), tokens: namesOf('tokens') };

function addHeaders(headers: Record<string, string>, names: ReturnType<typeof namesOf>, least: Bucket | null): void {
  if (!least) return;
  headers[names.limit] = String(least.perMinute);
  headers[names.remaining] = String(unitsLeft(least));
  headers[names.reset] = durationText(fullAfterMs(least));
}

/** All headers that `limitHeaders` can return. */
export const LIMIT_HEADERS: readonly string[] = [...Object.values(NAMES.requests), ...Object.values(NAMES.tokens)];

function leastLeft(limits: readonly RequestLimit[], kind: 'requests' | 'tokens'): Bucket | null {
  let least: Bucket | null = null;
  for (const { account, figures } of limits) {
    const bucket =
      figures[kind === 'requests' ? 'requestsPerMinute' : 'tokensPerMinute'] === null ? null : account[kind];
    if (bucket && (least === null || bucket.left < least.left)) least = bucket;
  }
  return least;
}

const SECOND_MS = 1_000;

/** Writes whole milliseconds like Go and OpenAI: `12ms`, `1.5s`, `6m0s`, `1h2m3s`. */
export function durationText(ms: number): string {
  if (ms < SECOND_MS) return `${ms}ms`;
  const seconds = Math.floor(ms / SECOND_MS);
  const rest = ms % SECOND_MS;
  const fraction = rest === 0 ? '' : `.${String(rest).padStart(3, '0').replace(/0+$/, '')}`;
  const minutes = Math.floor(seconds / 60);
  const tail = `${seconds % 60}${fraction}s`;
  if (minutes === 0) return tail;
  return minutes < 60 ? `${minutes}m${tail}` : `${Math.floor(minutes / 60)}h${minutes % 60}m${tail}`;
}
