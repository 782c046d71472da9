import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { WeightTable } from '../src/routing/profile/lexicon/data-shapes.ts';
import stems from '../src/routing/profile/stems.json' with { type: 'json' };
import { TASKS } from '../src/routing/profile/tasks.ts';
import features from '../src/routing/profile/weights.json' with { type: 'json' };
import { accuracy, digest, examplesBySet, fit, taughtFeatures, taughtStems } from './profile-fit.ts';
import { fixed } from './stats.ts';

/**
 * `bun bench/fit-profile.ts`: writes the weights that determine a question's task into `weights.json` and `stems.json` of
 * `src/routing/profile`, which are committed. `--left-out` first measures how well the fit works on prompts that it has not seen: it leaves
 * one set of prompts out after another.
 */
const FOLDER = join(import.meta.dir, '../src/routing/profile');

const sets = examplesBySet();
if (process.argv.includes('--left-out')) {
  for (const [name, examples] of sets) {
    const others = [...sets].flatMap(([other, all]) => (other === name ? [] : all));
    console.log(`${name}: ${fixed(100 * accuracy(examples, fit(others)))} % by weights fitted to the others`);
  }
}

const weights = fit([...sets.values()].flat());

/** Writes the rows of a table and keeps its description. */
function write(name: string, table: WeightTable, rows: WeightTable['rows']): void {
  writeFileSync(join(FOLDER, name), JSON.stringify({ ...table, digest: digest(), tasks: TASKS, rows }));
  console.log(`${name}: ${Object.keys(rows).length} rows`);
}

write('weights.json', features, taughtFeatures(weights));
write('stems.json', stems, taughtStems(weights));
Bun.spawnSync(['npx', 'biome', 'format', '--write', FOLDER]);
