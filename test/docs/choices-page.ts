import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { aimRows, cheapRows, fastRows, type Result, resultOf } from '../../bench/panel-aims.ts';
import { modelsChosen, regretRows, regretsOf } from '../../bench/panel-regret.ts';
import { choicesIn } from '../../src/admin/use-cases/policy/choices.ts';
import { qualitiesOf } from '../../src/core/policy/counted-quality.ts';
import { atOnce } from '../../src/policy/report/steps.ts';
import type { Runtime } from '../../src/policy/runtime/runtime.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { typicalFigures } from '../../src/routing/typical.ts';
import { decideAll, decideOne, factsFor, runtimeWith, type Verdict } from '../panel/decide.ts';
import { SELECTORS, type Selector } from '../panel/judge.ts';
import { KEY_SETS, type KeySet } from '../panel/offers.ts';
import { type Case, FRESH, PARTS, type Part, panelOf } from '../panel/panel.ts';

const ROOT = join(import.meta.dir, '../..');
const PAGE = 'docs/route/how-a-model-is-chosen.md';
const CHOICES = 'test/panel/choices.md';
const BENCHMARKS = 'docs/benchmarks-routing.md';

const panel = new Map(panelOf('requests').map((one) => [one.id, one]));

export function requestOf(id: string): Case {
  const one = panel.get(id);
  if (!one) throw new Error(`test/panel/requests.yaml has no ${id}`);
  return one;
}

/** A request of the panel for each task, with its name on the page. */
const REQUESTS: readonly (readonly [id: string, name: string])[] = [
  ['good-morning-one-line', '“Good morning :)”'],
  ['wasser-siedepunkt', 'why water boils earlier on a mountain'],
  ['label-ticket-system', 'the label of a support ticket'],
  ['extract-emails-plain', 'addresses and numbers out of a text'],
  ['fr-en-letter', 'a French letter into English'],
  ['summary-article-tldr', 'an article in two sentences'],
  ['mail-fr-proprietaire', 'a letter to the landlord'],
  ['vision-what-plant', 'which plant is in the picture'],
  ['tool-weather', 'the weather, with tools'],
  ['code-rust-lru', 'a thread-safe cache in Rust'],
  ['puzzle-seating', 'a seating puzzle'],
  ['proof-functional-equation', 'a functional equation, with proof'],
];

/** Returns `docs/route/how-a-model-is-chosen.md` with new examples between its marks. A test compares the file. */
export function chosenPage(): string {
  const runtime = runtimeWith(keysNamed(KEYS_SHOWN));
  const text = marked(PAGE, 'order', tableOf(orderRows(runtime)));
  return marked(PAGE, 'reasons', `\`\`\`text\n${reasonsOf(runtime).join('\n')}\n\`\`\``, text);
}

/** The first models in the order of `auto`, with the figures of the typical request that decide. */
function orderRows({ snapshot }: Runtime): string[][] {
  const { order } = snapshot.selectors.get('auto')!.ladder!;
  const { cost, latency } = atOnce(typicalFigures(snapshot));
  const { shares } = qualitiesOf(snapshot, null);
  const rows = [['model', 'cost, Credits', 'time, s', 'cost + 0.1 × time', 'quality']];
  for (const at of order.slice(0, ORDER_SHOWN)) {
    const seconds = latency[at]! / 1000;
    const figures = [cost[at]!.toFixed(2), seconds.toFixed(1), (cost[at]! + 0.1 * seconds).toFixed(2)];
    rows.push([`\`${snapshot.models[at]!.id}\``, ...figures, shares[at]!.toFixed(4)]);
  }
  return rows;
}

/** The reasons for the choices of each selector, for a usual and for a hard request. */
function reasonsOf(runtime: Runtime): string[] {
  const choices = atOnce(choicesIn(runtime)).filter(({ task }) => task === 'general');
  return (['usual', 'hard'] as const).flatMap((difficulty) =>
    SELECTORS.map((selector) => {
      const found = choices.find((one) => one.selector === selector && one.difficulty === difficulty);
      return `${selector}: ${found?.because}.`;
    }),
  );
}

/** Returns `test/panel/choices.md` in the same way, with the choices for every set of keys. */
export async function choicesPage(): Promise<string> {
  let text = marked(CHOICES, 'panel', tableOf(await heldRows()));
  text = marked(CHOICES, 'misread', await misreadList(), text);
  for (const keys of KEY_SETS) text = marked(CHOICES, keys.name, tableOf(await choiceRows(runtimeWith(keys))), text);
  return text;
}

/** Returns `docs/benchmarks-routing.md` with new tables of the fresh part of the panel. */
export async function routingBenchmarksPage(): Promise<string> {
  const cases = panelOf(FRESH);
  const results: Result[] = [];
  for (const keys of KEY_SETS) {
    const verdicts = await verdictsOf(FRESH, keys);
    const regrets = await regretsOf(cases, keys, modelsChosen(verdicts));
    if (regrets.length > 0) results.push(await resultOf(cases, keys, verdicts, regrets));
  }
  const tables = {
    aims: aimRows(results),
    regret: regretRows(results.flatMap(({ regrets }) => regrets)),
    cheap: cheapRows(results),
    fast: fastRows(results),
  };
  return Object.entries(tables).reduce(
    (text, [name, rows]) => marked(BENCHMARKS, name, tableOf(rows), text),
    readFileSync(join(ROOT, BENCHMARKS), 'utf8'),
  );
}

/** How many models of the order the page shows. */
const ORDER_SHOWN = 6;
/** The set of keys that the page shows. */
const KEYS_SHOWN = 'three';
function keysNamed(name: string): KeySet {
  const keys = KEY_SETS.find((one) => one.name === name);
  if (!keys) throw new Error(`test/panel/offers.ts has no keys ${name}`);
  return keys;
}

