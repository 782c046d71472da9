import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TASKS } from '../src/routing/profile/tasks.ts';
import weights from '../src/routing/profile/weights.json' with { type: 'json' };
import { COLUMN } from '../src/routing/profile/word-table.ts';
import table from '../src/routing/profile/words.json' with { type: 'json' };
import { digest, learn } from './profile-fit.ts';

/**
 * `bun bench/fit-profile.ts`: writes the figures that determine the task and the difficulty of a question, `weights.json` and `words.json` in
 * `src/routing/profile`, which are committed. It takes two minutes. `npm run bench:reading` measures them.
 */
const FOLDER = join(import.meta.dir, '../src/routing/profile');

const { features, words } = learn();
writeFileSync(
  join(FOLDER, 'words.json'),
  `${JSON.stringify({ ...table, base64: new Uint8Array(words.buffer).toBase64() })}\n`,
);
const { about, source } = weights;
const columns = [...TASKS, ...Object.keys(COLUMN)];
// The examples depend on the column of frames, which is new now.
writeFileSync(
  join(FOLDER, 'weights.json'),
  JSON.stringify({ about, source, digest: digest(), columns, rows: features }),
);
Bun.spawnSync(['npx', 'biome', 'format', '--write', FOLDER]);
console.log(`${Object.keys(features).length} features and ${words.filter((one) => one !== 0).length} figures of words`);
