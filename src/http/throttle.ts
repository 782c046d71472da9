import type { Limiter, Offence } from '../access/limits/limiter.ts';
import { durationText } from '../access/limits/refusal.ts';
import { SignalboxError } from '../core/errors.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { plural } from '../core/text/text.ts';

/** The limits for requests without a valid key. */
interface ThrottleRules {
  readonly limiter: Pick<Limiter, 'count'>;
  /** Returns the active policy. */
  policy(): Pick<PolicySnapshot, 'gateway'>;
}

/**
 * Counts a request by the address of its caller.
 * @throws SignalboxError `rate_limit_exceeded` if the address has sent too many requests
 */
export function throttle(offence: Offence, address: string, rules: ThrottleRules): void {
  const { failedAuthPerMinute, keylessPerMinute } = rules.policy().gateway;
  const perMinute = offence === 'failed-auth' ? failedAuthPerMinute : keylessPerMinute;
  const retryAfterMs = rules.limiter.count(offence, address, perMinute);
  const what = offence === 'failed-auth' ? 'without a valid API key' : 'without an API key';
  checkWait(offence, `Your address sent more than ${plural(perMinute, 'request')} a minute ${what}`, retryAfterMs);
}

/**
 * Counts a request with an ended key by the first key of its line, whatever its address.
 * @throws SignalboxError like `throttle`
 */
export function throttleLine(root: string, rules: ThrottleRules): void {
  const { failedAuthPerMinute } = rules.policy().gateway;
  const retryAfterMs = rules.limiter.count('failed-auth', root, failedAuthPerMinute);
  const sent = `Ended child keys of one API key sent more than ${plural(failedAuthPerMinute, 'request')} a minute`;
  checkWait('failed-auth', sent, retryAfterMs);
}

/** @throws SignalboxError `rate_limit_exceeded` if the caller must wait */
function checkWait(offence: Offence, sent: string, retryAfterMs: number): void {
  if (retryAfterMs === 0) return;
  const limit = offence === 'failed-auth' ? 'gateway.failed_auth_per_minute' : 'gateway.keyless_per_minute';
  throw new SignalboxError('rate_limit_exceeded', `${sent}. Try again in ${durationText(retryAfterMs)}.`, {
    details: { limit, kind: 'requests' },
    retryAfterMs,
    // The error allows no retry, because a retry cannot make an invalid key valid.
    ...(offence === 'failed-auth' && { retry: false }),
  });
}
