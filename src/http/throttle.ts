import type { Limiter, Offence } from '../access/limits/limiter.ts';
import { durationText } from '../access/limits/refusal.ts';
import { SignalboxError } from '../core/errors.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';

/** The limits on requests that lack a key. */
interface ThrottleRules {
  readonly limiter: Pick<Limiter, 'count'>;
  /** The policy in force. */
  policy(): Pick<PolicySnapshot, 'gateway'>;
}

/** Counts a request by the address of its caller. Throws SignalboxError `rate_limit_exceeded` when there were too many. */
export function throttle(offence: Offence, address: string, rules: ThrottleRules): void {
  const { failedAuthPerMinute, keylessPerMinute } = rules.policy().gateway;
  const perMinute = offence === 'failed-auth' ? failedAuthPerMinute : keylessPerMinute;
  const retryAfterMs = rules.limiter.count(offence, address, perMinute);
  const what = offence === 'failed-auth' ? 'without a valid API key' : 'without an API key';
  checkWait(offence, `Your address sent more than ${perMinute} requests a minute ${what}`, retryAfterMs);
}

/** Counts a request with an ended key by the first key of its line, wherever it came from. Throws as `throttle` does. */
export function throttleLine(root: string, rules: ThrottleRules): void {
  const { failedAuthPerMinute } = rules.policy().gateway;
  const retryAfterMs = rules.limiter.count('failed-auth', root, failedAuthPerMinute);
  const sent = `Child keys of one API key that have ended sent more than ${failedAuthPerMinute} requests a minute`;
  checkWait('failed-auth', sent, retryAfterMs);
}

/** @throws SignalboxError `rate_limit_exceeded`, unless there is nothing to wait for */
function checkWait(offence: Offence, sent: string, retryAfterMs: number): void {
  if (retryAfterMs === 0) return;
  const limit = offence === 'failed-auth' ? 'gateway.failed_auth_per_minute' : 'gateway.keyless_per_minute';
  throw new SignalboxError('rate_limit_exceeded', `${sent}; try again in ${durationText(retryAfterMs)}.`, {
    ...{ details: { limit, kind: 'requests' }, retryAfterMs },
    // A bad key will not become a good one.
    ...(offence === 'failed-auth' && { retry: false }),
  });
}
