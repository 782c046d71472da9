import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { addFeatures } from '../src/routing/profile/add-features.ts';
import { FEATURE_NAMES } from '../src/routing/profile/features.ts';
import { readForm, spansOf, wordsValue } from '../src/routing/profile/frame.ts';
import type { WeightTable } from '../src/routing/profile/lexicon/data-shapes.ts';
import { readQuestion } from '../src/routing/profile/question.ts';
import type { QuestionView } from '../src/routing/profile/question-view.ts';
import { likelihoods } from '../src/routing/profile/shares.ts';
import { mayCall, type ReadingWeights } from '../src/routing/profile/task-logits.ts';
import { TASKS } from '../src/routing/profile/tasks.ts';
import { COLUMN, COLUMNS, ROW_BITS, SHIPPED_WORDS, STEPS } from '../src/routing/profile/word-table.ts';
import type { ChatBody as ProfileInput } from '../test/support/chat-body.ts';
import { lastView, READER, systemPromptView } from '../test/support/chat-body.ts';

/**
 * Fits the figures that determine the task and the difficulty of a question: the weights of its features, and the table of its words. The
 * fit is a softmax regression on the labelled prompts, with AdaGrad. Fitting the same prompts again gives the same figures.
 */
const PROMPTS = join(import.meta.dir, '../test/routing/prompts');
const SETS = 'dev acts everyday everyday-more terse traps talks exams standing standing-more misread pasted'.split(' ');
/** The authors of requests and of frames that nothing is fitted to. */
export const HELD_OUT = { authors: ['a08', 'a09', 'a12'], frames: ['a02', 'a04', 'a06', 'a10'] } as const;
/** Other requests that nothing is fitted to: exam questions, questions about passages, and law, medicine and tax. */
export const HELD_OUT_KINDS = ['exams', 'passages', 'professions'] as const;
/** The authors whose requests are used. The author a15 counts three times, because a15 has few requests of kinds that were misread. */
const AUTHORS = 'a01 a02 a03 a04 a05 a06 a07 a10 a11 a13 a14 a15 a15 a15'.split(' ');
/** The authors whose frames are used. */
const FRAMES = 'a01 a03 a05 a07 w0 w0 w1 w2 w3 w4 w5 w6 w7'.split(' ');
const EPOCHS = 12;
const RATE = 0.1;
/** The share of features that are dropped from an example each time, because words that the fit has not seen are missing in the same way. */
const DROPPED = 0.3;
const PENALTY = 1e-5;
/**
 * The log odds of tasks are multiplied by this factor. The fit is too sure about authors that it has not seen: with this factor, the loss on
 * the authors a02 and a05 is smallest if they are left out.
 */
const TEMPERATURE = 0.75;
/** The weights are averaged over the epochs from this epoch on, for stability. */
const SETTLED = 4;

/** Features about tools change only the odds of `tool_use`. */
const IS_OF_TOOLS = FEATURE_NAMES.map((name) => /\btools?\b/.test(name));
const TOOL_USE = TASKS.indexOf('tool_use');
/** Features of a question under a system prompt, and of a system prompt itself. */
const IS_UNDER = FEATURE_NAMES.map((name) => /^under |^a system prompt$/.test(name));
const IS_STANDING = FEATURE_NAMES.map((name) => /what to do/.test(name));

export interface LabelledPrompt {
  readonly id: string;
  readonly language: string;
  readonly task: string;
  /** The task of the system prompt; `general` if it has no particular task. */
  readonly standing?: string;
  /** How hard the request is, 0 to 4. */
  readonly level?: number;
  readonly difficulty?: string;
  readonly request: ProfileInput;
}

export interface Frame {
  readonly language: string;
  readonly before: string;
  readonly after: string;
}

/** The number of figures: features first, then the rows of words. */
const ROWS = FEATURE_NAMES.length + 2 ** ROW_BITS;
const FIRST_WORD = FEATURE_NAMES.length;

