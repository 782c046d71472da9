import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addFeatures } from '../src/routing/profile/add-features.ts';
import { FEATURE_NAMES } from '../src/routing/profile/features.ts';
import { FOLDED, fold, isUnspaced, MARK, STEM_LETTERS } from '../src/routing/profile/letters.ts';
import type { WeightTable } from '../src/routing/profile/lexicon/data-shapes.ts';
import type { QuestionView } from '../src/routing/profile/question-view.ts';
import { likelihoods } from '../src/routing/profile/shares.ts';
import { addStems, mayCall, stemNamed, type TaskWeights } from '../src/routing/profile/task-logits.ts';
import { TASKS } from '../src/routing/profile/tasks.ts';
import { WeightedSum, WeightRows } from '../src/routing/profile/weighted-sum.ts';
import type { ChatBody as ProfileInput } from '../test/support/chat-body.ts';
import { lastView, systemPromptView } from '../test/support/chat-body.ts';

/**
 * Fits the weights that determine a question's task: a softmax regression on the labelled prompts for tuning, with AdaGrad and a small L2
 * penalty. Fitting the same prompts again gives the same weights.
 */
const PROMPTS = join(import.meta.dir, '../test/routing/prompts');
export const SETS =
  'dev acts everyday everyday-more terse traps talks exams standing standing-more misread pasted'.split(' ');
const EPOCHS = 30;
const RATE = 0.2;
/** The share of features that are dropped from an example each time. This value and the penalty give the best results on held-out sets. */
const DROPPED = 0.2;
const PENALTY = 1e-3;
/** The weights are averaged over the epochs from this epoch on, for stability. */
const SETTLED = 9;

/** Features about tools change only the odds of `tool_use`. */
const IS_OF_TOOLS = FEATURE_NAMES.map((name) => /\btools?\b/.test(name));
const TOOL_USE = TASKS.indexOf('tool_use');
/** Features of a question under a system prompt, and of a system prompt itself. */
const IS_UNDER = FEATURE_NAMES.map((name) => /^under |^a system prompt$/.test(name));
const IS_STANDING = FEATURE_NAMES.map((name) => /what to do/.test(name));

interface LabelledPrompt {
  readonly task: string;
  /** The task of the system prompt; `general` if it has no particular task. */
  readonly standing?: string;
  readonly request: ProfileInput;
}

export interface Example {
  /** Whether the example is an unchanged prompt of its file. */
  readonly isOwn: boolean;
  /** The features that are not 0, with index and value. */
  readonly features: readonly (readonly [at: number, value: number])[];
  readonly task: number;
  /** Whether a tool call is possible. */
  readonly offers: boolean;
  /** The group of weights for whose fit the example is used. */
  readonly teaches: 'all' | 'under' | 'standing';
}

