import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { aimRows, cheapRows, fastRows, type Result, resultOf } from '../../bench/panel-aims.ts';
import { modelsChosen, regretRows, regretsOf } from '../../bench/panel-regret.ts';
import type { Runtime } from '../../src/policy/runtime/runtime.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { decideAll, decideOne, factsFor, runtimeWith, type Verdict } from '../panel/decide.ts';
import { SELECTORS, type Selector } from '../panel/judge.ts';
import { KEY_SETS, type KeySet } from '../panel/offers.ts';
import { type Case, FRESH, PARTS, type Part, panelOf } from '../panel/panel.ts';

const ROOT = join(import.meta.dir, '../..');
const PAGE = 'docs/route/selectors.md';
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

/** Returns `docs/route/selectors.md` with new tables between its marks. A test compares the file. */
export async function selectorsPage(): Promise<string> {
  const text = marked(PAGE, 'panel', tableOf(await heldNow()));
  const shown = REQUESTS.filter(([id]) => REQUESTS_SHOWN.has(id));
  const rows = await rowsOf(shown, runtimeWith(keysNamed(KEYS_SHOWN)), shortCell);
  return marked(PAGE, KEYS_SHOWN, tableOf(rows.map(([name = '', , ...cells]) => [name, ...cells])), text);
}

/** Returns `test/panel/choices.md` in the same way, with the choices for every set of keys. */
export async function choicesPage(): Promise<string> {
  let text = marked(CHOICES, 'panel', tableOf(await heldRows()));
  text = marked(CHOICES, 'misread', await misreadList(), text);
  for (const keys of KEY_SETS)
    text = marked(CHOICES, keys.name, tableOf(await rowsOf(REQUESTS, runtimeWith(keys), cell)), text);
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
    regret: regretRows(results.flatMap(({ regrets }) => regrets.filter(({ selector }) => selector === 'auto'))),
    cheap: cheapRows(results),
    fast: fastRows(results),
  };
  return Object.entries(tables).reduce(
    (text, [name, rows]) => marked(BENCHMARKS, name, tableOf(rows), text),
    readFileSync(join(ROOT, BENCHMARKS), 'utf8'),
  );
}

/** The set of keys that the page shows. */
const KEYS_SHOWN = 'three';
const REQUESTS_SHOWN: ReadonlySet<string> = new Set([
  'good-morning-one-line',
  'wasser-siedepunkt',
  'code-rust-lru',
  'proof-functional-equation',
]);

function keysNamed(name: string): KeySet {
  const keys = KEY_SETS.find((one) => one.name === name);
  if (!keys) throw new Error(`test/panel/offers.ts has no keys ${name}`);
  return keys;
}

/** Returns the page with the part between the marks of this name replaced. */
function marked(path: string, name: string, made: string, text = readFileSync(join(ROOT, path), 'utf8')): string {
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

/** Counts the acceptable choices now, for requests that the weights were tuned on, and for requests kept for evaluation. */
async function heldNow(): Promise<string[][]> {
  const rows = [['keys', ...SELECTORS.map((selector) => `\`${selector}\``), 'against its name']];
  for (const keys of KEY_SETS) {
    const [tuned, aside] = [await verdictsOf('requests', keys), await verdictsOf('aside', keys)];
    const counts = SELECTORS.map((selector) => `${held(tuned, selector)} + ${held(aside, selector)}`);
    rows.push([keys.name, ...counts, `${broken(tuned) + broken(aside)}`]);
  }
  return rows;
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
const shortCell = ({ model, cost, time }: ShownChoice): string => `\`${model}\` ${cost}, ${time}`;

async function rowsOf(
  requests: typeof REQUESTS,
  runtime: Runtime,
  cellOf: (choice: ShownChoice) => string,
): Promise<string[][]> {
  const rows = [['request', 'task', ...SELECTORS.map((selector) => `\`${selector}\``)]];
  for (const [id, name] of requests) {
    const one = requestOf(id);
    const { task } = factsFor(one, 'auto', runtime);
    const cells: string[] = [];
    for (const selector of SELECTORS) {
      const choice = await choiceOf(one, selector, runtime);
      cells.push(choice ? cellOf(choice) : 'refused');
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