interface Example {
  /** Rows of figures and their values; the fit changes the rows before `fixed`. */
  readonly rows: Int32Array;
  readonly values: Float32Array;
  readonly fixed: number;
  /** The index of the task; -1 if the example has none. */
  readonly task: number;
  /** Whether the request is easy, and whether it is hard; null without a label. */
  readonly isEasy: boolean | null;
  readonly isHard: boolean | null;
  /** Whether a tool call is possible. */
  readonly offers: boolean;
}

const linesOf = <Line>(name: string): Line[] =>
  readFileSync(join(PROMPTS, `${name}.jsonl`), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
export const promptsOf = (name: string): LabelledPrompt[] => linesOf(name);

const FIRST_SEED = 12_345;

/** Returns deterministic pseudo-random numbers in [0, 1). */
function lottery(seed = FIRST_SEED): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
}

export const framesOf = (names: readonly string[]): Frame[] =>
  names.flatMap((name) => linesOf<Frame>(`authors/${name}-wrappers`));

/** Returns a prompt whose last message is in a frame; null if the message is no text. */
export function framed(prompt: LabelledPrompt, { before, after }: Frame): LabelledPrompt | null {
  const { messages } = prompt.request;
  const last = messages.at(-1)!;
  if (last.role !== 'user' || typeof last.content !== 'string') return null;
  const content = `${before}${last.content}${after}`;
  return { ...prompt, request: { ...prompt.request, messages: [...messages.slice(0, -1), { ...last, content }] } };
}

/** Returns each prompt in frames at random, mostly of its own language. */
export function framedPrompts(
  prompts: readonly LabelledPrompt[],
  frames: readonly Frame[],
  share: number,
): LabelledPrompt[] {
  const draw = lottery();
  const byLanguage = Map.groupBy(frames, ({ language }) => language);
  return prompts.flatMap((prompt) => {
    if (draw() >= share || frames.length === 0) return [];
    const own = byLanguage.get(prompt.language) ?? [];
    const pool = own.length > 4 && draw() < 0.6 ? own : frames;
    return framed(prompt, pool[Math.floor(draw() * pool.length)]!) ?? [];
  });
}

/** A span of a message: the rows of its words and of its form. */
interface SpanExample {
  readonly rows: Int32Array;
  readonly words: number;
  readonly isFrame: boolean;
}

const LONGEST = 1_400;

/** Returns the spans of a message, and whether they belong to the frame. */
function spansIn(content: string, frame: Frame | null): SpanExample[] {
  const inner = content.trim();
  const { tables } = READER;
  const { text, lines } = readQuestion(frame === null ? inner : `${frame.before}${inner}${frame.after}`, tables);
  const from = text.indexOf(inner);
  if (from < 0) return [];
  const spans = spansOf(text, lines, tables.spans);
  return spans.map((span, at) => {
    const words = tables.spans.distinct(span.begin, span.end);
    const form = tables.rows;
    readForm(text, spans, at, form);
    return {
      rows: Int32Array.of(...words, ...form.distinct(0, form.size)),
      words: words.length,
      isFrame: frame !== null && (span.to <= from || span.from >= from + inner.length),
    };
  });
}

/** The number of texts that each frame is put around. */
const FRAME_TEXTS = 8;
const FRAME_EPOCHS = 8;
const FRAME_DROPPED = 0.4;

