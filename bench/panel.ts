import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { decideAll, type Verdict } from '../test/panel/decide.ts';
import { faultsOf, reckonAll, SELECTORS, type Selector } from '../test/panel/judge.ts';
import { KEY_SETS, type KeySet } from '../test/panel/offers.ts';
import { ALL_PARTS, type Case, FRESH, panelOf, paraphrases } from '../test/panel/panel.ts';
import { aimRows, cheapRows, fastRows, type Result, resultOf, rewordingOf } from './panel-aims.ts';
import { modelsChosen, regretRows, regretsOf, SEED } from './panel-regret.ts';
import { usualRows } from './panel-usual.ts';
import { table } from './stats.ts';

/**
 * `npm run bench:panel`: prints the share of the panel's requests for which the shipped policy chooses a model that a sensible engineer
 * would accept, by selector and set of keys; the regret of the choices beside simple choosers, and the aims. Nothing is sent upstream.
 * `test/panel/README.md` defines which choices are accepted, and the regret.
 *
 * `--part fresh|requests|aside`: the requests; `fresh` if absent. Only on `fresh`, the models of the simple choosers were chosen on other requests.
 * `--keys NAME`: only this set of keys. `--misses`: prints every rejected choice, with the accepted models. `--rewording`: prints instead how
 * often the model changes if a request is put into other words. `--json FILE`.
 */
const { values } = parseArgs({
  options: {
    part: { type: 'string', default: FRESH },
    keys: { type: 'string' },
    misses: { type: 'boolean', default: false },
    rewording: { type: 'boolean', default: false },
    json: { type: 'string' },
  },
});

const part = ALL_PARTS.find((name) => name === values.part);
if (!part) {
  console.error(`--part is one of ${ALL_PARTS.join(', ')}`);
  process.exit(2);
}
const sets = KEY_SETS.filter(({ name }) => values.keys === undefined || name === values.keys);
if (sets.length === 0) {
  console.error(`--keys is one of ${KEY_SETS.map(({ name }) => name).join(', ')}`);
  process.exit(2);
}
const cases = panelOf(part);

const percent = (share: number): string => `${Math.round(100 * share)} %`;

const FAULTS = ['weak', 'dear', 'slow', 'refused', 'cannot'];

/** Returns the accepted choices of a selector, and counts of faults. */
function rowOf({ name }: KeySet, selector: Selector, verdicts: readonly Verdict[]): string[] {
  const faults = verdicts.map(({ choices }) => choices[selector].faults);
  const held = faults.filter(({ length }) => length === 0).length;
  const broken = verdicts.filter(({ lawsBroken }) => lawsBroken.some((law) => law.startsWith(`${selector} `))).length;
  const counts = FAULTS.map((fault) => String(faults.filter((found) => found.includes(fault)).length));
  return [name, selector, `${held} of ${verdicts.length}`, ...counts, selector === 'auto' ? '' : String(broken)];
}

/** Whether every result of a request is accepted: the task, all three choices and both laws. */
const isWhole = ({ isTaskRight, choices, lawsBroken }: Verdict): boolean =>
  isTaskRight && lawsBroken.length === 0 && SELECTORS.every((selector) => choices[selector].faults.length === 0);

/** Returns the accepted models, cheapest first. */
function accepted(one: Case, selector: Selector, keys: KeySet): string {
  const able = reckonAll(one, keys).filter(({ id }) => faultsOf(id, selector, one, keys).length === 0);
  const names = able.sort((a, b) => a.credits - b.credits).map(({ id }) => id);
  return names.length > 4 ? `${names.slice(0, 4).join(', ')} and ${names.length - 4} more` : names.join(', ');
}

function missesOf(keys: KeySet, verdicts: readonly Verdict[]): string[][] {
  return verdicts.flatMap(({ id, choices, lawsBroken }, at) => [
    ...SELECTORS.filter((selector) => choices[selector].faults.length > 0).map((selector) => {
      const { model, faults } = choices[selector];
      return [keys.name, id, selector, model ?? '-', faults.join(', '), accepted(cases[at]!, selector, keys)];
    }),
    ...lawsBroken.map((law) => [keys.name, id, law, '', '', '']),
  ]);
}

/** Prints the share of the pairs of `paraphrases.yaml` for which a selector chooses different models. */
async function reportRewording(): Promise<void> {
  const rows: string[][] = [];
  for (const keys of sets) {
    const shares = await rewordingOf(keys);
    rows.push([keys.name, ...[...SELECTORS, 'task' as const].map((name) => percent(shares[name]))]);
  }
  console.log(`Share of ${paraphrases().length} pairs of wordings with different results:\n`);
  console.log(table([['keys', ...SELECTORS, 'task'], ...rows]));
}

if (values.rewording) {
  await reportRewording();
  process.exit(0);
}

const judged = new Map<KeySet, Verdict[]>();
for (const keys of sets) judged.set(keys, await decideAll(cases, keys));

const rows = [...judged].flatMap(([keys, verdicts]) => SELECTORS.map((selector) => rowOf(keys, selector, verdicts)));
const dearer = 'dearer or slower than auto';
console.log(`${table([['keys', 'selector', 'hold', ...FAULTS, dearer], ...rows])}\n`);
for (const [keys, verdicts] of judged) {
  console.log(`${keys.name}: ${verdicts.filter(isWhole).length} of ${verdicts.length} right in everything`);
}

const results: Result[] = [];
for (const [keys, verdicts] of judged) {
  const regrets = await regretsOf(cases, keys, modelsChosen(verdicts));
  if (regrets.length > 0) results.push(await resultOf(cases, keys, verdicts, regrets));
}
console.log(`\nRegret, Credits a request:\n\n${table(regretRows(results.flatMap(({ regrets }) => regrets)))}`);
if (part === FRESH) {
  const chosen = new Map([...judged].flatMap(([keys, found]) => (keys.only ? [] : [[keys, modelsChosen(found)]])));
  console.log(
    `\nRegret with the usual shares of hard requests, Credits, mean of all sets:\n\n${table(usualRows(cases, chosen))}`,
  );
}
console.log(`\nCost of auto-cheap:\n\n${table(cheapRows(results))}`);
console.log(`\nUsual requests with auto-fast, medians of whole answers:\n\n${table(fastRows(results))}`);
console.log(`\nAims:\n\n${table(aimRows(results))}`);
console.log(`\nIntervals: 2,000 draws of ${cases.length} requests, seed ${SEED}.`);

const [read] = judged.values();
const misread = read!.flatMap(({ id, task, isTaskRight }, at) => (isTaskRight ? [] : [[id, cases[at]!.task, task]]));
console.log(`\nTask: ${cases.length - misread.length} of ${cases.length} are read right.\n`);
// Tuning must not read the held-out parts.
if (part === 'requests' || values.misses) console.log(table([['request', 'task', 'read as'], ...misread], 'words'));
if (values.misses) {
  const misses = [...judged].flatMap(([keys, verdicts]) => missesOf(keys, verdicts));
  console.log(`\n${table([['keys', 'request', 'selector', 'choice', 'why not', 'would hold'], ...misses], 'words')}`);
}
if (values.json) {
  const keys = Object.fromEntries([...judged].map(([{ name }, verdicts]) => [name, verdicts]));
  writeFileSync(values.json, `${JSON.stringify({ part, keys }, null, 1)}\n`);
}
process.exit(0);
