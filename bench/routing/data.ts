import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from '@sinclair/typebox';
import { TypeCompiler } from '@sinclair/typebox/compiler';
import { median } from '../stats.ts';

/** A line of a file of labelled prompts. */
const LineText = Type.Object({
  id: Type.String({ minLength: 1 }),
  source: Type.String({ minLength: 1 }),
  prompt: Type.String(),
  labels: Type.Record(Type.String(), Type.Number({ minimum: 0, maximum: 1 })),
  category: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});

const PriceText = Type.Union([Type.Number({ minimum: 0 }), Type.Null()]);

const ModelsText = Type.Object({
  models: Type.Record(
    Type.String(),
    Type.Object({
      in_per_1m: Type.Optional(PriceText),
      out_per_1m: Type.Optional(PriceText),
      mean_out_tokens: Type.Optional(Type.Record(Type.String(), Type.Number({ minimum: 0 }))),
    }),
  ),
});

const checkLine = TypeCompiler.Compile(LineText);
const checkModels = TypeCompiler.Compile(ModelsText);

/** The output tokens of an answer if neither the model nor the source has a figure. */
const OUTPUT_TOKENS = 100;
/** The characters per token, for costs. */
const CHARS_PER_TOKEN = 4;

/** `train` rows are used for teaching, `test` rows are of the same sources, `heldout` rows are of other sources. */
export type Part = 'train' | 'test' | 'heldout';

export interface Row {
  readonly id: string;
  readonly source: string;
  readonly prompt: string;
  readonly category: string;
  /** The score of each model's answer, 0..1. */
  readonly labels: ReadonlyMap<string, number>;
}

export interface PricedModel {
  /** USD per 1M tokens. */
  readonly input: number;
  readonly output: number;
  /** The output tokens of its answers, by source. */
  readonly meanOutput: ReadonlyMap<string, number>;
}

export interface Data {
  readonly parts: Readonly<Record<Part, readonly Row[]>>;
  /** The models that have a price. */
  readonly models: ReadonlyMap<string, PricedModel>;
}

/**
 * Reads a folder of `*.jsonl` and `*.jsonl.gz` files with `models.json`. Files with `train` or `test` in their names are the parts `train`
 * and `test`; all other files are held out. Throws an Error that names file and line.
 */
export function readData(folder: string): Data {
  if (!existsSync(folder)) throw new Error(`--data: there is no folder ${folder}`);
  const names = readdirSync(folder).sort();
  const files = names.filter((name) => /\.jsonl(?:\.gz)?$/.test(name));
  if (files.length === 0) throw new Error(`${folder} holds no *.jsonl or *.jsonl.gz`);
  const parts: Record<Part, Row[]> = { train: [], test: [], heldout: [] };
  for (const name of files) parts[partOf(name)].push(...readRows(join(folder, name)));
  return { parts, models: readModels(join(folder, 'models.json')) };
}

const partOf = (name: string): Part => (/train/.test(name) ? 'train' : /test/.test(name) ? 'test' : 'heldout');

function readRows(file: string): Row[] {
  const bytes = readFileSync(file);
  const text = new TextDecoder().decode(file.endsWith('.gz') ? Bun.gunzipSync(bytes) : bytes);
  return text.split('\n').flatMap((line, at) => (line.trim() === '' ? [] : [rowOf(line, `${file}:${at + 1}`)]));
}

/** Returns the row in a line. Throws an Error that begins with `where`. */
export function rowOf(line: string, where: string): Row {
  const value = jsonOf(line, where);
  if (!checkLine.Check(value)) throw new Error(`${where}: ${firstFault(checkLine.Errors(value))}`);
  const { id, source, prompt, labels, category }: Static<typeof LineText> = value;
  return { id, source, prompt, category: category ?? source, labels: new Map(Object.entries(labels)) };
}

function jsonOf(text: string, where: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(`${where}: no JSON (${error instanceof Error ? error.message : error})`);
  }
}

const firstFault = (errors: Iterable<{ readonly path: string; readonly message: string }>): string => {
  for (const { path, message } of errors) return `${path === '' ? 'the line' : path.slice(1)}: ${message}`;
  return 'not of the format';
};

function readModels(file: string): Map<string, PricedModel> {
  if (!existsSync(file)) throw new Error(`${file} is missing: prices are read from it`);
  const value = jsonOf(readFileSync(file, 'utf8'), file);
  if (!checkModels.Check(value)) throw new Error(`${file}: ${firstFault(checkModels.Errors(value))}`);
  const models = new Map<string, PricedModel>();
  for (const [id, given] of Object.entries(value.models)) {
    const { in_per_1m: input, out_per_1m: output, mean_out_tokens: mean = {} } = given;
    if (input == null || output == null) continue;
    models.set(id, { input, output, meanOutput: new Map(Object.entries(mean)) });
  }
  return models;
}

export const tokensOf = (prompt: string): number => Math.max(1, Math.ceil(prompt.length / CHARS_PER_TOKEN));

/**
 * Returns the output tokens of a model's answers on a source: the model's mean on the source, otherwise the median of the other models of
 * the source, otherwise a default.
 */
export function outputTokens(id: string, source: string, models: Data['models']): number {
  const own = models.get(id)?.meanOutput.get(source);
  if (own !== undefined) return own;
  const others = [...models.values()].flatMap(({ meanOutput }) => meanOutput.get(source) ?? []);
  return others.length === 0 ? OUTPUT_TOKENS : median(others);
}