/** Fits the column of frames, and writes it into the shipped table, because reading a question uses it. */
function fitFrames(prompts: readonly LabelledPrompt[], frames: readonly Frame[]): void {
  const draw = lottery();
  const texts = prompts.flatMap(({ request }) => {
    const content = request.messages.at(-1)?.content;
    return typeof content === 'string' && content.trim() && content.length < LONGEST ? [content] : [];
  });
  const spans = [
    ...texts.flatMap((content) => spansIn(content, null)),
    ...Array.from({ length: FRAME_TEXTS }, () => frames).flatMap((all) =>
      all.flatMap((frame) => spansIn(texts[Math.floor(draw() * texts.length)]!, frame)),
    ),
  ];
  // Many prompts have frames of their own, so sentences that look like frames are no examples of questions in the second fit.
  const first = fitSpans(spans, 1, draw);
  const likely = spans.filter((span) => span.isFrame || oddsOfSpan(span, first) < FRAME_LIKE);
  const second = fitSpans(likely, LOSS, draw);
  for (let row = 0; row < second.length; row++) SHIPPED_WORDS[row * COLUMNS + COLUMN.frame] = inSteps(second[row]!);
}

const FRAME_LIKE = -0.5;
/** A question that loses words is worse than a frame that stays, so sentences of questions count more. */
const LOSS = 2;

const oddsOfSpan = ({ rows, words }: SpanExample, figures: Float32Array): number =>
  rows.reduce((sum, row, at) => sum + figures[row]! * (at < words ? wordsValue(words) : 1), 0);

/** Fits a figure for each row, by which frames differ from questions. @param weight of the sentences of questions */
function fitSpans(examples: readonly SpanExample[], weight: number, draw: () => number): Float32Array {
  const spans = [...examples];
  const figures = new Float32Array(2 ** ROW_BITS);
  const squares = new Float32Array(2 ** ROW_BITS).fill(1e-2);
  const sums = new Float32Array(2 ** ROW_BITS);
  for (let epoch = 0; epoch < FRAME_EPOCHS; epoch++) {
    shuffle(spans, draw);
    for (const { rows, words, isFrame } of spans) {
      const value = wordsValue(words);
      const kept = rows.map((_, at) => (draw() < FRAME_DROPPED ? 0 : at < words ? 1 : 2));
      let odds = 0;
      for (let at = 0; at < rows.length; at++)
        if (kept[at]! > 0) odds += figures[rows[at]!]! * (kept[at] === 1 ? value : 1);
      const error = isFrame ? 1 / (1 + Math.exp(-odds)) - 1 : weight / (1 + Math.exp(-odds));
      for (let at = 0; at < rows.length; at++) {
        if (kept[at] === 0) continue;
        const row = rows[at]!;
        const slope = error * (kept[at] === 1 ? value : 1) + PENALTY * figures[row]!;
        squares[row]! += slope * slope;
        figures[row]! -= (RATE * slope) / Math.sqrt(squares[row]!);
      }
    }
    if (epoch >= FRAME_EPOCHS - 4) for (let row = 0; row < sums.length; row++) sums[row]! += figures[row]! / 4;
  }
  // Dropped rows are missing while fitting, so all rows together weigh less.
  return sums.map((figure) => figure * (1 - FRAME_DROPPED));
}

const inSteps = (figure: number): number => Math.max(-127, Math.min(127, Math.round(figure * STEPS)));

function shuffle<Member>(list: Member[], draw: () => number): void {
  for (let i = list.length - 1; i > 0; i--) {
    const j = Math.floor(draw() * (i + 1));
    [list[i], list[j]] = [list[j]!, list[i]!];
  }
}

/**
 * Returns the examples of a set. Images are left out, because rules decide them. `fitted`: the weights so far, for system prompts and
 * earlier questions.
 */
