import { describe, expect, test } from 'bun:test';
import type { EndpointHealth } from '../../../src/providers/health/types.ts';
import { begun, FIRST, FORCED, fail, fakeHealth, limited, succeed, UNIX } from './support.ts';

function endpointOf(upstream = 'u') {
  const fake = fakeHealth();
  const endpoint: EndpointHealth = fake.health.endpoint('p', upstream, 'm');
  /** Returns the time in ms until the endpoint is available again, and advances the clock to it. */
  const shutFor = () => {
    const ms = endpoint.retryAt - UNIX - fake.time.now;
    fake.time.now += ms - 1;
    expect(endpoint.begin(FIRST)).toBe('shut');
    expect(endpoint.begin(FORCED)).toBe('shut');
    fake.time.now += 1;
    return ms;
  };
  return { ...fake, endpoint, shutFor };
}

describe('after a 429', () => {
  test('an endpoint gets no attempts for as long as the provider requests, forced or not', () => {
    const { endpoint, changes, shutFor } = endpointOf();
    fail(endpoint, 1, limited(7_500));
    expect(endpoint.state).toBe('cooling');
    expect(changes).toEqual([
      {
        provider: 'p',
        model: 'm',
        upstream: 'u',
        from: 'healthy',
        to: 'cooling',
        why: 'rate_limited 429',
        forMs: 7_500,
      },
    ]);
    expect(shutFor()).toBe(7_500);
    expect(endpoint.state).toBe('healthy');
    expect(endpoint.retryAt).toBe(0);
    begun(endpoint);
  });

  test('without a requested wait the pause is 1 s, doubled up to 30 s, until a success', () => {
    const { endpoint, shutFor } = endpointOf();
    for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
      fail(endpoint, 1, limited());
      expect(shutFor()).toBe(seconds * 1_000);
    }
    succeed(endpoint);
    fail(endpoint, 1, limited(0));
    expect(shutFor()).toBe(1_000);
  });

  test('a burst of 429s counts once', () => {
    const { endpoint, shutFor } = endpointOf();
    const burst = Array.from({ length: 50 }, () => begun(endpoint));
    for (const trial of burst) trial.failed(limited(), true);
    expect(shutFor()).toBe(1_000);
  });

  test('the longest of several requested waits counts', () => {
    const { endpoint, shutFor } = endpointOf();
    const [a, b, c] = [begun(endpoint), begun(endpoint), begun(endpoint)];
    a.failed(limited(2_000), true);
    b.failed(limited(9_000), true);
    c.failed(limited(1_000), true);
    expect(shutFor()).toBe(9_000);
  });

  test('an answer to an earlier attempt does not end the pause', () => {
    const { endpoint } = endpointOf();
    const early = begun(endpoint);
    fail(endpoint, 1, limited(5_000));
    early.answered(10);
    early.completed(0, 0, null);
    expect(endpoint.state).toBe('cooling');
  });

  test('the pause is at most an hour', () => {
    const { endpoint, shutFor } = endpointOf();
    fail(endpoint, 1, limited(86_400_000));
    expect(shutFor()).toBe(3_600_000);
  });

  test('a 429 opens no breaker, and other endpoints of the provider keep serving', () => {
    const { health, endpoint, shutFor } = endpointOf();
    for (let i = 0; i < 30; i++) {
      fail(endpoint, 1, limited(10));
      shutFor();
    }
    expect(endpoint.state).toBe('healthy');
    fail(endpoint, 1, limited());
    begun(health.endpoint('p', 'other', 'm'));
  });

  test('a probe that gets a 429 has no result, and the next may probe after the pause', () => {
    const { endpoint, time, shutFor } = endpointOf();
    fail(endpoint, 5);
    time.now += 1_000;
    fail(endpoint, 1, limited(3_000));
    expect(endpoint.state).toBe('cooling');
    expect(shutFor()).toBe(3_000);
    const probe = begun(endpoint);
    expect(endpoint.state).toBe('ejected');
    probe.answered(10);
    expect(endpoint.state).toBe('healthy');
  });

  test('the end of the pause is reported within a second, even without requests', () => {
    const { health, endpoint, changes, time } = endpointOf();
    fail(endpoint, 1, limited(2_500));
    for (time.now = 1_000; time.now <= 2_000; time.now += 1_000) health.publish();
    expect(changes).toHaveLength(1);
    time.now = 3_000;
    health.publish();
    expect(changes.at(-1)).toMatchObject({ from: 'cooling', to: 'healthy', why: null, forMs: null });
  });

  test('the pause takes precedence over an ejection, and is reported', () => {
    const { endpoint, changes, health, time } = endpointOf();
    const late = begun(endpoint);
    fail(endpoint, 5);
    late.failed(limited(400), true);
    expect(endpoint.state).toBe('cooling');
    expect(endpoint.retryAt).toBe(UNIX + 1_000);
    expect(changes.map(({ from, to }) => `${from} → ${to}`)).toEqual(['healthy → ejected', 'ejected → cooling']);
    time.now = 400;
    expect(endpoint.state).toBe('ejected');
    health.publish();
    expect(changes.at(-1)).toMatchObject({ from: 'cooling', to: 'ejected', forMs: 600 });
    expect(changes.at(-1)!.why).toContain('server 500');
  });
});
