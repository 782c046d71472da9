import { describe, expect, test } from 'bun:test';
import type { ProviderFailure } from '../../../src/contract/parts.ts';
import { model } from '../../routing/build.ts';
import { AUTH, begun, FIRST, FORCED, fail, fakeHealth, REJECTED, SERVER, succeed, UNIX } from './support.ts';

const EMPTY: ProviderFailure = { kind: 'credit', message: 'no balance', status: 429, ofAccount: true };
const BARE: ProviderFailure = { kind: 'credit', message: 'too expensive', status: 402 };

function providerOf() {
  const fake = fakeHealth();
  const [one, other] = ['one', 'other'].map((name) => fake.health.endpoint('p', name, name));
  return { ...fake, one: one!, other: other!, stranger: fake.health.endpoint('q', 'one', 'one') };
}

describe('an account without credit', () => {
  test('pauses every endpoint of the provider for a minute, although they have worked, and no other provider', () => {
    const { one, other, stranger, changes, time } = providerOf();
    succeed(one);
    succeed(other);
    fail(one, 1, EMPTY);
    for (const endpoint of [one, other]) {
      expect(endpoint.state).toBe('out_of_credit');
      expect(endpoint.retryAt).toBe(UNIX + 60_000);
      expect(endpoint.begin(FORCED)).toBe('shut');
    }
    expect(stranger.state).toBe('healthy');
    expect(changes.map(({ model, to, why, forMs }) => [model, to, why, forMs])).toEqual([
      ['one', 'out_of_credit', 'credit 429', 60_000],
      ['other', 'out_of_credit', 'credit 429', 60_000],
    ]);
    time.now = 60_000;
    begun(other);
  });

  test('is probed by one request a minute for the whole provider, until one succeeds', () => {
    const { one, other, time } = providerOf();
    fail(one, 1, EMPTY);
    for (let minute = 1; minute <= 3; minute++) {
      time.now = minute * 60_000;
      const probe = begun(minute % 2 === 0 ? one : other);
      expect([one.begin(FIRST), other.begin(FIRST)]).toEqual(['shut', 'shut']);
      probe.failed(EMPTY, true);
      expect([one.state, other.state]).toEqual(['out_of_credit', 'out_of_credit']);
    }
    time.now = 240_000;
    begun(one).answered(10);
    expect([one.state, other.state]).toEqual(['healthy', 'healthy']);
  });

  test('is not probed again within the minute after a probe that fails otherwise, is slow or is dropped', () => {
    const { one, other, time } = providerOf();
    fail(one, 1, EMPTY);
    for (const end of [SERVER, REJECTED, null, 'slow'] as const) {
      time.now += 60_000;
      const probe = begun(one);
      if (end === null) probe.dropped();
      else if (end !== 'slow') probe.failed(end, true);
      time.now += 59_999;
      expect([one.begin(FIRST), other.begin(FIRST)]).toEqual(['shut', 'shut']);
      time.now -= 59_999;
    }
  });

  test('is forgotten after a reload', () => {
    const { health, one } = providerOf();
    fail(one, 1, EMPTY);
    health.reloaded({ models: [model('one')] });
    begun(one);
  });

  test('whose key is rejected afterwards has the state of the last rejection', () => {
    const { one, time } = providerOf();
    fail(one, 1, EMPTY);
    time.now = 60_000;
    fail(one, 1, AUTH);
    expect(one.state).toBe('misconfigured');
  });

  test('does not make its key invalid: a 401 at one endpoint concerns this endpoint alone', () => {
    const { one, other, time } = providerOf();
    succeed(other);
    fail(other, 1, EMPTY);
    time.now = 60_000;
    succeed(other);
    fail(one, 1, AUTH);
    expect([one.state, other.state]).toEqual(['misconfigured', 'healthy']);
  });

  test('is not assumed after a single 402 without details, which pauses its endpoint alone, or after five in a row if it has worked', () => {
    const { one, other } = providerOf();
    succeed(one);
    fail(one, 4, BARE);
    expect(one.state).toBe('healthy');
    succeed(one);
    fail(one, 5, BARE);
    expect([one.state, other.state]).toEqual(['out_of_credit', 'healthy']);
  });
});
