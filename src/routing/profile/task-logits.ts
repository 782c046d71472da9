import { FEATURE_NAMES, type QuestionView, visitFeatures } from './features.ts';
import { fold, STEM_LETTERS, STEM_OF_SYSTEM_PROMPT, STEM_PLACES, stemOn } from './letters.ts';
import { orderedTask } from './order.ts';
import { STEMS } from './stems.ts';
import { TASKS } from './tasks.ts';
import { WEIGHTS } from './weights.ts';
import { SYSTEM_PROMPT_WEIGHTS } from './weights-system-prompt.ts';

/** Logits of each task, in the order of `TASKS`; only their differences count. */
export type TaskLogits = Float64Array;

/** What the features and stems of a question weigh. */
export interface TaskWeights {
  /** By feature, then by task; the stems stand behind the named features. */
  readonly weights: Float64Array;
  /** Stem → its row. */
  readonly rows: ReadonlyMap<number, number>;
}

const TOOL_USE = TASKS.indexOf('tool_use');
/** What a question may leave without naming what it turns to. */
const LOOSE: ReadonlySet<string> = new Set(['general', 'chat', 'tool_use']);

/**
 * Whether it can be a tool that is asked for: nobody calls what is not offered, and "continue" after code goes on with
 * the code, whatever is offered.
 */
export function mayCall({ tools, before }: QuestionView): boolean {
  if (tools === null) return false;
  if (tools.named || tools.amid || before === null) return true;
  return !before.some((share, at) => share >= 0.5 && !LOOSE.has(TASKS[at]!));
}

/** What a question says for each task: the sum of what its features and the stems of its words do. */
export function taskLogits(view: QuestionView, { weights, rows }: TaskWeights = FITTED): TaskLogits {
  const evidence = new Float64Array(TASKS.length);
  visitFeatures(view, (at, value) => add(evidence, weights, at, value));
  visitStems(view, rows, (at, value) => add(evidence, weights, at, value));
  if (!mayCall(view)) evidence[TOOL_USE] = Number.NEGATIVE_INFINITY;
  const ordered = orderedTask(view);
  if (ordered >= 0) evidence[ordered] = Math.max(evidence[ordered]!, Math.max(...evidence) + ORDERED);
  return evidence;
}

/** An order stands above all that the question says: how much, in logits, beyond the task that this would be. */
const ORDERED = 3;

function add(evidence: TaskLogits, weights: Float64Array, at: number, value: number): void {
  const row = at * TASKS.length;
  for (let task = 0; task < TASKS.length; task++) evidence[task]! += value * weights[row + task]!;
}

/** A word tells less among many. */
const WORTH = 3.5;
const FEW = 8;
const MANY = 80;

/** Visits the rows of the stems that are known; in a system prompt a stem has a row of its own beside that. */
export function visitStems(
  { reading: { stems }, isSystemPrompt }: QuestionView,
  rows: ReadonlyMap<number, number>,
  visit: (at: number, value: number) => void,
): void {
  const value = WORTH / Math.sqrt(FEW + Math.min(MANY, stems.length));
  for (let i = 0; i < stems.length; i++) {
    const at = rows.get(stems[i]!);
    if (at !== undefined) visit(at, value);
    const told = isSystemPrompt ? rows.get(stems[i]! ^ STEM_OF_SYSTEM_PROMPT) : undefined;
    if (told !== undefined) visit(told, value);
  }
}

/** A stem of `STEMS` as the reader has it: `write`; `^write` as the first word, `^^write` as the second; `=write` in a system prompt. */
export function stemNamed(name: string): number {
  if (name.startsWith('=')) return stemNamed(name.slice(1)) ^ STEM_OF_SYSTEM_PROMPT;
  const word = name.replace(/^\^+/, '');
  let stem = 0;
  for (const letter of fold(word).slice(0, STEM_LETTERS)) stem = stemOn(stem, letter.charCodeAt(0));
  const place = STEM_PLACES[name.length - word.length - 1];
  return place === undefined ? stem : stem ^ place;
}

const FITTED = fitted();

function fitted(): TaskWeights {
  const named = FEATURE_NAMES.flatMap((name) => WEIGHTS[name] ?? SYSTEM_PROMPT_WEIGHTS[name] ?? TASKS.map(() => 0));
  const entries = STEMS.trim()
    .split(/\s+/)
    .filter(Boolean)
    .map((entry) => entry.split(':'));
  const rows = new Map(entries.map(([name = ''], at) => [stemNamed(name), FEATURE_NAMES.length + at]));
  const stems = entries.flatMap(([, row = '']) => row.split(',').map((hundredths) => Number(hundredths) / 100));
  return { weights: Float64Array.from([...named, ...stems]), rows };
}
