import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { RetryBudget } from '../../../src/providers/health/retry-budget.ts';
import { tries } from '../../deep/effort.ts';
import { begun, FIRST, fakeHealth, RETRY, SERVER } from './support.ts';

const { numRuns, seed } = tries('retries stay within their budget', 300, 20_000);

type Budget = Pick<RetryBudget, 'begin' | 'succeeded' | 'ended'>;

/** A budget with deliberate mistakes. */
class Mutant implements Budget {
  running = 0;
  retrying = 0;
  saved = 15;
  readonly wrong: Partial<Record<'floor' | 'refill' | 'keeps' | 'earns' | 'crowd' | 'crowdFloor' | 'answered', true>>;

  constructor(wrong: Mutant['wrong']) {
    this.wrong = wrong;
    if (wrong.floor) this.saved = 20;
  }

  begin(retry: boolean): boolean {
    const { wrong } = this;
    if (retry) {
      const floor = wrong.crowdFloor ? 0 : 3;
      const isCrowded = this.retrying + 1 > floor && (this.retrying + 1) * 5 > this.running + 1;
      if (this.saved < 5 || (isCrowded && !wrong.crowd)) return false;
      this.saved -= 5;
      this.retrying++;
    } else this.saved += wrong.earns ? 2 : 1;
    this.running++;
    return true;
  }

  succeeded(retry: boolean): void {
    if (!this.wrong.refill) this.saved = this.wrong.keeps ? Math.max(15, this.saved) : 15;
    if (retry && !this.wrong.answered) this.retrying--;
  }

  ended(retrying: boolean): void {
    this.running--;
    if (retrying) this.retrying--;
  }
}

const steps = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ do: 'first' as const }) },
  { weight: 4, arbitrary: fc.constant({ do: 'retry' as const }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('fails' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('answers' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crowd' as const), times: fc.nat({ max: 60 }) }) },
);
const scripts = fc.array(steps, { minLength: 1, maxLength: 120, size: 'max' });

interface Attempt {
  readonly retry: boolean;
  hasAnswered: boolean;
}

/**
 * Without a success, attempts are at most 1.2 × the first ones + 3. Of the running attempts at most a fifth, or 3, are retries that have
 * not answered. Everything within both limits is allowed.
 */
function keepsTheLaw(
  budget: Budget,
  script: readonly (typeof steps extends fc.Arbitrary<infer Step> ? Step : never)[],
) {
  const open: Attempt[] = [];
  let firsts = 0;
  let attempts = 0;
  const begin = (retry: boolean): void => {
    const retrying = open.filter((one) => one.retry && !one.hasAnswered).length + 1;
    const mayBegin = 5 * (attempts + 1) <= 6 * firsts + 15 && retrying <= Math.max(3, (open.length + 1) / 5);
    expect(budget.begin(retry)).toBe(!retry || mayBegin);
    if (retry && !mayBegin) return;
    attempts++;
    if (!retry) firsts++;
    open.push({ retry, hasAnswered: false });
  };
  for (const step of script) {
    if (step.do === 'first' || step.do === 'retry') begin(step.do === 'retry');
    else if (step.do === 'crowd') for (let i = 0; i < step.times; i++) begin(false);
    else {
      const at = step.which % Math.max(1, open.length);
      const attempt = open[at];
      if (!attempt) continue;
      if (step.do === 'fails') {
        budget.ended(attempt.retry && !attempt.hasAnswered);
        open.splice(at, 1);
      } else if (!attempt.hasAnswered) {
        budget.succeeded(attempt.retry);
        attempt.hasAnswered = true;
        firsts = 0;
        attempts = 0;
      }
    }
  }
}

const law = (budget: () => Budget) => fc.property(scripts, (script) => keepsTheLaw(budget(), script));

describe('a retry budget', () => {
  test('the retry budget obeys its rules, and allows everything within them', () => {
    fc.assert(
      law(() => new RetryBudget()),
      { numRuns, seed },
    );
  }, 3_600_000);

  test('the implementation with mistakes is correct if it has none', () => {
    fc.assert(
      law(() => new Mutant({})),
      { numRuns, seed },
    );
  }, 3_600_000);

  const MUTANTS: Readonly<Record<string, Mutant['wrong']>> = {
    'begins with one retry more than the floor': { floor: true },
    'a success does not refill it': { refill: true },
    'a success keeps the savings': { keeps: true },
    'two first attempts in five earn a retry': { earns: true },
    'any number of retries may run at once': { crowd: true },
    'no retry may run if few attempts run': { crowdFloor: true },
    'a retry that has answered still counts as one': { answered: true },
  };
  test.each(Object.entries(MUTANTS))('the test would detect this mistake: %s', (_, wrong) => {
    const { failed } = fc.check(
      law(() => new Mutant(wrong)),
      { numRuns: 5_000, seed, endOnFailure: true },
    );
    expect(failed).toBe(true);
  });

  test('a dead provider gets at most 1.2 × the first attempts + 3, for all its models', () => {
    const { health } = fakeHealth();
    const endpoints = ['m', 'n', 'o'].map((model) => health.endpoint('p', 'u', model));
    let attempts = 0;
    const firsts = 500;
    for (let i = 0; i < firsts; i++) {
      const endpoint = endpoints[i % 3]!;
      for (const how of [FIRST, RETRY, RETRY]) {
        const trial = endpoint.begin({ ...how, force: true });
        if (typeof trial === 'string') continue;
        attempts++;
        trial.failed(SERVER, true);
      }
    }
    expect(attempts).toBe(1.2 * firsts + 3);
    expect(health.endpoint('q', 'u', 'm').begin(RETRY)).not.toBe('no-budget');
  });

  test('the retry budget covers the whole provider, and each end of an attempt frees its slot', () => {
    const { health } = fakeHealth();
    const one = health.endpoint('p', 'u', 'm');
    const other = health.endpoint('p', 'u', 'n');
    const retries = [begun(one, RETRY), begun(one, RETRY), begun(one, RETRY)];
    for (let i = 0; i < 5; i++) begun(one).dropped();
    expect(other.begin(RETRY)).toBe('no-budget');
    retries[0]!.dropped();
    const fourth = begun(other, RETRY);
    retries[1]!.answered(1);
    retries[1]!.completed(0, 0, null);
    retries[2]!.failed(SERVER, true);
    fourth.failed(SERVER, true);
    // The budget is enough for many retries; the number of running attempts is the limit.
    for (let i = 0; i < 25; i++) begun(one).dropped();
    expect([other, other, other].map((endpoint) => typeof endpoint.begin(RETRY))).toEqual([
      'object',
      'object',
      'object',
    ]);
    expect(other.begin(RETRY)).toBe('no-budget');
  });
});
