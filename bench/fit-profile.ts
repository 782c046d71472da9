import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { digest, learn } from './profile-fit.ts';

/**
 * `bun bench/fit-profile.ts`: writes the tables that determine the task, the difficulty and the language of a question,
 * `src/routing/profile/tables.json`, which is committed. It takes a minute. `npm run bench:reading` measures them.
 */
const about =
  'Figures of words and of facts about the form of a request, for each task, a short answer, an easy and a hard request; and signs of natural languages. `table.ts` and `languages.ts` read them.';
const source = '`bun bench/fit-profile.ts` fits them to the labelled prompts in `test/routing/prompts`.';
const file = join(import.meta.dir, '../src/routing/profile/tables.json');
writeFileSync(file, `${JSON.stringify({ about, source, digest: digest(), ...learn() })}\n`);