function examplesOf(name: string, fitted: ReadingWeights): Example[] {
  const prompts = promptsOf(name);
  const isAuthor = name.startsWith('authors/');
  // If only the system prompt determines the task, the words of the text teach nothing about it.
  const questions = prompts.flatMap((prompt) =>
    exampleOf(
      lastView(prompt.request, fitted),
      prompt,
      prompt.standing === prompt.task && isBound(prompt.request, prompt.task, fitted) ? 'under' : 'all',
    ),
  );
  const inFrames = framedPrompts(prompts, framesOf(FRAMES), FRAMED).flatMap((prompt) =>
    prompt.standing === undefined ? exampleOf(lastView(prompt.request, fitted), prompt, 'all') : [],
  );
  // A role does not change the task, so some prompts are repeated under a system prompt without a task.
  const posed = prompts.flatMap((prompt, at) => {
    const persona = at % EVERY === 0 ? PERSONAS[(at / EVERY) % PERSONAS.length] : undefined;
    if (isAuthor || prompt.standing !== undefined || persona === undefined) return [];
    const messages = [persona, ...prompt.request.messages];
    return exampleOf(lastView({ ...prompt.request, messages }, fitted), prompt, 'under');
  });
  // Prompts with a system prompt count twice, because there are many more prompts without one.
  const again = prompts.flatMap((prompt) =>
    prompt.standing === undefined ? [] : exampleOf(lastView(prompt.request, fitted), prompt, 'under'),
  );
  const systems = systemPrompts(prompts).flatMap((prompt) =>
    prompt.standing === undefined
      ? []
      : exampleOf(systemPromptView(prompt.request), { task: prompt.standing }, 'standing'),
  );
  return [...questions, ...inFrames, ...posed, ...systems, ...again];
}

const EVERY = 2;
/** The share of prompts that are repeated in a frame. */
const FRAMED = 0.5;
/** Longer system prompts of coding agents, in UTF-16 code units, describe the agent and not the task of its users. */
const LONG = 300;
/** System prompts that have a role but no task. */
const PERSONAS = systemPrompts(SETS.flatMap(promptsOf)).flatMap(({ standing, request }) => {
  const isAgent = standing === 'coding' && (request.messages[0]?.content?.length ?? 0) > LONG;
  return standing === 'general' || isAgent ? request.messages.slice(0, 1) : [];
});

/** Tasks of system prompts that do not apply to every text, unless the prompt says so. */
const LOOSE = ['general', 'chat', 'coding', 'math', 'reasoning'];
const isBound = (request: ProfileInput, task: string, fitted: ReadingWeights): boolean =>
  !LOOSE.includes(task) || lastView(request, fitted)?.system?.binds === true;

/** Returns each system prompt once. */
function systemPrompts(prompts: readonly LabelledPrompt[]): LabelledPrompt[] {
  const labelled = prompts.filter(({ standing }) => standing !== undefined);
  return [...new Map(labelled.map((prompt) => [prompt.request.messages[0]?.content, prompt])).values()];
}

type Label = Pick<LabelledPrompt, 'task' | 'level' | 'difficulty'> & Partial<Pick<LabelledPrompt, 'request'>>;
/** Returns whether a request is easy and whether it is hard; nulls without a label, and for an agent, whose level depends on its progress. */
function difficultyOf({ level, difficulty, request }: Label): Pick<Example, 'isEasy' | 'isHard'> {
  if (request?.messages.at(-1)?.role !== 'user') return { isEasy: null, isHard: null };
  if (difficulty !== undefined) return { isEasy: difficulty === 'easy', isHard: difficulty === 'hard' };
  return level === undefined ? { isEasy: null, isHard: null } : { isEasy: level === 0, isHard: level >= HARD };
}

/** A request is hard from this level on. */
const HARD = 3;

