import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml';
import { type Abilities, abilitiesOf } from './ability.ts';
import type { Facts } from './facts.ts';
import { qualityOf } from './quality.ts';
import { reasoningOf, speedOf } from './speed.ts';

const ROOT = join(import.meta.dir, '../..');

/** The files whose figures are computed. `simulated.yaml` is not one of them, because its models do not exist. */
export const CATALOG_FILES = ['policies/models.yaml', 'src/admin/use-cases/catalog/own-models.yaml'].map((name) =>
  join(ROOT, name),
);

/** A model's figures as they are written in YAML. */
interface Lines {
  /** A value that is null means that the key is not written. */
  readonly reasoning_tokens: string | null;
  readonly latency: string | null;
  readonly quality: string;
}
const KEYS = ['reasoning_tokens', 'latency', 'quality'] as const;

const LINE_LENGTH = 120;
const INDENT = 4;

/** Returns the text of a catalog with all of its figures computed again. Everything else stays unchanged, byte for byte. */
export function withFigures(text: string, facts: Facts): string {
  const models = parseDocument(text).get('models', true);
  if (!isMap(models)) throw new TypeError('no `models`');
  const abilities = abilitiesOf(facts);
  const edits = models.items.flatMap((pair) => editsOf(text, pair, facts, abilities));
  return edits
    .sort((a, b) => b.from - a.from)
    .reduce((written, { from, to, lines }) => written.slice(0, from) + lines + written.slice(to), text);
}

/** Returns the names of a catalog's models. */
export function modelsOf(text: string): string[] {
  const models = parseDocument(text).get('models', true);
  return isMap(models) ? models.items.map(({ key }) => String(key)) : [];
}

export const readCatalog = (file: string): string => readFileSync(file, 'utf8');

interface Edit {
  /** The offsets of whole lines. */
  readonly from: number;
  readonly to: number;
  readonly lines: string;
}

function editsOf(text: string, { key, value }: Pair, facts: Facts, abilities: Abilities): Edit[] {
  const model = String(key);
  if (!isMap(value)) throw new TypeError(`${model} is no map`);
  const lines = linesOf(model, capabilitiesOf(value), facts, abilities);
  if (!spanOf(text, value, 'quality')) throw new TypeError(`${model} needs \`quality\``);
  const edits: Edit[] = [];
  // Missing keys are written before the next existing key.
  let absent = '';
  for (const name of KEYS) {
    const written = lines[name];
    const own =
      written === null ? '' : `${' '.repeat(INDENT)}${name}:${written.startsWith('\n') ? '' : ' '}${written}\n`;
    const span = spanOf(text, value, name);
    if (!span) absent += own;
    else {
      edits.push({ ...span, lines: absent + own });
      absent = '';
    }
  }
  return edits;
}

/** Returns the lines of a key, including the comment after it. */
function spanOf(text: string, map: YAMLMap, name: string): { from: number; to: number } | null {
  const pair = map.items.find(({ key }) => isScalar(key) && key.value === name);
  if (!pair || !isScalar(pair.key) || !pair.key.range) return null;
  const range = isScalar(pair.value) || isMap(pair.value) ? pair.value.range : null;
  const last = range?.[1] ?? pair.key.range[1];
  return { from: text.lastIndexOf('\n', pair.key.range[0]) + 1, to: text.indexOf('\n', last - 1) + 1 };
}

function capabilitiesOf(map: YAMLMap): ReadonlySet<string> {
  const stated: unknown = map.toJSON()?.capabilities;
  return new Set(Array.isArray(stated) ? stated.map(String) : []);
}

function linesOf(model: string, capabilities: ReadonlySet<string>, facts: Facts, abilities: Abilities): Lines {
  const can = (task: string) =>
    task === 'vision' ? capabilities.has('vision') : task !== 'tool_use' || capabilities.has('tools');
  const { shares, asOf } = qualityOf(abilities, model, can);
  const reasoning = Object.entries(reasoningOf(facts, model)).filter(([task]) => can(task));
  const speed = speedOf(facts, model);
  const tokens = reasoning.length === 1 ? '0' : flow('reasoning_tokens', entriesOf(reasoning));
  return {
    reasoning_tokens: capabilities.has('reasoning') ? tokens : null,
    latency:
      speed &&
      flow('latency', [
        `ttft_ms: ${speed.ttftMs}`,
        `output_tokens_per_second: ${speed.rate}`,
        `basis: ${speed.basis}`,
        `as_of: ${speed.asOf}`,
      ]),
    quality: flow('quality', [...entriesOf(Object.entries(shares)), 'basis: guessed', `as_of: ${asOf}`]),
  };
}

const entriesOf = (entries: readonly (readonly [string, number])[]): string[] =>
  entries.map(([task, value]) => `${task}: ${value}`);

/** Returns `{ a: 1, b: 2 }` after its key, or on separate lines if it is too long for one line. */
function flow(name: string, entries: readonly string[]): string {
  const whole = `{ ${entries.join(', ')} }`;
  if (INDENT + name.length + 2 + whole.length <= LINE_LENGTH) return whole;
  const inner = ' '.repeat(INDENT + 2);
  const lines: string[] = [];
  for (const entry of entries) {
    const last = lines.at(-1);
    // Two more characters: the brace, or the blank in its column, and the comma.
    if (last !== undefined && inner.length + 2 + last.length + entry.length + 4 <= LINE_LENGTH) {
      lines[lines.length - 1] = `${last}, ${entry}`;
    } else lines.push(entry);
  }
  return `\n${inner}{ ${lines.join(`,\n${inner}  `)} }`;
}
