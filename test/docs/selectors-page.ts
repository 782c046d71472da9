import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isRefusal } from '../../src/routing/decide.ts';
import type { Runtime } from '../../src/runtime/runtime.ts';
import { decideOne, factsFor, runtimeWith } from '../panel/decide.ts';
import { SELECTORS, type Selector } from '../panel/judge.ts';
import { KEY_SETS } from '../panel/offers.ts';
import { type Case, panelOf } from '../panel/panel.ts';

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
  for (const keys of KEY_SETS) {
    const mark = new RegExp(`^(<!-- made: ${keys.name} -->\n)[\\s\\S]*?^(<!-- end -->)$`, 'm');
    if (!mark.test(page)) throw new Error(`docs/selectors.md has no mark for ${keys.name}`);
    const table = tableOf(await rowsOf(runtimeWith(keys)));
    page = page.replace(mark, (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`);
  }
  return page;
}

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