/** @param teaches the group of weights for whose fit the example is used */
function exampleOf(view: QuestionView | null, label: Label, teaches: 'all' | 'under' | 'standing'): Example[] {
  const task = TASKS.indexOf(label.task);
  if (view === null || (task < 0 && label.difficulty === undefined)) return [];
  const { terms } = READER.tables;
  terms.size = 0;
  addFeatures(view, READER.tables);
  const taught: [row: number, value: number][] = [];
  const fixed: [row: number, value: number][] = [];
  for (let at = 0; at < terms.size; at++) {
    const row = terms.rows[at]!;
    const isTaught = teaches === 'all' || (teaches === 'under' ? IS_UNDER[row] : IS_STANDING[row]);
    (isTaught ? taught : fixed).push([row, terms.values[at]!]);
  }
  view.words.forEach((words, at) => {
    // The first words are of the question itself.
    const isTaught = teaches === 'all' || at > 0;
    for (const row of words.rows) (isTaught ? taught : fixed).push([FIRST_WORD + row, words.value]);
  });
  const all = [...taught, ...fixed];
  return [
    {
      rows: Int32Array.from(all, ([row]) => row),
      values: Float32Array.from(all, ([, value]) => value),
      fixed: taught.length,
      task,
      ...(teaches === 'all' ? difficultyOf(label) : { isEasy: null, isHard: null }),
      offers: mayCall(view),
    },
  ];
}

/** The figures of all rows by column, in the order of the rows of examples. */
type Figures = Float32Array;

/** The figures are the mean of several fits, because the order of the examples alone changes one task in a hundred. */
const FITS = 3;

/** Returns the figures that the examples teach. */
function fit(examples: readonly Example[]): Figures {
  const mean = new Float32Array(ROWS * COLUMNS);
  for (let seed = 0; seed < FITS; seed++) {
    const figures = fitOnce(examples, lottery(FIRST_SEED + seed));
    for (let at = 0; at < mean.length; at++) mean[at]! += figures[at]! / FITS;
  }
  return mean;
}

function fitOnce(examples: readonly Example[], draw: () => number): Figures {
  const size = ROWS * COLUMNS;
  const figures = new Float32Array(size);
  const squares = new Float32Array(size).fill(1e-2);
  const sums = new Float32Array(size);
  const order = examples.map((_, at) => at);
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    shuffle(order, draw);
    for (const at of order) step(examples[at]!, figures, squares, draw);
    if (epoch >= SETTLED) for (let at = 0; at < size; at++) sums[at]! += figures[at]! / (EPOCHS - SETTLED);
  }
  return sums;
}

const kept = new Uint8Array(65_536);
const errors = new Float64Array(COLUMNS);

function step(example: Example, figures: Figures, squares: Figures, draw: () => number): void {
  const { rows, values, fixed } = example;
  const scale = 1 / (1 - DROPPED);
  errors.fill(0);
  for (let at = 0; at < rows.length; at++) {
    kept[at] = rows[at] === 0 || draw() >= DROPPED ? 1 : 0;
    if (kept[at] === 0) continue;
    const place = rows[at]! * COLUMNS;
    const value = values[at]! * scale;
    for (let column = 0; column < COLUMNS; column++) errors[column]! += value * figures[place + column]!;
  }
  toErrors(errors, example);
  for (let at = 0; at < fixed; at++) {
    if (kept[at] === 0) continue;
    const row = rows[at]!;
    const value = values[at]! * scale;
    for (let column = 0; column < COLUMNS; column++) {
      const error = errors[column]!;
      if (error === 0 || (row < FIRST_WORD && IS_OF_TOOLS[row] && column < TASKS.length && column !== TOOL_USE))
        continue;
      const place = row * COLUMNS + column;
      const slope = error * value + PENALTY * figures[place]!;
      squares[place]! += slope * slope;
      figures[place]! -= (RATE * slope) / Math.sqrt(squares[place]!);
    }
  }
}

/** Replaces the log odds by the difference of the likelihoods from the truth; 0 for columns that the example does not teach. */
function toErrors(odds: Float64Array<ArrayBuffer>, { task, offers, isEasy, isHard }: Example): void {
  const tasks = odds.subarray(0, TASKS.length);
  if (!offers) tasks[TOOL_USE] = Number.NEGATIVE_INFINITY;
  if (task < 0) tasks.fill(0);
  else {
    likelihoods(tasks, tasks);
    tasks[task]! -= 1;
  }
  odds[COLUMN.easy] = errorOf(odds[COLUMN.easy]!, isEasy);
  odds[COLUMN.hard] = errorOf(odds[COLUMN.hard]!, isHard);
}

