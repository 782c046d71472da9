import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { effort, isDeep } from '../../deep/effort.ts';
import { tempFolder } from '../../store/support.ts';
import { MUTANTS } from './model/mutants.ts';
import { type Mutant, type Step, World } from './model/world.ts';

const HOUR_MS = 3_600_000;
const pick = (below: number) => fc.nat(below - 1);

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 12,
      arbitrary: fc.record({
        do: fc.constant('ask' as const),
        user: pick(2),
        key: pick(2),
        body: fc.oneof({ weight: 5, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) }),
        secret: fc.oneof({ weight: 7, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constant(1) }),
        times: fc.constantFrom(1, 1, 3),
      }),
    },
    {
      weight: 7,
      arbitrary: fc.record({
        do: fc.constant('end' as const),
        which: pick(4),
        how: fc.constantFrom('answer' as const, 'answer' as const, 'large' as const, 'cut' as const, 'free' as const),
        cost: fc.integer({ min: 1, max: 300 }),
      }),
    },
    { weight: 2, arbitrary: fc.constant({ do: 'crash' as const }) },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('arm' as const),
        commits: pick(4),
        left: fc.constantFrom('nothing' as const, 'appends' as const, 'all' as const),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('wait' as const),
        ms: fc.constantFrom(1, HOUR_MS, 12 * HOUR_MS, 24 * HOUR_MS - 1, 24 * HOUR_MS, 25 * HOUR_MS),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ do: 'prune' as const }) },
  ),
  { minLength: 10, maxLength: 60 },
);

const counts = new Map<string, number>();

const law = (mutant: Mutant = {}) =>
  fc.asyncProperty(steps, fc.constantFrom('charge' as const, 'release' as const), async (plan, rule) => {
    using folder = tempFolder();
    const world = await World.open(folder.file, rule, mutant);
    try {
      for (const step of plan) await world.step(step);
      await world.finish();
    } finally {
      await world.close();
    }
    for (const [what, count] of world.counts) counts.set(what, (counts.get(what) ?? 0) + count);
  });

const { runs, seed, proved } = effort('idempotency', 8, 3_000);

test(
  'the same idempotency key gives the same answer and one charge, whatever runs in parallel, fails, crashes or is pruned in between',
  async () => {
    // The steps are few and named. Shrinking would take minutes, and the test prints the seed.
    await fc.assert(law(), { numRuns: runs, seed, endOnFailure: true });
    const kinds = ['run', 'in-flight', 'reused', 'unavailable', 'replay', 'paid', 'refused', 'ended', 'crashes'];
    const summary = kinds.map((what) => `${counts.get(what) ?? 0} ${what}`);
    proved(
      `idempotency keys compared with an independent reference, in ${runs} runs of up to 60 random steps: ${summary.join(', ')}`,
    );
    // The test proves nothing about a kind of step that never occurs.
    for (const what of kinds) expect([what, (counts.get(what) ?? 0) > 0]).toEqual([what, true]);
  },
  isDeep ? 3_600_000 : 120_000,
);

test('a charge of an earlier day is refunded to that day, and the audit agrees', async () => {
  using folder = tempFolder();
  const world = await World.open(folder.file, 'charge', {});
  const ask = (key: number): Step => ({ do: 'ask', user: 1, key, body: 0, secret: 0, times: 1 });
  const plan: Step[] = [
    ask(0),
    { do: 'crash' },
    { do: 'wait', ms: 24 * HOUR_MS - 1 },
    ask(1),
    { do: 'end', which: 0, how: 'answer', cost: 299 },
    ask(0),
  ];
  try {
    for (const step of plan) await world.step(step);
    await world.finish();
  } finally {
    await world.close();
  }
});

/** Most mutants fail within ten runs, the rarest within about a hundred. */
const MUTANT_RUNS = 2_000;
/** A seed with which each mutant fails soon. */
const MUTANT_SEED = isDeep ? seed : 6;

describe('the law of idempotency notices that', () => {
  for (const [what, mutant] of Object.entries(MUTANTS)) {
    test(what, async () => {
      const cure = mutant.infect?.() ?? (() => {});
      try {
        const { failed } = await fc.check(law(mutant), { numRuns: MUTANT_RUNS, seed: MUTANT_SEED, endOnFailure: true });
        expect(failed).toBeTrue();
      } finally {
        cure();
      }
    });
  }
});
