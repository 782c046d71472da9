import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accuracy, digest, examplesBySet, fit, taughtFeatures, taughtStems } from './profile-fit.ts';
import { fixed } from './stats.ts';

/**
 * `bun bench/fit-profile.ts`: writes the weights that tell a question's task into `weights.ts` and `stems.ts` of
 * `src/routing/profile`, as they are committed. `--left-out`: first, by leaving one set of prompts out after
 * the other, how well the fit does on what it was not fitted to.
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

const rows = Object.entries(taughtFeatures(weights)).map(
  ([feature, row]) => `  ${JSON.stringify(feature)}: [${row.join(', ')}],`,
);
writeFileSync(
  join(FOLDER, 'weights.ts'),
  `/**
 * The addition of each feature of a question to the log-odds of each of \`TASKS\`, in hundredths: of a question by itself, under a
 * system prompt (\`under …\`), and of a system prompt itself (\`… what to do\`). Written by \`bun bench/fit-profile.ts\` from the
 * labelled prompts of the tests; not to be edited by hand. Digest of what it follows from: ${digest()}.
 */
export const WEIGHTS: Readonly<Record<string, readonly number[]>> = {
${rows.join('\n')}
};
`,
);

/** Stems on a line. */
const PER_LINE = 8;
const taught = taughtStems(weights);
const lines = taught.flatMap((_, at) => (at % PER_LINE === 0 ? [taught.slice(at, at + PER_LINE).join(' ')] : []));
writeFileSync(
  join(FOLDER, 'stems.ts'),
  `/**
 * Words that labelled prompts have taught, by their first letters, with what each adds to the log-odds of each of \`TASKS\`, in
 * hundredths; \`^\` before the first word of a question, \`^^\` before its second. Written by \`bun bench/fit-profile.ts\`.
 */
export const STEMS = \`
${lines.join('\n')}
\`;
`,
);
Bun.spawnSync(['npx', 'biome', 'format', '--write', FOLDER]);
console.log(`${taught.length} stems`);
