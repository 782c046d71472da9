import { parseArgs } from 'node:util';
import { generate } from './generate.ts';

const USAGE = 'usage: npm run bench:console -- generate [--decisions N] [--keys N] [--teams N] [--seed N] FOLDER';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    decisions: { type: 'string', default: '1000000' },
    keys: { type: 'string', default: '500' },
    teams: { type: 'string', default: '25' },
    seed: { type: 'string', default: '1' },
  },
});
const [command, folder] = positionals;
if (command !== 'generate' || folder === undefined) {
  console.error(USAGE);
  process.exit(2);
}
const begun = performance.now();
const decisions = Number(values.decisions);
let shown = 0;
const answers = await generate({
  folder,
  decisions,
  keys: Number(values.keys),
  teams: Number(values.teams),
  seed: Number(values.seed),
  now: Date.now(),
  onProgress(written) {
    if (written < shown + decisions / 20) return;
    shown = written;
    console.log(`${written.toLocaleString('en')} decisions, ${((performance.now() - begun) / 1_000).toFixed(0)} s`);
  },
});
console.log(answers);
process.exit(0);
