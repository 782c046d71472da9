import { describe, expect, test } from 'bun:test';
import { HEALTH, priorReadings } from '../../../src/core/decision/readings.ts';
import { PRIOR_ANSWERS } from '../../../src/providers/health/endpoint-speed.ts';
import { BUCKET, HALF_LIFE_MS } from '../../../src/providers/health/quantile.ts';
import { model, price, snapshot } from '../../routing/build.ts';
import { AUTH, begun, FIRST, fail, fakeHealth, limited, RETRY, SERVER, UNIX } from './support.ts';

const at = (provider: string, upstream: string) => ({ provider, upstream, regions: [], price: price(1, 1) });
const MODELS = snapshot([
  model('a', {
    endpoints: [at('p', 'a1'), at('q', 'a2')],
    latency: { ttftMs: 400, outputTokensPerSecond: 80 },
  }),
  model('b', { endpoints: [at('p', 'b1')], latency: { ttftMs: 900, outputTokensPerSecond: 30 } }),
]);

function watched() {
  const fake = fakeHealth();
  const readings = fake.health.watch(MODELS);
  const slots = [
    fake.health.endpoint('p', 'a1', 'a'),
    fake.health.endpoint('q', 'a2', 'a'),
    fake.health.endpoint('p', 'b1', 'b'),
  ] as const;
  /** Simulates streams with these figures. */
  const stream = (slot: 0 | 1 | 2, ttftMs: number, tokensPerSecond: number, times = 1) => {
    for (let i = 0; i < times; i++) {
      const trial = begun(slots[slot]);
      trial.answered(ttftMs);
      trial.completed(100, 100_000 / tokensPerSecond, null);
    }
  };
  const publish = () => {
    fake.time.now += 1_000;
    fake.health.publish();
    return readings();
  };
  return { ...fake, readings, slots, stream, publish };
}

/** Expects a value within one bucket on either side. */
function expectNear(value: number, wanted: number, factor = BUCKET): void {
  expect(value).toBeGreaterThan(wanted / factor);
  expect(value).toBeLessThan(wanted * factor);
}

