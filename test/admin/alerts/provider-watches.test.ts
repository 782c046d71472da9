import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { AnswerCounts } from '../../../src/admin/alerts/answer-counts.ts';
import { type ProviderWatches, watchKeys, watchProviders } from '../../../src/admin/alerts/provider-watches.ts';
import type { HealthState } from '../../../src/core/decision/readings.ts';

/** `series`: the times of the last answer and of the first failure after it; absent if they are unknown. */
import { begun, FORCED, fakeHealth, SERVER, UNIX } from '../../providers/health/support.ts';
import { model, price, snapshot } from '../../routing/build.ts';

type Counts = readonly [
  state: HealthState,
  attempts: Readonly<Record<string, number>>,
  series?: readonly [answeredAt: number, failedAt: number, failures: number],
];

const NEVER = [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY, 0] as const;
const sampleOf = ([state, attempts, [answeredAt, failedAt, failures] = NEVER]: Counts) => ({
  ...{ provider: 'p', state, attempts: new Map(Object.entries(attempts)) },
  series: { answeredAt, failedAt, failures },
});

const samples = (...endpoints: readonly Counts[]) => endpoints.map(sampleOf);

/** Returns the state of the provider after checks with these counts, a second apart. */
function seen(...looks: readonly (readonly Counts[])[]) {
  let watches: ProviderWatches = new Map();
  for (const [at, endpoints] of looks.entries()) watches = watchProviders(watches, samples(...endpoints), at * 1_000);
  const { isUp, isUnpaid, downSince, shut, endpoints } = watches.get('p')!;
  return { isUp, isUnpaid, downSince, shut, endpoints };
}

const ENDPOINT = { provider: 'p', upstream: 'u', regions: [], price: price(1, 1) };

