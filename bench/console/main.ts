import { existsSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { storeUrlOf } from '../../src/store/open.ts';
import { generate } from './generate.ts';
import { AIM_MS, measure, rowOf, tableOf } from './measure.ts';
import { fillPostgres, isFilled, openBeside } from './postgres.ts';

/**
 * `npm run bench:console -- generate FOLDER`: writes a data folder of 30 days of traffic, with its policy and the answers to what people ask.
 * `npm run bench:console -- FOLDER`: serves it, opens every page of the console, and times what each asks for. Without a folder: one
 * below the system's temporary folder, generated where it is missing.
 *
 * `--postgres URL`: decisions, entries and traffic are read from this database, which is filled from the folder where it is empty. It is of a
 * server on this machine that reads files of ours, such as that of `npm run postgres`. The rest stays in the folder.
 *
 * `--decisions N` (10,000,000), `--keys N` (500), `--teams N` (25), `--seed N` (1); `--only TEXT` for pages with it in their names.
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    decisions: { type: 'string', default: '10000000' },
    keys: { type: 'string', default: '500' },
    teams: { type: 'string', default: '25' },
    seed: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    postgres: { type: 'string', default: '' },
  },
});
const begun = performance.now();
const seconds = (): string => ((performance.now() - begun) / 1_000).toFixed(0);
const isGenerating = positionals[0] === 'generate';
const folder = positionals.at(isGenerating ? 1 : 0) ?? join(tmpdir(), `signalbox-console-${values.decisions}`);
if (isGenerating || !existsSync(storeUrlOf(folder))) await generateHere();
const { postgres } = values;
if (postgres !== '' && !(await isFilled(postgres))) {
  await fillPostgres(folder, postgres, (table) => console.log(`${table}, ${seconds()} s`));
  console.log(`filled, ${seconds()} s`);
}
if (!isGenerating) await measureHere();
process.exit(0);

async function generateHere(): Promise<void> {
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
      if (written < Math.min(decisions, shown + decisions / 20)) return;
      shown = written;
      console.log(`${written.toLocaleString('en')} decisions, ${seconds()} s`);
    },
  });
  console.log(answers);
}

async function measureHere(): Promise<void> {
  const store = postgres === '' ? null : () => openBeside(folder, postgres);
  const pages = await measure({ folder, only: values.only, openStore: store }, (page) =>
    console.log(rowOf(page).join('  ')),
  );
  console.log(`\n${cpus()[0]?.model}, ${cpus().length} CPUs\n\n${tableOf(pages)}`);
  for (const { page, requests } of pages) {
    for (const { address, times } of requests) {
      const sorted = times.toSorted((one, other) => one - other);
      const middle = sorted[Math.floor(sorted.length / 2)]!;
      if (middle > AIM_MS / 2)
        console.log(`${page.view}: ${middle.toFixed(0)} ms, at worst ${sorted.at(-1)!.toFixed(0)} ms: ${address}`);
    }
  }
}