describe('the readings of a snapshot', () => {
  test('have the catalog’s figures by slot until the first measurement, and stay the same object', () => {
    const { readings, publish } = watched();
    expect(readings()).toEqual(priorReadings(MODELS));
    expect([...readings().ttftMs]).toEqual([400, 400, 900]);
    expect([...readings().tokensPerSecond]).toEqual([80, 80, 30]);
    expect(readings().number).toBe(0);
    const first = readings();
    expect(publish()).toBe(first);
  });

  test('show measurements from the next second on, only for their endpoint', () => {
    const { readings, stream, publish } = watched();
    const before = readings();
    stream(1, 2_000, 10, 1_000);
    expect(readings()).toBe(before);
    const after = publish();
    expect(after.number).toBe(1);
    expectNear(after.ttftMs[1]!, 2_000, BUCKET * 1.02);
    expectNear(after.tokensPerSecond[1]!, 10, BUCKET * 1.02);
    expect([after.ttftMs[0], after.ttftMs[2]]).toEqual([400, 900]);
    expect(publish()).toBe(after);
    expect([...before.ttftMs]).toEqual([400, 400, 900]);
  });

  test('wait longer for figures if there are more endpoints, but not for changes of state', () => {
    const many = snapshot(Array.from({ length: 300 }, (_, i) => model(`m${i}`, { endpoints: [at('p', `${i}`)] })));
    const { health, time } = fakeHealth();
    const readings = health.watch(many);
    const first = health.endpoint('p', '0', 'm0');
    const numbers = new Set<number>();
    for (let second = 0; second < 120; second++) {
      const trial = begun(first);
      trial.answered(100 + second);
      trial.completed(100, 1_000, null);
      time.now += 1_000;
      health.publish();
      numbers.add(readings().number);
    }
    expect(numbers.size).toBe(10);
    fail(first, 1, AUTH);
    expect(numbers.has(readings().number)).toBe(false);
  });

  test('weigh measurements against the catalog, which counts as 3 answers', () => {
    const { stream, publish } = watched();
    stream(0, 1_600, 80, PRIOR_ANSWERS.stated);
    expectNear(publish().ttftMs[0]!, Math.sqrt(400 * 1_600));
    stream(0, 1_600, 80, 9);
    expectNear(publish().ttftMs[0]!, 400 * 4 ** (12 / 15));
  });

  test('forgets old measurements', () => {
    const { stream, publish, time, readings } = watched();
    stream(0, 40_000, 1, 40);
    publish();
    time.now += 5 * HALF_LIFE_MS;
    expectNear(publish().ttftMs[0]!, 400 * 100 ** (1.25 / 4.25), BUCKET);
    time.now += 20 * HALF_LIFE_MS;
    expect(publish().ttftMs[0]).toBe(400);
    const settled = readings();
    expect(publish()).toBe(settled);
  });

  test('follow a provider’s slowdown within a few minutes', () => {
    const { stream, publish } = watched();
    for (let second = 0; second < 600; second++) {
      stream(0, 400, 80);
      publish();
    }
    for (let second = 0; second < 600; second++) {
      stream(0, 4_000, 8);
      publish();
    }
    expectNear(publish().ttftMs[0]!, 4_000, 1.2);
    expectNear(publish().tokensPerSecond[0]!, 8, 1.2);
  });

  test('show a change of state at once, and when the endpoint may be tried again', () => {
    const { readings, slots } = watched();
    fail(slots[0], 5);
    expect(readings()).toMatchObject({ number: 1, allHealthy: false });
    expect([...readings().health]).toEqual([HEALTH.ejected, HEALTH.healthy, HEALTH.healthy]);
    expect([...readings().retryAt]).toEqual([UNIX + 1_000, 0, 0]);
    fail(slots[1], 1, limited(7_000));
    expect([...readings().health]).toEqual([HEALTH.ejected, HEALTH.cooling, HEALTH.healthy]);
    fail(slots[2], 1, AUTH);
    expect([...readings().health]).toEqual([HEALTH.misconfigured, HEALTH.cooling, HEALTH.misconfigured]);
    expect([...readings().retryAt]).toEqual([UNIX + 60_000, UNIX + 7_000, UNIX + 60_000]);
  });

  test('expire at the end of a pause, without a timer', () => {
    const { readings, slots, time } = watched();
    fail(slots[0], 5);
    fail(slots[1], 1, limited(2_500));
    const both = readings();
    time.now = 999;
    expect(readings()).toBe(both);
    time.now = 1_000;
    expect([...readings().health]).toEqual([HEALTH.healthy, HEALTH.cooling, HEALTH.healthy]);
    time.now = 2_500;
    expect(readings().allHealthy).toBe(true);
    const last = readings();
    time.now = 1e9;
    expect(readings()).toBe(last);
  });

  test('block other attempts during a probe', () => {
    const { readings, slots, time } = watched();
    fail(slots[0], 5);
    time.now = 1_000;
    expect(readings().allHealthy).toBe(true);
    const probe = begun(slots[0]);
    expect(readings().health[0]).toBe(HEALTH.ejected);
    probe.dropped();
    expect(readings().allHealthy).toBe(true);
    const next = begun(slots[0]);
    expect(readings().health[0]).toBe(HEALTH.ejected);
    next.answered(300);
    expect(readings().allHealthy).toBe(true);
  });

  test('belong to one policy; measurements are shared, and survive reloads', () => {
    const { health, stream, slots, publish } = watched();
    stream(2, 9_000, 30, 100);
    fail(slots[0], 5);
    publish();
    const next = snapshot([
      model('a', { endpoints: [at('q', 'a2'), at('p', 'a1')] }),
      model('b', { endpoints: [at('p', 'b1')], latency: { ttftMs: 9_000, outputTokensPerSecond: 30 } }),
    ]);
    const readings = health.watch(next);
    health.reloaded(next);
    fail(slots[1], 1, limited(50_000));
    expect([...readings().health]).toEqual([HEALTH.cooling, HEALTH.healthy, HEALTH.healthy]);
    expectNear(readings().ttftMs[2]!, 9_000);
    expect(readings().ttftMs[0]).toBe(500);
  });
});