/** Returns a page with the part between the marks of this name replaced. */
export function marked(
  path: string,
  name: string,
  made: string,
  text = readFileSync(join(ROOT, path), 'utf8'),
): string {
  const mark = new RegExp(`^(<!-- made: ${name} -->\n)[\\s\\S]*?^(<!-- end -->)$`, 'm');
  if (!mark.test(text)) throw new Error(`${path} has no mark for ${name}`);
  return text.replace(mark, (_, begin: string, end: string) => `${begin}\n${made}\n\n${end}`);
}

/**
 * The results at the commit of the panel, before any figure was changed for it; for requests that were added later, at the commit before
 * the fix of what they show. Order: `auto`, `auto-cheap`, `auto-fast`, both laws together; for each set of keys.
 */
const BEFORE: Readonly<Record<string, Readonly<Record<(typeof PARTS)[number], readonly number[]>>>> = {
  openai: { requests: [138, 108, 172, 128], aside: [38, 20, 50, 60] },
  anthropic: { requests: [138, 83, 108, 142], aside: [39, 13, 25, 60] },
  gemini: { requests: [160, 126, 165, 4], aside: [47, 33, 53, 5] },
  three: { requests: [102, 96, 86, 121], aside: [27, 15, 16, 60] },
  all: { requests: [77, 99, 71, 97], aside: [15, 16, 12, 48] },
  ollama: { requests: [206, 206, 206, 0], aside: [65, 65, 65, 0] },
};

const judged = new Map<string, Promise<Verdict[]>>();

/** The verdicts on a part of the panel, which several tables show. */
function verdictsOf(part: Part, keys: KeySet): Promise<Verdict[]> {
  const name = `${keys.name} ${part}`;
  const verdicts = judged.get(name) ?? decideAll(panelOf(part), keys);
  judged.set(name, verdicts);
  return verdicts;
}

/** The rows with the number of acceptable choices, before and now. */
async function heldRows(): Promise<string[][]> {
  const rows = [['keys', 'of', ...SELECTORS.map((selector) => `\`${selector}\``), 'against its name']];
  for (const keys of KEY_SETS) {
    for (const part of PARTS) {
      const verdicts = await verdictsOf(part, keys);
      const counts = [...SELECTORS.map((selector) => held(verdicts, selector)), broken(verdicts)];
      const shown = counts.map((count, at) => `${BEFORE[keys.name]![part][at]} → ${count}`);
      rows.push([keys.name, `${verdicts.length}${part === 'aside' ? ' aside' : ''}`, ...shown]);
    }
  }
  return rows;
}

/**
 * Lists the requests of the panel whose task is recognized wrongly, with the expected and the recognized task. The keys make no difference.
 */
async function misreadList(): Promise<string> {
  const cases = PARTS.flatMap((part) => panelOf(part));
  const verdicts = (await Promise.all(PARTS.map((part) => verdictsOf(part, KEY_SETS[0]!)))).flat();
  const missed = verdicts.flatMap(({ id, task, isTaskRight }, at) =>
    isTaskRight ? [] : [`\`${id}\` (${cases[at]!.task} → ${task})`],
  );
  return `Read right: ${cases.length - missed.length} of ${cases.length}. Misread: ${missed.join(', ')}.`;
}

const held = (verdicts: readonly Verdict[], selector: Selector): number =>
  verdicts.filter(({ choices }) => choices[selector].faults.length === 0).length;

const broken = (verdicts: readonly Verdict[]): number =>
  verdicts.reduce((sum, { lawsBroken }) => sum + lawsBroken.length, 0);

interface ShownChoice {
  readonly model: string;
  readonly cost: string;
  readonly time: string;
  readonly quality: string;
}

const cell = ({ model, cost, time, quality }: ShownChoice): string => `\`${model}\` ${cost}, ${time}, ${quality}`;

async function choiceRows(runtime: Runtime): Promise<string[][]> {
  const rows = [['request', 'task', ...SELECTORS.map((selector) => `\`${selector}\``)]];
  for (const [id, name] of REQUESTS) {
    const one = requestOf(id);
    const { task } = factsFor(one, 'auto', runtime);
    const cells: string[] = [];
    for (const selector of SELECTORS) {
      const choice = await choiceOf(one, selector, runtime);
      cells.push(choice ? cell(choice) : 'refused');
    }
    rows.push([name, task, ...cells]);
  }
  return rows;
}

async function choiceOf(one: Case, selector: Selector, runtime: Runtime): Promise<ShownChoice | null> {
  const outcome = await decideOne(one, selector, runtime);
  if (isRefusal(outcome)) return null;
  const [{ model, costCredits, latencyMs, share: quality }] = outcome.ranked;
  return {
    model: runtime.snapshot.models[model]!.id,
    cost: `${credits(costCredits)} Cr`,
    time: `${(latencyMs / 1_000).toFixed(1)} s`,
    quality: `${Math.round(quality! * 100)} %`,
  };
}

/** Two significant digits: `0.17`, `3.4`, `120`. */
const credits = (value: number): string =>
  value >= 10 ? String(Math.round(value)) : String(Number(value.toPrecision(2)));

/** Aligned like Biome's output, so that the formatter does not change the table. */
function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, at) => Math.max(3, ...rows.map((cells) => Bun.stringWidth(cells[at]!))));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell + ' '.repeat(widths[at]! - Bun.stringWidth(cell))).join(' | ')} |`;
  const [head, ...body] = rows.map(line);
  return [head, line(widths.map((width) => '-'.repeat(width))), ...body].join('\n');
}
