import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { AttemptReporter } from '../../../src/providers/health/types.ts';
import { tries } from '../../deep/effort.ts';
import { model, price, snapshot } from '../../routing/build.ts';
import { type Bug, type NaiveAttempt, NaiveBreaker } from './naive-breaker.ts';
import { begun, FIRST, FORCED, fail, fakeHealth, REJECTED, SERVER, succeed } from './support.ts';

const { numRuns, seed } = tries('a circuit breaker keeps its promises in any history', 200, 20_000);

/** A breaker that scripts control. */
interface Subject {
  begin(force: boolean): Attempt | 'shut';
  isShut(): boolean;
  wait(ms: number): void;
}

interface Attempt {
  answered(): void;
  completed(): void;
  failed(): void;
  dropped(): void;
}

function real(): Subject {
  const { health, time } = fakeHealth();
  const endpoint = health.endpoint('p', 'u', 'm');
  return {
    begin(force) {
      const trial = endpoint.begin({ retry: false, force });
      if (trial === 'shut') return trial;
      if (trial === 'no-budget') throw new Error('a first attempt needs no budget');
      return attemptOf(trial);
    },
    isShut: () => endpoint.state === 'ejected',
    wait(ms) {
      time.now += ms;
    },
  };
}

const attemptOf = (trial: AttemptReporter): Attempt => ({
  answered: () => trial.answered(null),
  completed: () => trial.completed(0, 0, null),
  failed: () => trial.failed(SERVER, true),
  dropped: () => trial.dropped(),
});

function naive(bug: Bug | null = null): Subject {
  const breaker = new NaiveBreaker(bug);
  let now = 0;
  const attemptOf = (one: NaiveAttempt): Attempt => ({
    answered: () => breaker.answered(one, now),
    completed: () => breaker.completed(one, now),
    failed: () => breaker.failed(one, now),
    dropped: () => breaker.dropped(one),
  });
  return {
    begin(force) {
      const attempt = breaker.begin(force, now);
      return attempt === 'shut' ? attempt : attemptOf(attempt);
    },
    isShut: () => breaker.isShut(now),
    wait(ms) {
      now += ms;
    },
  };
}

const ENDS = ['completed', 'failed', 'dropped'] as const;
const waits = fc.oneof(
  fc.constantFrom(0, 1, 500, 999, 1_000, 2_000, 4_000, 8_000, 16_000, 29_999, 30_000, 60_000),
  fc.integer({ min: 0, max: 40_000 }),
);
/** Actions of callers and upstreams; `which` selects one of the running attempts. */
const steps = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: waits }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('begin' as const), force: fc.boolean() }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('end' as const),
      which: fc.nat({ max: 20 }),
      how: fc.constantFrom('answered' as const, ...ENDS),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('burst' as const),
      times: fc.integer({ min: 1, max: 25 }),
      how: fc.constantFrom('completed' as const, 'failed' as const, 'mixed' as const),
    }),
  },
  // The end of an ejection, and the result of the probe.
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('probe' as const), how: fc.constantFrom('answered' as const, ...ENDS) }),
  },
);
const scripts = fc.array(steps, { minLength: 1, maxLength: 60, size: 'max' });
type Script = typeof scripts extends fc.Arbitrary<infer Value> ? Value : never;

/** Returns the breaker's observable behaviour while the script runs. */
function seen(subject: Subject, script: Script): string[] {
  const log: string[] = [];
  let open: Attempt[] = [];
  const begin = (force: boolean): Attempt | null => {
    const attempt = subject.begin(force);
    log.push(attempt === 'shut' ? 'shut' : 'begun');
    return attempt === 'shut' ? null : attempt;
  };
  for (const step of script) {
    switch (step.do) {
      case 'wait':
        subject.wait(step.ms);
        break;
      case 'begin': {
        const attempt = begin(step.force);
        if (attempt) open.push(attempt);
        break;
      }
      case 'end': {
        const attempt = open[step.which % Math.max(1, open.length)];
        attempt?.[step.how]();
        // A second end of an attempt must do nothing.
        if (attempt && step.how !== 'answered' && step.which % 3 > 0) open = open.filter((one) => one !== attempt);
        break;
      }
      case 'burst':
        for (let i = 0; i < step.times; i++) {
          begin(false)?.[step.how === 'mixed' ? (i % 2 === 0 ? 'completed' : 'failed') : step.how]();
        }
        break;
      case 'probe': {
        subject.wait(30_000);
        const attempt = begin(false);
        attempt?.[step.how]();
        if (attempt) open.push(attempt);
      }
    }
    log.push(subject.isShut() ? 'ejected' : 'in service');
  }
  return log;
}

