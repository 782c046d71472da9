import { describe, expect, test } from 'bun:test';
import { effort, isDeep } from '../../deep/effort.ts';
import type { Fault } from './house.ts';
import { MUTANTS } from './mutants.ts';
import { type Counts, play } from './play.ts';

const STEPS = 60;
/** How many runs may pass before a fault must be found. Most faults are found in the first run. */
const MUTANT_RUNS = 60;
/** Seeds for `npm test` that find these mutants soon. The usual seed finds these mutants late. */
const SOON: Readonly<Record<string, number>> = {
  'the reconciler treats a cancelled authorization as paid': 301_116,
  'an unknown settlement is reported as failed': 301_109,
  'an authorization counts as expired too early': 301_110,
};

/** Plays run after run. To repeat a failure, use its `SIGNALBOX_SEED` with one run. */
async function law(seed: number, runs: number, infection: Fault = {}): Promise<Counts> {
  const total = {} as Counts;
  for (let run = 0; run < runs; run++) {
    const counts = await play(seed + run, STEPS, infection);
    for (const name of namesOf(counts)) total[name] = (total[name] ?? 0) + counts[name];
  }
  return total;
}

const namesOf = (counts: Counts) => Object.keys(counts) as (keyof Counts)[];

const { runs, seed, proved } = effort('payments', 3, 600);

test(
  'whatever the chain, the disk and kill -9 do, every arrived payment is booked once, and no client pays twice',
  async () => {
    const counts = await law(seed, runs);
    const summary = namesOf(counts).map((name) => `${counts[name]} ${name}`);
    proved(
      `payments on a scripted chain, ${runs * STEPS} random steps with kills at commits and calls (each run with the next seed): ${summary.join(', ')}; each run ends with the ledger, the chain and every client agreeing`,
    );
    // A short test may not contain all of these events.
    for (const name of isDeep ? (['runs', 'refused', 'unsettled', 'restarted'] as const) : []) {
      expect({ name, many: (counts[name] ?? 0) > 0 }).toEqual({ name, many: true });
    }
  },
  isDeep ? 3_600_000 : 60_000,
);

describe('the model finds the mutant in which', () => {
  for (const [name, infection] of Object.entries(MUTANTS)) {
    test(name, async () => {
      const first = isDeep ? seed : (SOON[name] ?? seed);
      const failure = await law(first, MUTANT_RUNS, infection).then(
        () => 'nothing',
        (error: Error) => error.message,
      );
      expect(failure).toMatch(/^seed \d+, step \d+: broken: /);
    });
  }
});
