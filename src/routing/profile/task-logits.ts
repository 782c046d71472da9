import { addFeatures } from './add-features.ts';
import { FEATURE_NAMES } from './features.ts';
import { figuresOf } from './lexicon/data.ts';
import type { WeightTable } from './lexicon/data-shapes.ts';
import prompts from './lexicon/system-prompts.json' with { type: 'json' };
import { certainTask } from './order.ts';
import type { QuestionView } from './question-view.ts';
import type { ReadingTables } from './reading-tables.ts';
import { TASKS } from './tasks.ts';
import weights from './weights.json' with { type: 'json' };
import type { Words } from './word-sums.ts';
import { addRows, COLUMN, COLUMNS } from './word-table.ts';

/** Log odds by column: of each task, in the order of `TASKS`, and of an easy and a hard request. Only the differences between tasks matter. */
export type ReadingOdds = Float64Array;

/** The figures that determine a reading. */
export interface ReadingWeights {
  /** `COLUMNS` weights for each feature, in the order of `FEATURE_NAMES`. */
  readonly features: Float32Array;
  /** `COLUMNS` figures for each row of words; null for the shipped table. */
  readonly words: Float32Array | null;
}

const TOOL_USE = TASKS.indexOf('tool_use');
/** Tasks that a follow-up may leave without naming another task. */
const LOOSE: ReadonlySet<string> = new Set(['general', 'chat', 'tool_use']);

/**
 * Returns whether a tool call is possible: the request offers tools, and the message is not a follow-up such as "continue" that continues
 * code.
 */
export function mayCall({ tools, before }: QuestionView): boolean {
  if (tools === null) return false;
  if (tools.named || tools.amid || before === null) return true;
  return !before.some((share, at) => share >= 0.5 && !LOOSE.has(TASKS[at]!));
}

const { order_lead } = figuresOf(prompts);

/** Sums the weights of a question's features and words. Without `weights`, `oddsOf` uses the shipped weights. */
export function oddsOf(
  view: QuestionView,
  tables: ReadingTables,
  { features, words }: ReadingWeights = SHIPPED_WEIGHTS,
): ReadingOdds {
  const { terms } = tables;
  terms.size = 0;
  addFeatures(view, tables);
  const odds = terms.over(features);
  for (const text of view.words) {
    const sums = words === null ? text.sums : sumsBy(words, text);
    for (let column = 0; column < COLUMNS; column++) odds[column]! += sums[column]!;
  }
  if (!mayCall(view)) odds[TOOL_USE] = Number.NEGATIVE_INFINITY;
  const certain = certainTask(view);
  if (certain >= 0) {
    const tasks = odds.subarray(0, TASKS.length);
    tasks[certain] = Math.max(tasks[certain]!, Math.max(...tasks) + order_lead);
  }
  return odds;
}

/** Returns the log odds of the tasks. */
export const taskLogits = (view: QuestionView, tables: ReadingTables, weights?: ReadingWeights): Float64Array =>
  oddsOf(view, tables, weights).subarray(0, TASKS.length);

/** Returns what words add to each column according to a table that is being fitted. */
function sumsBy(table: Float32Array, { rows, value }: Words): Float64Array {
  const sums = new Float64Array(COLUMNS);
  addRows(rows, value, sums, table);
  return sums;
}

export const SHIPPED_WEIGHTS = weightsOf(weights);

/** @throws RangeError if the table is not for these columns, or a row belongs to no known feature */
function weightsOf({ columns, rows }: WeightTable): ReadingWeights {
  const names = [...TASKS, ...Object.keys(COLUMN)];
  if (columns.join() !== names.join()) throw new RangeError(`the table has weights for ${columns.join(', ')}`);
  const known = new Map(FEATURE_NAMES.map((name, at) => [name, at]));
  const features = new Float32Array(FEATURE_NAMES.length * COLUMNS);
  for (const [name, row] of Object.entries(rows)) {
    const at = known.get(name);
    if (at === undefined) throw new RangeError(`the table has weights for an unknown feature: ${name}`);
    for (let column = 0; column < row.length; column++) features[at * COLUMNS + column] = row[column]! / 100;
  }
  return { features, words: null };
}