describe('a provider', () => {
  test('a provider is neither up nor down before its first attempt', () => {
    expect(seen([['healthy', {}]])).toMatchObject({ isUp: false, downSince: null, shut: 0, endpoints: 1 });
  });

  test('a provider is down from its first failure, once an endpoint is shut or three attempts in a row have failed', () => {
    const good: Counts = ['healthy', { ok: 5 }];
    const failing: Counts = ['healthy', { ok: 5, timeout: 2 }];
    const third: Counts = ['healthy', { ok: 5, timeout: 3 }];
    const shut: Counts = ['ejected', { ok: 5, timeout: 9 }];
    expect(seen([good], [failing])).toMatchObject({ isUp: true, downSince: null });
    expect(seen([good], [failing], [shut])).toMatchObject({ isUp: false, downSince: 1_000, shut: 1 });
    expect(seen([good], [failing], [third])).toMatchObject({ isUp: false, downSince: 1_000, shut: 0 });
    expect(seen([good], [failing], [shut], [shut], [['ejected', { ok: 5, timeout: 11 }]])).toMatchObject({
      downSince: 1_000,
    });
  });

  test('a provider is down from its first failure after its last answer, although a check sees both at once', () => {
    const both: Counts = ['healthy', { ok: 6, timeout: 2 }, [600, 700, 2]];
    const other: Counts = ['healthy', { ok: 3, timeout: 1 }, [650, 900, 1]];
    const failing: Counts = ['ejected', { ok: 6, timeout: 9 }, [600, 700, 9]];
    expect(seen([['healthy', { ok: 5 }]], [both], [failing])).toMatchObject({ downSince: 700 });
    expect(seen([['healthy', { ok: 5 }], other], [both, other], [failing, other])).toMatchObject({ downSince: 700 });
    // The first endpoint failed before the second one answered, and nobody knows when it failed again.
    const late: Counts = ['healthy', { ok: 4, timeout: 1 }, [800, 900, 1]];
    expect(seen([['healthy', { ok: 5 }], other], [both, late], [failing, late])).toMatchObject({ downSince: 900 });
  });

  test('a provider is down although nothing is sent to it after the check that saw its last answer', () => {
    const refused: Counts = ['misconfigured', { ok: 6, auth: 1 }, [600, 700, 1]];
    expect(seen([['healthy', { ok: 5 }]], [refused], [refused])).toMatchObject({ isUp: false, downSince: 700 });
  });

  test('failures that requests cause do not make a provider down', () => {
    expect(seen([['healthy', {}]], [['healthy', { rejected: 9, context: 3 }]])).toMatchObject({ downSince: null });
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

test('a key is refused if one of its endpoints refuses it, and accepted if another one is healthy and none refuses', () => {
  const one = (state: HealthState, key?: string) => ({
    provider: 'p',
    state,
    attempts: new Map(),
    ...(key && { key }),
  });
  const samples = [
    one('misconfigured', 'A'),
    one('healthy', 'A'),
    one('healthy', 'B'),
    one('ejected', 'C'),
    one('ejected'),
  ];
  expect(watchKeys(samples)).toEqual([
    { provider: 'p', key: 'A', state: 'refused', refused: 1, endpoints: 2 },
    { provider: 'p', key: 'B', state: 'accepted', refused: 0, endpoints: 1 },
    { provider: 'p', key: 'C', state: 'unknown', refused: 0, endpoints: 1 },
    { provider: 'p', key: null, state: 'unknown', refused: 0, endpoints: 1 },
  ]);
});

test('counts of answers are exact within a window, with the most frequent error and the model of the slowest; the time of 9 of 10 answers is at most a tenth too high', () => {
  const minute = fc.record({
    at: fc.integer({ min: 0, max: 20 }),
    firstPartMs: fc.option(fc.integer({ min: 1, max: 100_000 })),
    error: fc.constantFrom(...([null, null, null, 'upstream_failed', 'no_healthy_model', 'invalid_value'] as const)),
    model: fc.constantFrom('big', 'small'),
    provider: fc.option(fc.constantFrom('p', 'q')),
  });
  const counted = fc.property(fc.array(minute, { maxLength: 60 }), fc.integer({ min: 5, max: 20 }), (all, minutes) => {
    const counts = new AnswerCounts();
    const ended = all.toSorted((a, b) => a.at - b.at);
    for (const { at, ...request } of ended) counts.add(request, at * 60_000);
    const inWindow = ended.filter(({ at, error }) => at > 20 - minutes && error !== 'invalid_value');
    const times = inWindow.flatMap(({ error, firstPartMs }) =>
      error === null && firstPartMs !== null ? [firstPartMs] : [],
    );
    const { slowMs, slowest, mostFrequent, ...found } = counts.within(minutes * 60_000, 20 * 60_000);
    const failed = inWindow.filter(({ error }) => error !== null);
    expect(found).toEqual({ requests: inWindow.length, errors: failed.length, answers: times.length });
    const kinds = Map.groupBy(failed, ({ error, provider }) => `${error} ${provider}`);
    expect(mostFrequent?.errors ?? 0).toBe(Math.max(0, ...kinds.values().map((all) => all.length)));
    if (mostFrequent)
      expect(kinds.get(`${mostFrequent.code} ${mostFrequent.provider}`)).toHaveLength(mostFrequent.errors);
    const slow = inWindow.filter(
      ({ error, firstPartMs }) => error === null && firstPartMs !== null && firstPartMs > slowMs / 1.1 + 1e-6,
    );
    const ofModels = Map.groupBy(slow, ({ model }): string => model);
    expect(slowest?.of ?? 0).toBe(slow.length);
    expect(slowest?.answers ?? 0).toBe(Math.max(0, ...ofModels.values().map((all) => all.length)));
    if (slowest) expect(ofModels.get(slowest.model)).toHaveLength(slowest.answers);
    const exact = times.toSorted((a, b) => a - b)[Math.ceil(0.9 * times.length - 1e-9) - 1] ?? 0;
    expect(slowMs).toBeGreaterThanOrEqual(exact * (1 - 1e-9));
    expect(slowMs).toBeLessThanOrEqual(exact * 1.1 * (1 + 1e-9));
  });
  fc.assert(counted, { seed: 7, numRuns: 200 });
});

test('a provider is down from its first failed request, wherever the checks fall', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 14_999 }), fc.integer({ min: 1, max: 40 }), (phase, answers) => {
      const { health, time } = fakeHealth();
      health.reloaded(snapshot([model('m', { endpoints: [ENDPOINT] })]));
      const endpoint = health.endpoint('p', 'u', 'm');
      let watches: ProviderWatches = new Map();
      const firstFailure = answers * 1_000;
      for (; time.now < firstFailure + 45_000; time.now += 1_000) {
        const trial = begun(endpoint, FORCED);
        if (time.now < firstFailure) trial.completed(0, 0, null);
        else trial.failed(SERVER, true);
        const isCheck = (time.now + phase) % 15_000 < 1_000;
        if (isCheck) watches = watchProviders(watches, health.samples(), UNIX + time.now);
      }
      expect(watches.get('p')?.downSince).toBe(UNIX + firstFailure);
    }),
    { numRuns: 50 },
  );
});