describe('the time to the first token if the prompt is in the provider’s cache', () => {
  const DECLARED = snapshot([
    model('a', { latency: { ttftMs: 400, outputTokensPerSecond: 80, warmTtftMs: 100 } }),
    model('b', { latency: { ttftMs: 400, outputTokensPerSecond: 80 } }),
  ]);
  function seen() {
    const fake = fakeHealth();
    const readings = fake.health.watch(DECLARED);
    const stream = (id: 'a' | 'b', ttftMs: number, isWarm: boolean, times = 1_000) => {
      for (let i = 0; i < times; i++) {
        const trial = begun(fake.health.endpoint('p', id, id));
        trial.answered(ttftMs);
        trial.completed(0, 0, null, isWarm);
      }
    };
    const publish = () => {
      fake.time.now += 1_000;
      fake.health.publish();
      return readings();
    };
    return { ...fake, stream, publish };
  }

  test('is learned separately from the usual time', () => {
    const { stream, publish } = seen();
    stream('a', 50, true);
    stream('b', 200, true);
    const { ttftMs, warmTtftMs } = publish();
    expect([...ttftMs]).toEqual([400, 400]);
    expectNear(warmTtftMs[0]!, 50, BUCKET * 1.02);
    expectNear(warmTtftMs[1]!, 200, BUCKET * 1.02);
  });

  test('is the usual time unless another is declared or measured', () => {
    const { stream, publish } = seen();
    stream('a', 2_000, false);
    stream('b', 2_000, false);
    const { ttftMs, warmTtftMs } = publish();
    expect(warmTtftMs[0]).toBe(100);
    expect(warmTtftMs[1]).toBe(ttftMs[1]!);
  });

  test('is learned if it is declared as 0', () => {
    const declared = snapshot([model('a', { latency: { ttftMs: 500, warmTtftMs: 0, outputTokensPerSecond: 50 } })]);
    const { health, time } = fakeHealth();
    const readings = health.watch(declared);
    const endpoint = health.endpoint('p', 'a', 'a');
    for (let i = 0; i < 1_000; i++) {
      const trial = begun(endpoint);
      trial.answered(200);
      trial.completed(100, 1_000, null, true);
    }
    expect(readings().warmTtftMs[0]).toBe(0);
    time.now += 1_000;
    health.publish();
    expectNear(readings().warmTtftMs[0]!, 200, BUCKET * 1.03);
  });

  test('is weighed against the declared time, and never exceeds the usual time', () => {
    const { stream, publish } = seen();
    stream('a', 400, true, PRIOR_ANSWERS.stated);
    expectNear(publish().warmTtftMs[0]!, Math.sqrt(100 * 400));
    stream('a', 4_000, true);
    const { ttftMs, warmTtftMs } = publish();
    expect(warmTtftMs[0]).toBe(ttftMs[0]!);
  });

  test('is not learned from incomplete answers, which do not report cached tokens', () => {
    const { health, publish } = seen();
    for (let i = 0; i < 1_000; i++) {
      const trial = begun(health.endpoint('p', 'b', 'b'));
      trial.answered(200);
      trial.dropped();
    }
    const { ttftMs, warmTtftMs } = publish();
    expectNear(ttftMs[1]!, 200, BUCKET * 1.02);
    expect(warmTtftMs[1]).toBe(ttftMs[1]!);
  });
});

describe('learning', () => {
  test('ignores absurd figures', () => {
    const { slots, publish, readings } = watched();
    const first = readings();
    const absurd = [0, -1, -1e9, Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const ttftMs of [...absurd, 1e15]) {
      const trial = begun(slots[0]);
      trial.answered(ttftMs);
      trial.dropped();
    }
    const outputs = [
      ...absurd.flatMap((odd) => [
        [odd, 1_000, null],
        [100, odd, null],
        [100, 0, odd],
      ]),
      [1e12, 1_000, null],
      [100, 1e15, null],
    ] as const;
    for (const [tokens, outputMs, totalMs] of outputs) {
      begun(slots[0]).completed(tokens!, outputMs!, totalMs!);
    }
    expect(publish()).toBe(first);
  });

  test('uses no rate from fewer than 16 tokens or less than 50 ms', () => {
    const { slots, publish } = watched();
    for (let i = 0; i < 100; i++) {
      begun(slots[0]).completed(15, 10_000, null);
      begun(slots[0]).completed(16, 49, null);
    }
    expect(publish().tokensPerSecond[0]).toBe(80);
    for (let i = 0; i < 1_000; i++) begun(slots[0]).completed(16, 50, null);
    expectNear(publish().tokensPerSecond[0]!, 320, BUCKET * 1.02);
  });

  test('also uses the rate of an unstreamed answer, after the time to the first token', () => {
    const { slots, publish } = watched();
    for (let i = 0; i < 1_000; i++) {
      const trial = begun(slots[0]);
      trial.answered(null);
      trial.completed(200, 0, 400 + 10_000);
    }
    const readings = publish();
    expectNear(readings.tokensPerSecond[0]!, 20, BUCKET * 1.02);
    expect(readings.ttftMs[0]).toBe(400);
  });

  test('uses the time to the first token of an unstreamed answer if the first token may have taken most of the time', () => {
    const { slots, publish } = watched();
    const tiny = [4, 700, 650] as const;
    const long = [200, 700, 350] as const;
    for (const [slot, [tokens, totalMs, ttftMs]] of [tiny, long].entries()) {
      for (let i = 0; i < 1_000; i++) begun(slots[slot as 0 | 1]).completed(tokens, 0, totalMs);
      const readings = publish();
      expect(readings.tokensPerSecond[slot]).toBe(80);
      expectNear(readings.ttftMs[slot]!, ttftMs, BUCKET * 1.02);
    }
  });

  test('uses the time to the first token of a slow unstreamed answer of few tokens', () => {
    const { slots, publish } = watched();
    for (let i = 0; i < 1_000; i++) begun(slots[0]).completed(2, 0, 10_025);
    expectNear(publish().ttftMs[0]!, 10_000, BUCKET * 1.02);
  });

  test('counts the answers whose speed was measured, until they are forgotten', () => {
    const { slots, stream, publish, time } = watched();
    const [, second] = slots;
    expect(second.measuredAnswers).toBe(0);
    stream(1, 200, 50, 2);
    begun(second).completed(100, 0, 10_000);
    begun(second).dropped();
    begun(second).failed({ kind: 'server', message: 'x' }, true);
    expect(second.measuredAnswers).toBe(3);
    publish();
    expect(second.measuredAnswers).toBe(3);
    time.now += 3 * 3_600_000;
    publish();
    expect(second.measuredAnswers).toBe(0);
  });

  test('uses only the time to the first content from attempts that fail or are dropped', () => {
    const { slots, publish } = watched();
    for (let i = 0; i < 4; i++) {
      const trial = begun(slots[0]);
      trial.answered(1);
      if (i % 2 === 0) trial.dropped();
      else trial.failed({ kind: 'cut', message: 'broke off' }, true);
      trial.completed(1_000, 1_000, null);
    }
    const readings = publish();
    expect(readings.ttftMs[0]).toBeLessThan(200);
    expect(readings.tokensPerSecond[0]).toBe(80);
  });
});

