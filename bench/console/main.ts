import { existsSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { databaseIn } from '../../src/store/open.ts';
import { generate } from './generate.ts';
import { AIM_MS, measure, rowOf, tableOf } from './measure.ts';
import { fillPostgres, isFilled, openBeside } from './postgres.ts';

/**
 * `npm run bench:console -- generate FOLDER`: writes a data folder with 30 days of traffic, its policy and the answers to questions that
 * people ask. `npm run bench:console -- FOLDER`: serves the folder, opens every page of the console, and measures each request of the page.
 * Without FOLDER, the command uses a folder below the system's temporary folder, and generates it if it is missing.
 *
 * `--postgres URL`: reads decisions, entries and traffic from this database, which is filled from the folder if it is empty. The database
 * server must run on this machine and be able to read our files, such as the server of `npm run postgres`. Everything else stays in the
 * folder.
 *
 * `--decisions N` (10,000,000), `--keys N` (500), `--teams N` (25), `--seed N` (1); `--only TEXT` for pages whose names contain it.
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
if (isGenerating || !existsSync(databaseIn(folder))) await generateHere();
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
