import { describe, expect, test } from 'bun:test';
import { effort, isDeep } from '../../deep/effort.ts';
import { actions, WEIGHTS } from './actions.ts';
import { MUTANTS, type Mutant } from './mutants.ts';
import { type Counts, play } from './play.ts';

const STEPS = 150;
/** A mutant must be found within this many runs. Most are found in the first run. */
const MUTANT_RUNS = 80;
/** Seeds for `npm test` that find some mutants sooner than the usual seed. */
const SOON: Readonly<Record<string, number>> = {
  'a failed commit does not release what it held': 328_581,
  'a failed checkpoint is not repeated': 328_597,
};

/** Plays run after run. To repeat a failure, set `SIGNALBOX_SEED` to its seed and play one run. */
async function law(seed: number, runs: number, mutant: Mutant = {}): Promise<Counts> {
  const total = {} as Counts;
  const cure = mutant.infect?.() ?? (() => {});
  try {
    for (let run = 0; run < runs; run++) {
      const { counts } = await play(seed + run, STEPS, WEIGHTS, actions, mutant.wrap);
      for (const name of namesOf(counts)) total[name] = (total[name] ?? 0) + counts[name];
    }
  } finally {
    cure();
  }
  return total;
}

const namesOf = (counts: Counts) => Object.keys(counts) as (keyof Counts)[];

const { runs, seed, proved } = effort('ledger', 3, 2_000);

test(
  'the ledger gives the same results as the reference model, whatever happens in whatever order',
  async () => {
    const counts = await law(seed, runs);
    const told = namesOf(counts).map((name) => `${counts[name]} ${name}`);
    proved(
      `the ledger compared with the sums of a list of entries, after each of ${runs * STEPS} random steps (each run with the next seed): ${told.join(', ')}`,
    );
    // A step that is never played proves nothing.
    for (const name of namesOf(counts)) expect({ name, many: counts[name] > 0 }).toEqual({ name, many: true });
  },
  isDeep ? 3_600_000 : 60_000,
);

describe('the model finds the fault that', () => {
  for (const [name, mutant] of Object.entries(MUTANTS)) {
    test(name, async () => {
      const first = isDeep ? seed : (SOON[name] ?? seed);
      const failure = await law(first, MUTANT_RUNS, mutant).then(
        () => 'nothing',
        (error: Error) => error.message,
      );
      expect(failure).toMatch(/^seed \d+, step \d+: /);
    });
  }
});