describe('memory', () => {
  test('the same names are the same object across reloads, and are forgotten if no policy names them for a long time', () => {
    const { health, slots, time, publish } = watched();
    const without = snapshot([model('b', { endpoints: [at('p', 'b1')] })]);
    fail(slots[0], 5);
    health.reloaded(without);
    for (let minute = 0; minute < 14; minute++) {
      time.now += 60_000;
      publish();
    }
    expect(health.endpoint('p', 'a1', 'a')).toBe(slots[0]);
    for (let minute = 0; minute < 16; minute++) {
      time.now += 60_000;
      publish();
    }
    expect(health.endpoint('p', 'a1', 'a')).not.toBe(slots[0]);
    expect(health.endpoint('p', 'b1', 'b')).toBe(slots[2]);
    expect(typeof slots[0].begin(FIRST)).toBe('object');
  });

  test('a policy that is about to become active keeps its endpoints', () => {
    const { health, slots, time, publish } = watched();
    health.reloaded(snapshot([model('z')]));
    time.now += 899_000;
    health.watch(MODELS);
    publish();
    publish();
    health.reloaded(MODELS);
    expect(health.endpoint('p', 'a1', 'a')).toBe(slots[0]);
  });

  test('only endpoints of the active policy are shown, never those of a rejected policy', () => {
    const { health } = watched();
    const shown = () => [...health.samples()].map(({ provider, model }) => `${provider}/${model}`).sort();
    expect(shown()).toEqual(['p/a', 'p/b', 'q/a']);
    health.watch(snapshot([model('refused')]));
    expect(shown()).toEqual(['p/a', 'p/b', 'q/a']);
    health.reloaded(snapshot([model('b', { endpoints: [at('p', 'b1')] })]));
    expect(shown()).toEqual(['p/b']);
  });

  test('the health does not grow with policies: endpoints that no policy names for a quarter of an hour are removed', () => {
    const { health, publish, time } = watched();
    const find = (i: number) => health.endpoint(`p${i}`, 'u', `m${i}`);
    const found = Array.from({ length: 50 }, (_, i) => {
      const next = snapshot([model(`m${i}`, { endpoints: [at(`p${i}`, 'u')] })]);
      health.watch(next);
      health.reloaded(next);
      // The provider's retry budget is also forgotten.
      for (let retry = 0; retry < 3; retry++) begun(find(i), RETRY).failed(SERVER, true);
      for (let minute = 0; minute < 5; minute++) {
        time.now += 60_000;
        publish();
      }
      return find(i);
    });
    const kept = found.flatMap((endpoint, i) => (find(i) === endpoint ? [i] : []));
    expect(kept.length).toBeLessThanOrEqual(4);
    expect(kept).toContain(49);
    expect(find(0).begin(RETRY)).not.toBe('no-budget');
    expect(find(49).begin(RETRY)).toBe('no-budget');
  });
});
