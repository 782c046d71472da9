import { addFeatures } from './add-features.ts';
import { FEATURE_NAMES } from './features.ts';
import { fold, STEM_LETTERS, STEM_OF_SYSTEM_PROMPT, STEM_PLACES, stemOn } from './letters.ts';
import { figuresOf } from './lexicon/data.ts';
import type { WeightTable } from './lexicon/data-shapes.ts';
import prompts from './lexicon/system-prompts.json' with { type: 'json' };
import { orderedTask } from './order.ts';
import type { QuestionView } from './question-view.ts';
import { type StemIndex, StemRows } from './stem-rows.ts';
import stems from './stems.json' with { type: 'json' };
import { TASKS } from './tasks.ts';
import { WeightedSum, WeightRows } from './weighted-sum.ts';
import features from './weights.json' with { type: 'json' };

/** Logits by task, in the order of `TASKS`. Only the differences between the logits matter. */
export type TaskLogits = Float64Array;

/** Weights of features and stems. */
export interface TaskWeights {
  /** Weights by feature; the rows of stems follow the rows of features. */
  readonly weights: WeightRows;
  /** Maps a stem to its row. */
  readonly rows: StemIndex;
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
/** Every question reuses this sum. */
const terms = new WeightedSum();

/** Sums the weights of a question's features and stems. Without `weights`, `taskLogits` uses the shipped weights. */
export function taskLogits(view: QuestionView, { weights, rows }: TaskWeights = SHIPPED_WEIGHTS): TaskLogits {
  terms.size = 0;
  addFeatures(view, terms);
  addStems(view, rows, terms);
  const logits = terms.over(weights);
  if (!mayCall(view)) logits[TOOL_USE] = Number.NEGATIVE_INFINITY;
  const { system, tools } = view;
  const ordered = system !== null && system.order >= 0 && tools === null ? orderedTask(view, system.order) : -1;
  if (ordered >= 0) logits[ordered] = Math.max(logits[ordered]!, Math.max(...logits) + order_lead);
  return logits;
}

/** The more words a question has, the less each word weighs. */
const WORTH = 3.5;
const FEW = 8;
const MANY = 80;

/** Adds the rows of known stems to the sum. In a system prompt, a stem also has a second row of its own. */
export function addStems(
  { reading: { stems }, isSystemPrompt }: QuestionView,
  rows: StemIndex,
  sum: WeightedSum,
): void {
  const value = WORTH / Math.sqrt(FEW + Math.min(MANY, stems.length));
  for (let i = 0; i < stems.length; i++) {
    const at = rows.get(stems[i]!);
    if (at !== undefined) sum.add(at, value);
    const own = isSystemPrompt ? rows.get(stems[i]! ^ STEM_OF_SYSTEM_PROMPT) : undefined;
    if (own !== undefined) sum.add(own, value);
  }
}

/**
 * Returns the hash of a stem from its name in `stems.json`: `write`; `^write` for the first word, `^^write` for the second word; `=write`
 * in a system prompt.
 */
export function stemNamed(name: string): number {
  const own = name.startsWith('=') ? 1 : 0;
  let begin = own;
  while (name[begin] === '^') begin++;
  const word = fold(name.slice(begin));
  let stem = 0;
  for (let at = 0; at < word.length && at < STEM_LETTERS; at++) stem = stemOn(stem, word.charCodeAt(at));
  return stem ^ (STEM_PLACES[begin - own - 1] ?? 0) ^ (own && STEM_OF_SYSTEM_PROMPT);
}

export const SHIPPED_WEIGHTS = weightsOf(features, stems);

/** @throws RangeError if a table is not for `TASKS`, or a row belongs to no known feature */
function weightsOf(features: WeightTable, stems: WeightTable): TaskWeights {
  for (const { tasks } of [features, stems])
    if (tasks.join() !== TASKS.join()) throw new RangeError(`the table has weights for the tasks ${tasks.join(', ')}`);
  const known = new Set(FEATURE_NAMES);
  for (const name in features.rows)
    if (!known.has(name)) throw new RangeError(`the table has weights for an unknown feature: ${name}`);
  const all = [...FEATURE_NAMES.map((name) => features.rows[name]), ...Object.values(stems.rows)];
  const figures = new Float64Array(all.length * TASKS.length);
  for (const [at, row = []] of all.entries())
    for (let task = 0; task < row.length; task++) figures[at * TASKS.length + task] = row[task]! / 100;
  const weights = new WeightRows(figures);
  const names = Object.keys(stems.rows);
  return { weights, rows: new StemRows(names.map((name, at) => [stemNamed(name), FEATURE_NAMES.length + at])) };
}
