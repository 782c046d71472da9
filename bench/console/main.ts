import { existsSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { storeUrlOf } from '../../src/store/open.ts';
import { generate } from './generate.ts';
import { AIM_MS, measure, rowOf, tableOf } from './measure.ts';

/**
 * `npm run bench:console -- generate FOLDER`: writes a data folder of 30 days of traffic, with its policy and the answers to what people ask.
 * `npm run bench:console -- FOLDER`: serves it, opens every page of the console, and times what each asks for. Without a folder: one
 * below the system's temporary folder, generated where it is missing.
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
  },
});
const isGenerating = positionals[0] === 'generate';
const folder = positionals.at(isGenerating ? 1 : 0) ?? join(tmpdir(), `signalbox-console-${values.decisions}`);
if (isGenerating || !existsSync(storeUrlOf(folder))) await generateHere();
if (!isGenerating) await measureHere();
process.exit(0);

async function generateHere(): Promise<void> {
  const decisions = Number(values.decisions);
  const begun = performance.now();
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
      console.log(`${written.toLocaleString('en')} decisions, ${((performance.now() - begun) / 1_000).toFixed(0)} s`);
    },
  });
  console.log(answers);
}

async function measureHere(): Promise<void> {
  const pages = await measure(folder, values.only, (page) => console.log(rowOf(page).join('  ')));
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