const law = (subject: () => Subject) =>
  fc.property(scripts, (script) => {
    expect(seen(subject(), script)).toEqual(seen(naive(), script));
  });

describe('a breaker', () => {
  test('a breaker agrees with its rules, computed from the list of all events', () => {
    fc.assert(law(real), { numRuns, seed });
  }, 3_600_000);

  const BUGS: readonly Bug[] = [
    'many probes',
    'no cap',
    'no growth',
    'never forgets its ejections',
    'a quiet minute is not enough',
    'forgets its ejections at the first answer',
    'stale faults count',
    'forced faults open it again',
    'a first part counts as a complete answer',
    'a dropped probe keeps blocking others',
    'a lost probe keeps blocking others',
    'the window never slides',
    'no window',
    'proven by a first part',
    'a forced answer does not close it',
    'faults in a row are counted across answers',
  ];
  test.each(BUGS)('the test would detect this mistake: %s', (bug) => {
    const { failed } = fc.check(
      law(() => naive(bug)),
      { numRuns: 5_000, seed, endOnFailure: true },
    );
    expect(failed).toBe(true);
  });

  test('a breaker opens at the fifth consecutive fault, and not at the fourth', () => {
    const { health, changes } = fakeHealth();
    const endpoint = health.endpoint('p', 'u', 'm');
    fail(endpoint, 4);
    expect(endpoint.begin(FIRST)).not.toBe('shut');
    fail(endpoint);
    expect(endpoint.begin(FIRST)).toBe('shut');
    expect(endpoint.state).toBe('ejected');
    expect(changes).toEqual([
      {
        provider: 'p',
        model: 'm',
        upstream: 'u',
        from: 'healthy',
        to: 'ejected',
        why: '5 faults in a row; the last: server 500',
        forMs: 1_000,
      },
    ]);
  });

  test('a breaker opens if half of 20 answers fail within 10 s, even if no five in a row do', () => {
    const { health, time } = fakeHealth();
    const endpoint = health.endpoint('p', 'u', 'm');
    const pair = () => {
      succeed(endpoint);
      fail(endpoint);
      time.now += 500;
    };
    for (let i = 0; i < 9; i++) pair();
    expect(endpoint.state).toBe('healthy');
    pair();
    expect(endpoint.state).toBe('ejected');
  });

  test('a breaker counts attempts that ended within the last ten seconds, and no earlier ones', () => {
    for (const [waits, state] of [
      [9_999, 'ejected'],
      [10_000, 'healthy'],
    ] as const) {
      const { health, time } = fakeHealth();
      const endpoint = health.endpoint('p', 'u', 'm');
      for (let i = 0; i < 4; i++) fail(endpoint);
      succeed(endpoint, 9);
      for (let i = 0; i < 4; i++) fail(endpoint);
      succeed(endpoint);
      time.now += waits;
      fail(endpoint, 2);
      expect(endpoint.state).toBe(state);
    }
  });

  test('a breaker starts with the shortest ejection again after ten complete answers without a fault', () => {
    for (const [answers, forMs] of [
      [9, 2_000],
      [10, 1_000],
    ] as const) {
      const { health, time, changes } = fakeHealth();
      const endpoint = health.endpoint('p', 'u', 'm');
      fail(endpoint, 5);
      time.now += 1_000;
      succeed(endpoint, answers);
      fail(endpoint, 5);
      expect(changes.at(-1)).toMatchObject({ to: 'ejected', forMs });
    }
  });

  test('a breaker counts only the first end of each attempt', () => {
    const { health } = fakeHealth();
    const endpoint = health.endpoint('p', 'u', 'm');
    const ends = [
      (trial: AttemptReporter) => trial.completed(0, 0, null),
      (trial: AttemptReporter) => trial.failed(SERVER, true),
      (trial: AttemptReporter) => trial.dropped(),
    ];
    health.reloaded(
      snapshot([model('m', { endpoints: [{ provider: 'p', upstream: 'u', regions: [], price: price(1, 1) }] })]),
    );
    for (const first of ends) {
      const trial = begun(endpoint);
      first(trial);
      for (const later of [...ends, ...ends]) later(trial);
      trial.answered(10);
    }
    const [sample] = [...health.samples()];
    expect([...sample!.attempts].sort()).toEqual([
      ['dropped', 1],
      ['ok', 1],
      ['server', 1],
    ]);
    expect(sample!.ttftMs).toBeNull();
    fail(endpoint, 3);
    expect(endpoint.state).toBe('healthy');
  });

  test('a breaker stays open if each stream starts and then breaks off', () => {
    const { health, time, changes } = fakeHealth();
    const endpoint = health.endpoint('p', 'u', 'm');
    const cut = () => {
      const trial = begun(endpoint);
      trial.answered(10);
      trial.failed({ kind: 'cut', message: 'broke off' }, true);
    };
    for (let i = 0; i < 5; i++) cut();
    expect(endpoint.state).toBe('ejected');
    for (const seconds of [1, 2, 4, 8, 16, 30, 30]) {
      expect(changes.at(-1)).toMatchObject({ to: 'ejected', forMs: seconds * 1_000 });
      time.now += seconds * 1_000 - 1;
      expect(endpoint.begin(FIRST)).toBe('shut');
      time.now += 1;
      cut();
    }
  });

  test('a breaker admits one probe, and all attempts once the probe has content', () => {
    const { health, time } = fakeHealth();
    const endpoint = health.endpoint('p', 'u', 'm');
    fail(endpoint, 5);
    time.now += 1_000;
    expect(endpoint.state).toBe('healthy');
    const probe = begun(endpoint);
    expect(endpoint.state).toBe('ejected');
    expect(endpoint.begin(FIRST)).toBe('shut');
    probe.answered(10);
    expect(endpoint.state).toBe('healthy');
    succeed(endpoint, 3);
  });

  test('a caller’s mistake is not a fault, ends the probe, and does not reset the count of faults', () => {
    const { health, time } = fakeHealth();
    const endpoint = health.endpoint('p', 'u', 'm');
    for (const kind of ['rejected', 'context'] as const) fail(endpoint, 100, { kind, message: 'no' });
    fail(endpoint, 4);
    fail(endpoint, 1, REJECTED);
    fail(endpoint);
    expect(endpoint.state).toBe('ejected');
    time.now += 1_000;
    fail(endpoint, 3, REJECTED);
    expect(endpoint.state).toBe('healthy');
  });

  test('a timeout without blame is not a fault', () => {
    const { health } = fakeHealth();
    const endpoint = health.endpoint('p', 'u', 'm');
    for (let i = 0; i < 50; i++) begun(endpoint).failed({ kind: 'timeout', message: 'late' }, false);
    expect(endpoint.state).toBe('healthy');
    fail(endpoint, 5, { kind: 'timeout', message: 'late' });
    expect(endpoint.state).toBe('ejected');
  });

  test('a forced attempt becomes the probe only when one is due', () => {
    const { health, time } = fakeHealth();
    const endpoint = health.endpoint('p', 'u', 'm');
    fail(endpoint, 5);
    const forced = begun(endpoint, FORCED);
    time.now += 1_000;
    const probe = begun(endpoint, FORCED);
    expect(endpoint.begin(FIRST)).toBe('shut');
    forced.failed(SERVER, true);
    time.now += 1_999;
    expect(endpoint.state).toBe('ejected');
    probe.failed(SERVER, true);
    time.now += 1_999;
    expect(endpoint.state).toBe('ejected');
    time.now += 1;
    expect(endpoint.state).toBe('healthy');
  });

  test('ejections vary at random by up to a fifth', () => {
    for (const [chance, ms] of [
      [0, 800],
      [0.25, 900],
      [0.999_999, 1_200],
    ] as const) {
      const { health, changes } = fakeHealth(() => chance);
      fail(health.endpoint('p', 'u', 'm'), 5);
      expect(changes[0]!.forMs).toBe(ms);
    }
  });

  test('endpoints that share an upstream name or a model have separate breakers', () => {
    const { health } = fakeHealth();
    const names = [
      ['p', 'u', 'm'],
      ['p', 'u', 'n'],
      ['p', 'v', 'm'],
      ['q', 'u', 'm'],
    ] as const;
    const [first, ...others] = names.map(([provider, upstream, model]) => health.endpoint(provider, upstream, model));
    fail(first!, 5);
    expect(others.map(({ state }) => state)).toEqual(['healthy', 'healthy', 'healthy']);
    expect(health.endpoint('p', 'u', 'm')).toBe(first!);
  });
});
