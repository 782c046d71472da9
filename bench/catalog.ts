import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { abilitiesOf } from './catalog/ability.ts';
import { readFacts } from './catalog/facts.ts';
import { CATALOG_FILES, modelsOf, readCatalog, withFigures } from './catalog/figures.ts';
import { TASKS } from './catalog/mapping.ts';
import { compareOrdinary, qualityOf } from './catalog/quality.ts';
import { compareCalls, reasoningOf, speedOf } from './catalog/speed.ts';
import { table } from './stats.ts';

/**
 * `npm run catalog`: computes quality, latency and reasoning tokens of the shipped models only from `bench/catalog/facts.json`, and writes
 * them into `policies/models.yaml` and `src/admin/use-cases/catalog/own-models.yaml`. `test/bench/catalog.test.ts` checks that both agree.
 * bench/catalog/README.md explains the facts and which of them may be shipped.
 *
 * `--check`: writes nothing; prints the figures, how each was computed, and what they predict for requests that people have tested.
 */
const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const facts = readFacts();

if (values.check) report();
else {
  for (const file of CATALOG_FILES) writeFileSync(file, withFigures(readCatalog(file), facts));
}

function report(): void {
  const abilities = abilitiesOf(facts);
  const models = CATALOG_FILES.flatMap((file) => modelsOf(readCatalog(file)));
  const tasks = Object.keys(TASKS);
  const figures = models.map((model) => ({ model, quality: qualityOf(abilities, model, () => true) }));
  print('Share of good answers', [
    ['model', 'default', ...tasks],
    ...figures.map(({ model, quality: { shares } }) => [
      model,
      ...['default', ...tasks].map((task) => shares[task]?.toFixed(3) ?? ''),
    ]),
  ]);
  print('From: d, a measure of the task; l, linked from the index; f, the same weights elsewhere', [
    ['model', ...tasks],
    ...figures.map(({ model, quality: { derivation } }) => [
      model,
      ...tasks.map((task) => derivation[task]?.[0] ?? ''),
    ]),
  ]);
  print('Speed', [
    ['model', 'ttft ms', 'tokens/s', 'basis', 'as of', 'reasoning', 'chat', 'coding'],
    ...models.map(speedRow),
  ]);
  print('Ordinary requests', [
    ['task', 'requests', 'models', 'observed', 'computed'],
    ...compareOrdinary(facts).map(({ task, what, models: count, observed, computed }) => {
      return [task, what, String(count), observed.toFixed(2), computed.toFixed(2)];
    }),
  ]);
  print('Whole calls', [
    ['model', 'call', 'clocked s', 'computed s'],
    ...compareCalls(facts).map(({ model, what, clockedS, computedS }) => {
      return [model, what, clockedS.toFixed(1), computedS.toFixed(1)];
    }),
  ]);
}

function speedRow(model: string): string[] {
  const speed = speedOf(facts, model);
  const { default: usual, chat = usual, coding = usual } = reasoningOf(facts, model);
  const words = speed ? [speed.ttftMs, speed.rate, speed.basis, speed.asOf] : ['', '', 'unknown', ''];
  return [model, ...[...words, usual, chat, coding].map(String)];
}

function print(title: string, rows: readonly (readonly string[])[]): void {
  console.log(`${title}\n\n${table(rows)}\n`);
}
