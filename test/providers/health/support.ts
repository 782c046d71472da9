import type { ProviderFailure } from '../../../src/contract/parts.ts';
import { Health } from '../../../src/providers/health/health.ts';
import type { AttemptReporter, EndpointHealth, HealthChange } from '../../../src/providers/health/types.ts';

export const SERVER: ProviderFailure = { kind: 'server', message: 'HTTP 500', status: 500 };
export const AUTH: ProviderFailure = { kind: 'auth', message: 'bad key', status: 401 };
export const REJECTED: ProviderFailure = { kind: 'rejected', message: 'bad request', status: 400 };
export const limited = (retryAfterMs?: number): ProviderFailure => ({
  kind: 'rate_limited',
  message: 'slow down',
  status: 429,
  ...(retryAfterMs !== undefined && { retryAfterMs }),
});

/** The Unix time in ms at the fake clock's 0. */
export const UNIX = 1_750_000_000_000;

export const FIRST = { retry: false, force: false };
export const RETRY = { retry: true, force: false };
export const FORCED = { retry: false, force: true };

/** Creates health with a fake clock. Ejections last exactly 1, 2, 4 … s unless `random` is given. */
export function fakeHealth(random: () => number = () => 0.5) {
  const changes: HealthChange[] = [];
  const time = { now: 0 };
  const health = new Health({
    clock: () => time.now,
    now: () => UNIX + time.now,
    random,
    onChange: (change) => changes.push(change),
  });
  return { health, time, changes };
}

/** Begins an attempt that must be admitted. */
export function begun(endpoint: EndpointHealth, how = FIRST): AttemptReporter {
  const trial = endpoint.begin(how);
  if (typeof trial === 'string') throw new Error(`expected an attempt, not \`${trial}\``);
  return trial;
}

/** Runs attempts that fail at once. */
export function fail(endpoint: EndpointHealth, times = 1, failure = SERVER): void {
  for (let i = 0; i < times; i++) begun(endpoint).failed(failure, true);
}

export function succeed(endpoint: EndpointHealth, times = 1): void {
  for (let i = 0; i < times; i++) begun(endpoint).completed(0, 0, null);
}
