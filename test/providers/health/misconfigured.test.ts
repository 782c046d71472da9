import { describe, expect, test } from 'bun:test';
import { model } from '../../routing/build.ts';
import { AUTH, begun, FIRST, FORCED, fail, fakeHealth, REJECTED, SERVER, succeed, UNIX } from './support.ts';

function providerOf() {
  const fake = fakeHealth();
  const [one, other] = ['one', 'other'].map((name) => fake.health.endpoint('p', name, name));
  return { ...fake, one: one!, other: other!, stranger: fake.health.endpoint('q', 'one', 'one') };
}

describe('a key that the provider rejects', () => {
  test('blocks all endpoints of its provider for a minute, forced or not, and no other provider’s', () => {
    const { one, other, stranger, changes, time } = providerOf();
    fail(one, 1, AUTH);
    for (const endpoint of [one, other]) {
      expect(endpoint.state).toBe('misconfigured');
      expect(endpoint.retryAt).toBe(UNIX + 60_000);
      expect(endpoint.begin(FIRST)).toBe('shut');
      expect(endpoint.begin(FORCED)).toBe('shut');
    }
    expect(stranger.state).toBe('healthy');
    expect(changes.map(({ model, to, why, forMs }) => [model, to, why, forMs])).toEqual([
      ['one', 'misconfigured', 'auth 401', 60_000],
      ['other', 'misconfigured', 'auth 401', 60_000],
    ]);
    time.now = 59_999;
    expect(other.begin(FIRST)).toBe('shut');
    time.now = 60_000;
    begun(other);
  });

  test('is tried by one attempt a minute for the whole provider, until one succeeds', () => {
    const { one, other, changes, time } = providerOf();
    fail(one, 1, AUTH);
    for (let minute = 1; minute <= 3; minute++) {
      time.now = minute * 60_000;
      const probe = begun(minute % 2 === 0 ? one : other);
      expect(one.begin(FIRST)).toBe('shut');
      expect(other.begin(FIRST)).toBe('shut');
      probe.failed(AUTH, true);
      expect(one.state).toBe('misconfigured');
    }
    time.now = 240_000;
    begun(one).answered(10);
    for (const endpoint of [one, other]) {
      expect(endpoint.state).toBe('healthy');
      begun(endpoint);
    }
    expect(changes.slice(-2).map(({ from, to }) => [from, to])).toEqual([
      ['misconfigured', 'healthy'],
      ['misconfigured', 'healthy'],
    ]);
  });

  test('is not a fault, and a probe that is rejected makes room for the next', () => {
    const { one, other, time } = providerOf();
    fail(one, 1, AUTH);
    time.now = 60_000;
    fail(one, 1, SERVER);
    fail(other, 1, REJECTED);
    begun(one).dropped();
    begun(one).completed(0, 0, null);
    fail(one, 4);
    expect(one.state).toBe('healthy');
  });

  test('is forgotten after a reload, after which earlier attempts no longer count', () => {
    const { health, one, other, time, changes } = providerOf();
    const early = begun(other);
    fail(one, 1, AUTH);
    time.now = 1_000;
    const before = changes.length;
    health.reloaded({ models: [model('one'), model('other', { firstSlot: 1 })] });
    expect([one.state, other.state]).toEqual(['healthy', 'healthy']);
    early.failed(AUTH, true);
    expect(other.state).toBe('healthy');
    // Whether the key is valid is unknown before an answer.
    expect(changes).toHaveLength(before);
    succeed(one);
    expect(changes.slice(before).map(({ to }) => to)).toEqual(['healthy', 'healthy']);
    begun(other);
    fail(one, 1, AUTH);
    expect(other.state).toBe('misconfigured');
  });

  test('blocks only this endpoint if others work, because the key lacks a permission for it', () => {
    const { one, other, changes, time } = providerOf();
    succeed(other);
    fail(one, 1, AUTH);
    expect(one.state).toBe('misconfigured');
    expect(one.begin(FORCED)).toBe('shut');
    expect(other.state).toBe('healthy');
    succeed(other);
    expect(one.state).toBe('misconfigured');
    expect(changes).toHaveLength(1);
    time.now = 60_000;
    const probe = begun(one);
    expect(one.begin(FIRST)).toBe('shut');
    probe.failed(AUTH, true);
    expect(one.begin(FIRST)).toBe('shut');
    expect(other.state).toBe('healthy');
    time.now = 120_000;
    begun(one).answered(10);
    expect(one.state).toBe('healthy');
  });

  test('blocks the provider if the key has worked before, because it was revoked', () => {
    const { one, other } = providerOf();
    succeed(one);
    succeed(other);
    fail(one, 1, AUTH);
    expect(other.state).toBe('misconfigured');
  });

  test.each([400, 403, 422])(
    'with the status %d affects at most that endpoint, because the caller’s content may be the reason',
    (status) => {
      const { one, other, time, changes } = providerOf();
      const doubtful = { ...AUTH, status };
      fail(one, 1, doubtful);
      expect(one.begin(FORCED)).toBe('shut');
      expect(other.state).toBe('healthy');
      time.now = 60_000;
      succeed(one);
      fail(one, 4, doubtful);
      expect(one.state).toBe('healthy');
      succeed(one);
      fail(one, 5, doubtful);
      expect(one.begin(FORCED)).toBe('shut');
      expect(other.state).toBe('healthy');
      expect(changes.every(({ model }) => model === 'one')).toBe(true);
    },
  );

  test('is logged without the upstream’s message, which may quote the caller', () => {
    const { health, one, changes, time } = providerOf();
    const message = 'words of a prompt';
    fail(one, 1, { kind: 'auth', message, status: 401 });
    health.reloaded({ models: [model('one')] });
    fail(one, 1, { kind: 'rate_limited', message, status: 429 });
    time.now = 10_000;
    fail(one, 5, { kind: 'server', message, status: 500 });
    expect(changes.filter(({ why }) => why !== null)).toHaveLength(4);
    for (const { why } of changes) expect(why ?? '').not.toContain('prompt');
  });

  test('stays rejected for all endpoints if the probe is at an endpoint that never worked', () => {
    const { one, other, time } = providerOf();
    succeed(one);
    fail(one, 1, AUTH);
    time.now = 60_000;
    fail(other, 1, AUTH);
    expect(one.begin(FIRST)).toBe('shut');
  });

  test('is not rejected for an endpoint that the next policy adds', () => {
    const { health, one } = providerOf();
    fail(one, 1, AUTH);
    health.reloaded({ models: [model('new')] });
    expect(health.endpoint('p', 'new', 'new').state).toBe('healthy');
  });
});
