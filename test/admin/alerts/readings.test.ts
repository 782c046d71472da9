import { describe, expect, test } from 'bun:test';
import { type ProviderWatches, watchProviders } from '../../../src/admin/alerts/readings.ts';
import type { HealthState } from '../../../src/core/decision/readings.ts';

type Counts = readonly [state: HealthState, attempts: Readonly<Record<string, number>>];

const samples = (...endpoints: readonly Counts[]) =>
  endpoints.map(([state, attempts]) => ({ provider: 'p', state, attempts: new Map(Object.entries(attempts)) }));

/** Returns the state of the provider after checks with these counts, a second apart. */
function seen(...looks: readonly (readonly Counts[])[]) {
  let watches: ProviderWatches = new Map();
  for (const [at, endpoints] of looks.entries()) watches = watchProviders(watches, samples(...endpoints), at * 1_000);
  const { isUp, isUnpaid, downSince, shut, endpoints } = watches.get('p')!;
  return { isUp, isUnpaid, downSince, shut, endpoints };
}

describe('a provider', () => {
  test('a provider is neither up nor down before its first attempt', () => {
    expect(seen([['healthy', {}]])).toMatchObject({ isUp: false, downSince: null, shut: 0, endpoints: 1 });
  });

  test('a provider is down from the check at which all attempts had failed and an endpoint was shut', () => {
    const good: Counts = ['healthy', { ok: 5 }];
    const failing: Counts = ['healthy', { ok: 5, timeout: 3 }];
    const shut: Counts = ['ejected', { ok: 5, timeout: 9 }];
    expect(seen([good], [failing])).toMatchObject({ isUp: true, downSince: null });
    expect(seen([good], [failing], [shut])).toMatchObject({ isUp: false, downSince: 2_000, shut: 1 });
    expect(seen([good], [failing], [shut], [shut], [['ejected', { ok: 5, timeout: 11 }]])).toMatchObject({
      downSince: 2_000,
    });
  });

  test('a provider that refuses the key is down; a provider that asks for fewer requests is not', () => {
    expect(seen([['healthy', {}]], [['misconfigured', { auth: 1 }]])).toMatchObject({ downSince: 1_000 });
    expect(seen([['healthy', {}]], [['cooling', { rate_limited: 4 }]])).toMatchObject({ downSince: null });
  });

  test('a provider counts as out of credit only if all its endpoints are', () => {
    const unpaid: Counts = ['out_of_credit', { credit: 1 }];
    expect(seen([['healthy', {}]], [unpaid, unpaid])).toMatchObject({ downSince: 1_000, isUnpaid: true, shut: 2 });
    expect(seen([['healthy', {}]], [unpaid, ['healthy', {}]])).toMatchObject({ isUnpaid: false, shut: 1 });
  });

  test('a provider is up again after the first answer of any endpoint, even if another endpoint is still shut', () => {
    const before = [
      ['ejected', { ok: 1, timeout: 9 }],
      ['healthy', { ok: 4 }],
    ] as const;
    const after = [
      ['ejected', { ok: 1, timeout: 10 }],
      ['healthy', { ok: 5 }],
    ] as const;
    expect(
      seen(
        [...before],
        [
          ['ejected', { ok: 1, timeout: 10 }],
          ['healthy', { ok: 4 }],
        ],
        [...after],
      ),
    ).toMatchObject({
      ...{ isUp: true, downSince: null, shut: 1, endpoints: 2 },
    });
  });

  test('the state of a provider does not change without requests, or when callers disconnect', () => {
    const shut: Counts = ['ejected', { ok: 5, timeout: 9 }];
    expect(
      seen([['healthy', { ok: 5 }]], [shut], [shut], [['ejected', { ok: 5, timeout: 9, dropped: 3 }]]),
    ).toMatchObject({
      ...{ isUp: false, downSince: 1_000 },
    });
    expect(seen([['healthy', { ok: 5 }]], [['ejected', { ok: 5 }]])).toMatchObject({ isUp: true, downSince: null });
  });
});