const errorOf = (odds: number, truth: boolean | null): number =>
  truth === null ? 0 : 1 / (1 + Math.exp(-odds)) - (truth ? 1 : 0);

const weightsFrom = (figures: Figures): ReadingWeights => ({
  features: figures.subarray(0, FIRST_WORD * COLUMNS),
  words: figures.subarray(FIRST_WORD * COLUMNS),
});

const UNTAUGHT = new Float32Array(ROWS * COLUMNS);
export const SETS_OF_PROMPTS = [...SETS, ...AUTHORS.map((name) => `authors/${name}`)];

/** No examples of questions without frames, because their orders ("Answer with the letter only") are frames. */
const LATER: readonly string[] = ['authors/a15'];

/** Short requests, and prompts with only a difficulty. They are few, so they count five times. */
const GRADED: readonly string[] = Array.from({ length: 5 }, () => ['basics', 'difficulty']).flat();

function examplesBy(figures: Figures): Map<string, Example[]> {
  // The readings of texts depend on the frames, which change while fitting.
  READER.forget();
  const weights = weightsFrom(figures);
  return new Map([...SETS_OF_PROMPTS, ...GRADED].map((name, at) => [`${name} ${at}`, examplesOf(name, weights)]));
}

/** Returns a digest of everything that determines the figures: the prompts, the frames, the rows of each example, and the method of fitting. */
export function digest(): string {
  const hasher = new Bun.CryptoHasher('sha256').update(readFileSync(import.meta.path, 'utf8'));
  for (const name of FRAMES) hasher.update(JSON.stringify(framesOf([name])));
  for (const [name, examples] of examplesBy(UNTAUGHT)) {
    hasher.update(name);
    for (const { rows, values, task, isEasy, isHard } of examples)
      hasher.update(rows).update(values).update(`${task} ${isEasy} ${isHard}`);
  }
  return hasher.digest('hex').slice(0, 16);
}

/** What the labelled prompts teach. */
export interface Lesson {
  /** The weights of the features, in hundredths. */
  readonly features: WeightTable['rows'];
  /** The table of words, in its steps. */
  readonly words: Int8Array;
}

/** Fits all figures. The fit changes the shipped table in memory, because it determines the frames of questions. */
export function learn(): Lesson {
  SHIPPED_WORDS.fill(0);
  fitFrames(SETS_OF_PROMPTS.filter((name) => !LATER.includes(name)).flatMap(promptsOf), framesOf(FRAMES));
  // The earlier questions of the examples have the tasks that a first fit gives them.
  const first = fit([...examplesBy(UNTAUGHT).values()].flat());
  teach(first);
  const figures = fit([...examplesBy(first).values()].flat());
  teach(figures);
  return { features: featureRows(figures), words: SHIPPED_WORDS };
}

/** Calibrates the figures, and writes those of words into the shipped table, except the column of frames. */
function teach(figures: Figures): void {
  for (let at = 0; at < figures.length; at++) if (at % COLUMNS < TASKS.length) figures[at]! *= TEMPERATURE;
  for (let at = 0; at < SHIPPED_WORDS.length; at++)
    if (at % COLUMNS !== COLUMN.frame) SHIPPED_WORDS[at] = inSteps(figures[FIRST_WORD * COLUMNS + at]!);
}

/** Returns the weights of the features in hundredths. The addition converts -0 to 0. */
const featureRows = (figures: Figures): WeightTable['rows'] =>
  Object.fromEntries(
    FEATURE_NAMES.flatMap((name, row) => {
      const own = figures.subarray(row * COLUMNS, row * COLUMNS + COLUMN.hard + 1);
      const weights = Array.from(own, (one) => Math.round(100 * one) + 0);
      return weights.every((one) => one === 0) ? [] : [[name, weights]];
    }),
  );
