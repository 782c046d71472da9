import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRefusal } from '../../src/routing/decide.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import { decideAll, decideOne, factsFor, runtimeWith, type Verdict } from '../panel/decide.ts';
import { SELECTORS, type Selector } from '../panel/judge.ts';
import { KEY_SETS } from '../panel/offers.ts';
import { type Case, type PARTS, panelOf } from '../panel/panel.ts';

const PATH = join(import.meta.dir, '../../docs/selectors.md');

const panel = new Map(panelOf('requests').map((one) => [one.id, one]));

export function requestOf(id: string): Case {
  const one = panel.get(id);
  if (!one) throw new Error(`test/panel/requests.yaml has no ${id}`);
  return one;
}

/** A request of the panel for each task, and how the page names it. */
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

/** `docs/selectors.md`, with the tables between its marks made anew; a test holds the file to it. */
export async function selectorsPage(): Promise<string> {
  let page = readFileSync(PATH, 'utf8');
  page = page.replace(PANEL, (_, begin: string, end: string) => `${begin}\n@@\n\n${end}`);
  page = page.replace('@@', tableOf(await heldRows()));
  page = page.replace(MISREAD, (_, begin: string, end: string) => `${begin}\n@@\n\n${end}`);
  page = page.replace('@@', await misreadList());
  for (const keys of KEY_SETS) {
    const mark = new RegExp(`^(<!-- made: ${keys.name} -->\n)[\\s\\S]*?^(<!-- end -->)$`, 'm');
    if (!mark.test(page)) throw new Error(`docs/selectors.md has no mark for ${keys.name}`);
    const table = tableOf(await rowsOf(runtimeWith(keys)));
    page = page.replace(mark, (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`);
  }
  return page;
}

const PANEL = /^(<!-- made: panel -->\n)[\s\S]*?^(<!-- end -->)$/m;

/**
 * What held at the commit of the panel, before any figure was changed for it: `auto`, `auto-cheap`, `auto-fast`, both
 * laws together, by set of keys.
 */
const BEFORE: Readonly<Record<string, Readonly<Record<(typeof PARTS)[number], readonly number[]>>>> = {
  openai: { requests: [76, 27, 94, 128], aside: [32, 12, 42, 60] },
  anthropic: { requests: [75, 8, 32, 142], aside: [32, 5, 17, 60] },
  gemini: { requests: [89, 51, 90, 4], aside: [41, 25, 45, 5] },
  three: { requests: [38, 15, 10, 121], aside: [20, 7, 8, 60] },
  all: { requests: [19, 23, 10, 97], aside: [9, 8, 7, 48] },
  ollama: { requests: [118, 118, 118, 0], aside: [57, 57, 57, 0] },
};

/** How many choices of the panel hold, before and now. */
async function heldRows(): Promise<string[][]> {
  const rows = [['keys', 'of', ...SELECTORS.map((selector) => `\`${selector}\``), 'against its name']];
  for (const keys of KEY_SETS) {
    for (const part of ['requests', 'aside'] as const) {
      const verdicts = await decideAll(panelOf(part), keys);
      const counts = [...SELECTORS.map((selector) => held(verdicts, selector)), broken(verdicts)];
      const shown = counts.map((count, at) => `${BEFORE[keys.name]![part][at]} → ${count}`);
      rows.push([keys.name, `${verdicts.length}${part === 'aside' ? ' aside' : ''}`, ...shown]);
    }
  }
  return rows;
}

const MISREAD = /^(<!-- made: misread -->\n)[\s\S]*?^(<!-- end -->)$/m;

/** The requests of the panel whose task is misread: as expected, and as read. The keys make no difference to it. */
async function misreadList(): Promise<string> {
  const cases = (['requests', 'aside'] as const).flatMap((part) => panelOf(part));
  const verdicts = await decideAll(cases, KEY_SETS[0]!);
  const missed = verdicts.flatMap(({ id, task, isTaskRight }, at) =>
    isTaskRight ? [] : [`\`${id}\` (${cases[at]!.task} → ${task})`],
  );
  return `Read right: ${cases.length - missed.length} of ${cases.length}. Misread: ${missed.join(', ')}.`;
}

const held = (verdicts: readonly Verdict[], selector: Selector): number =>
  verdicts.filter(({ choices }) => choices[selector].faults.length === 0).length;

const broken = (verdicts: readonly Verdict[]): number =>
  verdicts.reduce((sum, { lawsBroken }) => sum + lawsBroken.length, 0);

async function rowsOf(runtime: Runtime): Promise<string[][]> {
  const rows = [['request', 'task', ...SELECTORS.map((selector) => `\`${selector}\``)]];
  for (const [id, name] of REQUESTS) {
    const one = requestOf(id);
    const { task } = factsFor(one, 'auto', runtime);
    const cells: string[] = [];
    for (const selector of SELECTORS) cells.push(await cellOf(one, selector, runtime));
    rows.push([name, task, ...cells]);
  }
  return rows;
}

async function cellOf(one: Case, selector: Selector, runtime: Runtime): Promise<string> {
  const outcome = await decideOne(one, selector, runtime);
  if (isRefusal(outcome)) return 'refused';
  const [{ model, costCredits, latencyMs, quality }] = outcome.ranked;
  const { id } = runtime.snapshot.models[model]!;
  return `\`${id}\` ${credits(costCredits)} Cr, ${(latencyMs / 1_000).toFixed(1)} s, ${Math.round(quality * 100)} %`;
}

/** Two digits that count: `0.17`, `3.4`, `120`. */
const credits = (value: number): string =>
  value >= 10 ? String(Math.round(value)) : String(Number(value.toPrecision(2)));

/** Laid out as the formatter does, so that it has nothing to say about what was made. */
function tableOf(rows: readonly (readonly string[])[]): string {
  const widths = rows[0]!.map((_, at) => Math.max(3, ...rows.map((cells) => Bun.stringWidth(cells[at]!))));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => cell + ' '.repeat(widths[at]! - Bun.stringWidth(cell))).join(' | ')} |`;
  const [head, ...body] = rows.map(line);
  return [head, line(widths.map((width) => '-'.repeat(width))), ...body].join('\n');
}