const promptsOf = (name: string): LabelledPrompt[] =>
  readFileSync(join(PROMPTS, `${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

/** The minimum number of prompts with a stem for which the stem gets weights. */
const PROMPTS_MIN = 4;

/** Returns the names of the frequent stems, sorted. */
function usualStems(prompts: readonly LabelledPrompt[]): string[] {
  const counts = new Map<string, number>();
  const count = (view: QuestionView | null, prefix: string) => {
    for (const name of new Set(view === null ? [] : stemsIn(view.question)))
      counts.set(prefix + name, (counts.get(prefix + name) ?? 0) + 1);
  };
  for (const { request } of prompts) count(lastView(request, NOTHING), '');
  for (const { request } of systemPrompts(prompts)) count(systemPromptView(request), '=');
  return [...counts].flatMap(([name, count]) => (count < PROMPTS_MIN ? [] : [name])).sort();
}

/** Returns the names of the stems in the lines that ask. */
function stemsIn({ text, lines }: { text: string; lines: readonly { from: number; to: number }[] }): string[] {
  const words = lines.flatMap(({ from, to }) => wordsIn(text.slice(from, to)));
  return words.flatMap((word, at) => [...(at < 2 ? [`${'^'.repeat(at + 1)}${word}`] : []), word]);
}

function wordsIn(line: string): string[] {
  const words = line.split('').reduce<string[]>(
    (all, unit) => {
      const folded = FOLDED[unit.charCodeAt(0)]!;
      if (folded === MARK) return all;
      if (folded < MARK + 2 || isUnspaced(unit.charCodeAt(0))) all.push('');
      else all[all.length - 1] += unit;
      return all;
    },
    [''],
  );
  return words.map((word) => fold(word).slice(0, STEM_LETTERS)).filter(Boolean);
}

/**
 * Returns the examples of a set. Images are left out, because rules decide them. `fitted`: the weights so far, for system prompts and
 * earlier questions.
 */
function examplesOf(name: string, fitted: TaskWeights): Example[] {
  const prompts = promptsOf(name);
  // If only the system prompt determines the task, the words of the text teach nothing about it.
  const questions = prompts.flatMap(({ task, standing, request }) =>
    exampleOf(
      lastView(request, fitted),
      task,
      standing === task && isBound(request, task, fitted) ? 'under' : 'all',
      fitted,
    ),
  );
  // A role does not change the task, so some prompts are repeated under a system prompt without a task.
  const posed = prompts.flatMap(({ task, standing, request }, at) => {
    const persona = at % EVERY === 0 ? PERSONAS[(at / EVERY) % PERSONAS.length] : undefined;
    if (standing !== undefined || persona === undefined) return [];
    const messages = [persona, ...request.messages];
    return exampleOf(lastView({ ...request, messages }, fitted), task, 'under', fitted);
  });
  // Prompts with a system prompt count twice, because there are many more prompts without one.
  const again = prompts.flatMap(({ task, standing, request }) =>
    standing === undefined ? [] : exampleOf(lastView(request, fitted), task, 'under', fitted),
  );
  const systems = systemPrompts(prompts).flatMap(({ standing, request }) =>
    standing === undefined ? [] : exampleOf(systemPromptView(request), standing, 'standing', fitted),
  );
  return [...questions.map((one) => ({ ...one, isOwn: true })), ...posed, ...systems, ...again];
}

const EVERY = 2;
/** Longer system prompts of coding agents, in UTF-16 code units, describe the agent and not the task of its users. */
const LONG = 300;
/** System prompts that have a role but no task. */
const PERSONAS = systemPrompts(SETS.flatMap(promptsOf)).flatMap(({ standing, request }) => {
  const isAgent = standing === 'coding' && (request.messages[0]?.content?.length ?? 0) > LONG;
  return standing === 'general' || isAgent ? request.messages.slice(0, 1) : [];
});

/** Tasks of system prompts that do not apply to every text, unless the prompt says so. */
const LOOSE = ['general', 'chat', 'coding', 'math', 'reasoning'];
const isBound = (request: ProfileInput, task: string, fitted: TaskWeights): boolean =>
  !LOOSE.includes(task) || lastView(request, fitted)?.system?.binds === true;

/** Returns each system prompt once. */
function systemPrompts(prompts: readonly LabelledPrompt[]): LabelledPrompt[] {
  const labelled = prompts.filter(({ standing }) => standing !== undefined);
  return [...new Map(labelled.map((prompt) => [prompt.request.messages[0]?.content, prompt])).values()];
}

function exampleOf(
  view: QuestionView | null,
  task: string,
  teaches: Example['teaches'],
  fitted: TaskWeights,
): Example[] {
  const at = TASKS.indexOf(task);
  if (at < 0 || view === null) return [];
  const terms = new WeightedSum();
  addFeatures(view, terms);
  addStems(view, fitted.rows, terms);
  const features = Array.from({ length: terms.size }, (_, nth) => [terms.rows[nth]!, terms.values[nth]!] as const);
  return [{ features, task: at, offers: mayCall(view), teaches, isOwn: false }];
}

/** Returns deterministic pseudo-random numbers in [0, 1). */
function lottery(): () => number {
  let state = 12_345;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
}

/** All weights 0, without stems. */
const NOTHING: TaskWeights = {
  weights: new WeightRows(new Float64Array(FEATURE_NAMES.length * TASKS.length), true),
  rows: new Map(),
};
const stems = usualStems(SETS.flatMap(promptsOf));
const isOfSystem = stems.map((name) => name.startsWith('='));
const rows = new Map(stems.map((name, at) => [stemNamed(name), FEATURE_NAMES.length + at]));

/** Returns the weights by feature, then by task. */
export function fit(examples: readonly Example[]): Float64Array {
  const size = (FEATURE_NAMES.length + stems.length) * TASKS.length;
  const weights = new Float64Array(size);
  const squares = new Float64Array(size).fill(1e-6);
  const sums = new Float64Array(size);
  const draw = lottery();
  const order = examples.map((_, at) => at);
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    for (let i = order.length - 1; i > 0; i--) {
      const j = Math.floor(draw() * (i + 1));
      [order[i], order[j]] = [order[j]!, order[i]!];
    }
    for (const at of order) step(thinned(examples[at]!, draw), weights, squares);
    if (epoch >= SETTLED) for (let at = 0; at < size; at++) sums[at]! += weights[at]!;
  }
  return sums.map((sum) => Math.round((100 * sum) / (EPOCHS - SETTLED)) / 100);
}

/** Drops features at random, because words that the fit has not seen are missing in the same way. */
const thinned = ({ features, ...rest }: Example, draw: () => number): Example => ({
  features: features.filter(([at]) => at === 0 || draw() >= DROPPED),
  ...rest,
});

function step({ features, task, offers, teaches }: Example, weights: Float64Array, squares: Float64Array): void {
  const likely = likelihoodsOf(features, offers, weights);
  for (let t = 0; t < TASKS.length; t++) {
    const error = likely[t]! - (t === task ? 1 : 0);
    for (const [at, value] of features) {
      if (IS_OF_TOOLS[at] && t !== TOOL_USE) continue;
      if (teaches === 'under' && !IS_UNDER[at]) continue;
      if (
        teaches === 'standing' &&
        !(at < FEATURE_NAMES.length ? IS_STANDING[at] : isOfSystem[at - FEATURE_NAMES.length])
      )
        continue;
      const place = at * TASKS.length + t;
      const slope = error * value + PENALTY * weights[place]!;
      squares[place]! += slope * slope;
      weights[place]! -= (RATE * slope) / Math.sqrt(squares[place]!);
    }
  }
}

function likelihoodsOf(features: Example['features'], offers: boolean, weights: Float64Array): Float64Array {
  const sums = Float64Array.from(TASKS, (_, t) =>
    t === TOOL_USE && !offers
      ? Number.NEGATIVE_INFINITY
      : features.reduce((sum, [at, value]) => sum + value * weights[at * TASKS.length + t]!, 0),
  );
  return likelihoods(sums);
}

/** Returns the share of examples whose most likely task is right; `general` counts if no task is more likely than not. */
export function accuracy(examples: readonly Example[], weights: Float64Array): number {
  const questions = examples.filter(({ isOwn }) => isOwn);
  const right = questions.filter(({ features, task, offers }) => {
    const likely = likelihoodsOf(features, offers, weights);
    const most = Math.max(...likely);
    return (most < 0.5 ? 0 : likely.indexOf(most)) === task;
  });
  return right.length / questions.length;
}

const UNTAUGHT = new Float64Array((FEATURE_NAMES.length + stems.length) * TASKS.length);

const setsBy = (figures: Float64Array): Map<string, Example[]> => {
  const weights = new WeightRows(figures, true);
  return new Map(SETS.map((name) => [name, examplesOf(name, { weights, rows })]));
};

/** Returns a digest of everything that determines the weights: each prompt's features and tasks, and the method of fitting. */
export const digest = (): string => {
  const examples = [...setsBy(UNTAUGHT)];
  const how = readFileSync(import.meta.path, 'utf8');
  return new Bun.CryptoHasher('sha256').update(JSON.stringify(examples)).update(how).digest('hex').slice(0, 16);
};

/** Returns the examples of each set of prompts. The earlier questions of the examples have the tasks that a first fit gives them. */
export const examplesBySet = (): Map<string, Example[]> => setsBy(fit([...setsBy(UNTAUGHT).values()].flat()));

/** If all weights of a row stay below this value, in hundredths, the row is attributed to chance. */
const HARDLY = 25;

/** Returns the weights of a feature or stem in hundredths; null if they are attributed to chance. The addition converts -0 to 0. */
function taughtRow(weights: Float64Array, at: number): number[] | null {
  const own = weights.subarray(at * TASKS.length, (at + 1) * TASKS.length);
  const row = Array.from(own, (one) => Math.round(100 * one) + 0);
  return row.every((one) => Math.abs(one) < HARDLY) ? null : row;
}

/** Returns rows by name, without rows that are attributed to chance. `from`: the row of the first name. */
const taughtRows = (weights: Float64Array, names: readonly string[], from: number): WeightTable['rows'] =>
  Object.fromEntries(
    names.flatMap((name, at) => {
      const row = taughtRow(weights, from + at);
      return row ? [[name, row]] : [];
    }),
  );

/** Returns the weights of the features that carry information. */
export const taughtFeatures = (weights: Float64Array): WeightTable['rows'] => taughtRows(weights, FEATURE_NAMES, 0);

/** Returns the weights of the stems that carry information. */
export const taughtStems = (weights: Float64Array): WeightTable['rows'] =>
  taughtRows(weights, stems, FEATURE_NAMES.length);
