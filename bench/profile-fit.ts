import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Features } from '../src/routing/profile/features.ts';
import { LANGUAGE_BITS, languageSigns, VOTE_BITS } from '../src/routing/profile/languages.ts';
import { splitMessage } from '../src/routing/profile/message.ts';
import { PromptReader } from '../src/routing/profile/prompt-reader.ts';
import { readQuestion, TOOL_USE } from '../src/routing/profile/question.ts';
import {
  COLUMN,
  COLUMNS,
  CONTEXT_COLUMNS,
  checkOf,
  FIGURE_MAX,
  SLOT_BITS,
  SLOT_BYTES,
  slotOf,
  TASKS,
  type TableFile,
} from '../src/routing/profile/table.ts';
import { Words } from '../src/routing/profile/words.ts';
import type { ChatBody } from '../test/support/chat-body.ts';
import { chatRequest } from '../test/support/model-request.ts';

/**
 * Fits the table of features that tells the task, the difficulty and the length of a question, and the table that tells its language, on
 * the labelled prompts. The fit is a softmax regression with AdaGrad: first on all features, then on the one feature of each slot that
 * says most. Fitting the same prompts again gives the same tables.
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
const FRAMES = 'a01 a03 a05 a07 w0 w1 w2 w3 w4 w5 w6 w7'.split(' ');
/** Short requests, and prompts with only a difficulty. They are few, so they count five times. */
const GRADED = Array.from({ length: 5 }, () => ['basics', 'difficulty']).flat();
export const SETS_OF_PROMPTS = [...SETS, ...AUTHORS.map((name) => `authors/${name}`)];

const EPOCHS = 8;
/** The weights are averaged over the epochs from this epoch on, and over several fits, for stability. */
const SETTLED = 3;
const FITS = 4;
const RATE = 0.1;
const FIRST_SQUARES = 0.1;
/** The share of features that are dropped from an example each time, because words that the fit has not seen are missing in the same way. */
const DROPPED = 0.3;
const PENALTY = 1e-5;
/** The log odds are multiplied by these factors, with which the loss on authors that were left out is smallest. */
const TEMPERATURE = { tasks: 1, others: 1.2 } as const;
/** The share of prompts that are repeated in a frame, under a system prompt that orders nothing, and under one that orders a task. */
const FRAMED = 1;
const IDLE = 0.5;
const ORDERED = 0.3;
/** A request is hard from this level on. */
const HARD = 3;
/** A demanding request that is read as usual is worse than the reverse. */
const HARD_WEIGHT = 2;
/** An answer of at most this many tokens is short. */
const SHORT = 60;

export interface LabelledPrompt {
  readonly id: string;
  readonly language: string;
  readonly task: string;
  /** The task of the system prompt; `general` if it has no particular task. */
  readonly standing?: string;
  /** How hard the request is, 0 to 4. */
  readonly level?: number;
  readonly difficulty?: string;
  /** The output tokens of a good answer. */
  readonly tokens?: number;
  readonly request: ChatBody;
}

export interface Frame {
  readonly language: string;
  readonly before: string;
  readonly after: string;
}

const fileOf = (name: string): string => join(PROMPTS, `${name}.jsonl`);
const framesName = (name: string): string => `authors/${name}-wrappers`;
const linesOf = <Line>(name: string): Line[] =>
  readFileSync(fileOf(name), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
export const promptsOf = (name: string): LabelledPrompt[] => linesOf(name);
export const framesOf = (names: readonly string[]): Frame[] =>
  names.flatMap((name) => linesOf<Frame>(framesName(name)));

/** Returns deterministic pseudo-random numbers in [0, 1). */
function lottery(seed = 12_345): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff;
    return state / 0x80000000;
  };
}

const memberOf = <Member>(list: readonly Member[], draw: () => number): Member =>
  list[Math.floor(draw() * list.length)]!;

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
    return framed(prompt, memberOf(own.length > 4 && draw() < 0.6 ? own : frames, draw)) ?? [];
  });
}

/** Returns the system prompt of a prompt; '' for none. */
function systemOf({ request: { messages } }: LabelledPrompt): string {
  const [first] = messages;
  return first?.role === 'system' && typeof first.content === 'string' ? first.content : '';
}

const under = (content: string, { request }: LabelledPrompt): ChatBody => ({
  ...request,
  messages: [{ role: 'system', content }, ...request.messages],
});

/** Tasks of system prompts that do not apply to every text. */
const LOOSE: readonly string[] = ['general', 'chat', 'coding', 'math', 'reasoning', 'tool_use', 'vision'];

/** A label: what the example teaches; null for nothing. */
interface Label {
  readonly task: number;
  readonly isShort: boolean | null;
  readonly isEasy: boolean | null;
  readonly isHard: boolean | null;
}

/**
 * A request in the order of the fit: first the features of the message, which tell its difficulty, then those of its context, and then, from
 * `tools` on, those of offered tools.
 */
interface Example extends Label {
  readonly hashes: Int32Array;
  readonly values: Float32Array;
  readonly fixed: Float32Array;
  readonly own: number;
  readonly tools: number;
  readonly offers: boolean;
}

/** Notes the features from which a reader computes its sums. */
class Recorder {
  readonly lists = new WeakMap<Float64Array, Pick<Features, 'hashes' | 'values' | 'fixed'>>();

  add({ hashes, values, fixed, size }: Features, _: number, sums: Float64Array): Float64Array {
    this.lists.set(sums, { hashes: hashes.slice(0, size), values: values.slice(0, size), fixed: fixed.slice(0, size) });
    return sums;
  }
}

const RECORDER = new Recorder();
const READER = new PromptReader(RECORDER);

function exampleOf(body: ChatBody, label: Label): Example[] {
  if (label.task < 0 && label.isHard === null) return [];
  const { parts, odds } = readQuestion(chatRequest(body).conversation, READER);
  if (parts.length === 0) return [];
  const lists = parts.map(({ sums, weight, isOfTools }) => ({ ...RECORDER.lists.get(sums)!, weight, isOfTools }));
  return [
    {
      ...label,
      hashes: Int32Array.from(lists.flatMap(({ hashes }) => [...hashes])),
      values: Float32Array.from(lists.flatMap(({ values, weight }) => Array.from(values, (one) => one * weight))),
      fixed: Float32Array.from(lists.flatMap(({ fixed }) => [...fixed])),
      own: lists[0]!.hashes.length,
      tools: lists.reduce((sum, { hashes, isOfTools }) => sum + (isOfTools ? 0 : hashes.length), 0),
      offers: Number.isFinite(odds[TOOL_USE]!),
    },
  ];
}

/** Returns what a prompt teaches. The level of an agent depends on its progress, so it says nothing about the question. */
function labelOf({ task, level, difficulty, tokens, request }: LabelledPrompt): Label {
  const isAsked = request.messages.at(-1)?.role === 'user';
  const isLevelled = isAsked && (difficulty !== undefined || level !== undefined);
  return {
    task: TASKS.indexOf(task),
    isShort: isAsked && tokens !== undefined ? tokens <= SHORT : difficulty === 'hard' ? false : null,
    isEasy: isLevelled ? (difficulty === undefined ? level === 0 : difficulty === 'easy') : null,
    isHard: isLevelled ? (difficulty === undefined ? level! >= HARD : difficulty === 'hard') : null,
  };
}

/** Returns the examples of some sets: the prompts, also in frames, and under system prompts of other prompts. */
function examplesOf(sets: readonly string[]): Example[] {
  const draw = lottery(77);
  const frames = framesOf(FRAMES);
  const all = sets.flatMap(promptsOf);
  const orders = [...new Map(all.map((one) => [systemOf(one), one.standing])).entries()];
  const idle = ['You are a helpful assistant.', ...orders.flatMap(([text, task]) => (task === 'general' ? text : []))];
  const strict = orders.filter(([, task]) => task !== undefined && !LOOSE.includes(task));
  return sets.flatMap((name) => {
    const prompts = promptsOf(name);
    const free = prompts.filter((one) => one.standing === undefined);
    return [
      ...[...prompts, ...framedPrompts(free, frames, FRAMED)].flatMap((one) => exampleOf(one.request, labelOf(one))),
      ...free.flatMap((one) => {
        if (systemOf(one) !== '' || one.task === undefined) return [];
        const isSimple = one.request.messages.length === 1 && !one.request.tools && one.task !== 'chat';
        const examples: Example[] = [];
        if (draw() < IDLE)
          examples.push(
            ...exampleOf(under(memberOf(idle, draw), one), {
              ...labelOf(one),
              isShort: null,
              isEasy: null,
              isHard: null,
            }),
          );
        if (draw() < ORDERED && isSimple && one.task !== 'vision') {
          const [text, task] = memberOf(strict, draw);
          const label = {
            ...labelOf(one),
            task: TASKS.indexOf(task!),
            isShort: task === 'classification' ? true : null,
          };
          examples.push(...exampleOf(under(text, one), label));
        }
        return examples;
      }),
    ];
  });
}

/** The figures of features: `COLUMNS` for each, at its index. */
interface Figures {
  readonly indexes: ReadonlyMap<number, number>;
  readonly all: Float32Array;
}

/** Fits the features that are in `kept`. @param seeds one fit for each */
function fit(examples: readonly Example[], kept: (hash: number) => boolean, seeds: readonly number[]): Figures {
  const indexes = new Map<number, number>();
  const data = examples.map(({ hashes, values, fixed, own, tools, ...label }) => {
    const rows: number[] = [];
    const used: number[] = [];
    const usedFixed: number[] = [];
    let first = 0;
    let beforeTools = 0;
    hashes.forEach((hash, at) => {
      if (!kept(hash)) return;
      if (!indexes.has(hash)) indexes.set(hash, indexes.size);
      rows.push(indexes.get(hash)!);
      used.push(values[at]!);
      usedFixed.push(fixed[at]!);
      if (at < own) first++;
      if (at < tools) beforeTools++;
    });
    return {
      ...label,
      rows: Int32Array.from(rows),
      values: Float32Array.from(used),
      fixed: Float32Array.from(usedFixed),
      own: first,
      tools: beforeTools,
    };
  });
  const sums = new Float32Array(indexes.size * COLUMNS);
  for (const seed of seeds) fitOnce(data, sums, 1 / (seeds.length * (EPOCHS - SETTLED)), lottery(seed));
  return { indexes, all: sums };
}

type Row = Label & Pick<Example, 'offers' | 'own' | 'tools' | 'values' | 'fixed'> & { readonly rows: Int32Array };

function fitOnce(data: readonly Row[], sums: Float32Array, share: number, draw: () => number): void {
  const figures = new Float32Array(sums.length);
  const squares = new Float32Array(sums.length).fill(FIRST_SQUARES);
  const order = data.map((_, at) => at);
  for (let epoch = 0; epoch < EPOCHS; epoch++) {
    for (let i = order.length - 1; i > 0; i--) {
      const j = Math.floor(draw() * (i + 1));
      [order[i], order[j]] = [order[j]!, order[i]!];
    }
    for (const at of order) step(data[at]!, figures, squares, draw);
    if (epoch >= SETTLED) for (let at = 0; at < sums.length; at++) sums[at]! += share * figures[at]!;
  }
}

const isKept = new Uint8Array(65_536);
const errors = new Float64Array(COLUMNS);

function step(row: Row, figures: Float32Array, squares: Float32Array, draw: () => number): void {
  const { rows, values, fixed, own, tools } = row;
  const scale = 1 / (1 - DROPPED);
  errors.fill(0);
  for (let at = 0; at < rows.length; at++) {
    isKept[at] = draw() >= DROPPED ? 1 : 0;
    if (isKept[at] === 0) continue;
    const place = rows[at]! * COLUMNS;
    const columns = at < own ? COLUMNS : at < tools ? CONTEXT_COLUMNS : TOOL_USE + 1;
    for (let column = at < tools ? 0 : TOOL_USE; column < columns; column++)
      errors[column]! += (column < CONTEXT_COLUMNS ? values : fixed)[at]! * scale * figures[place + column]!;
  }
  toErrors(row);
  for (let at = 0; at < rows.length; at++) {
    if (isKept[at] === 0) continue;
    const place = rows[at]! * COLUMNS;
    const columns = at < own ? COLUMNS : at < tools ? CONTEXT_COLUMNS : TOOL_USE + 1;
    for (let column = at < tools ? 0 : TOOL_USE; column < columns; column++) {
      const error = errors[column]!;
      if (error === 0) continue;
      const slope =
        error * (column < CONTEXT_COLUMNS ? values : fixed)[at]! * scale + PENALTY * figures[place + column]!;
      squares[place + column]! += slope * slope;
      figures[place + column]! -= (RATE * slope) / Math.sqrt(squares[place + column]!);
    }
  }
}

/** Replaces the log odds by the difference of the likelihoods from the truth; 0 for columns that the example does not teach. */
function toErrors({ task, offers, isShort, isEasy, isHard }: Row): void {
  const tasks = errors.subarray(0, TASKS.length);
  if (!offers) tasks[TOOL_USE] = Number.NEGATIVE_INFINITY;
  if (task < 0) tasks.fill(0);
  else {
    const most = Math.max(...tasks);
    let sum = 0;
    for (let at = 0; at < tasks.length; at++) sum += tasks[at] = Math.exp(tasks[at]! - most);
    for (let at = 0; at < tasks.length; at++) tasks[at]! /= sum;
    tasks[task]! -= 1;
  }
  for (const [name, truth, weight] of [
    ['short', isShort, 1],
    ['easy', isEasy, 1],
    ['hard', isHard, HARD_WEIGHT],
  ] as const) {
    const share = 1 / (1 + Math.exp(-errors[COLUMN[name]]!));
    errors[COLUMN[name]] = truth === null ? 0 : truth ? weight * (share - 1) : share;
  }
}

/** How often a feature counts in its importance: with this power of its squared values. */
const OFTEN = 0.3;

/** Returns the feature of each slot that says most: by how far its figures differ, and how often it occurs. */
function strongest(examples: readonly Example[], { indexes, all }: Figures): ReadonlySet<number> {
  const use = new Float64Array(indexes.size);
  for (const { hashes, values } of examples)
    hashes.forEach((hash, at) => {
      const index = indexes.get(hash);
      if (index !== undefined) use[index]! += values[at]! ** 2;
    });
  const best = new Map<number, { readonly hash: number; readonly says: number }>();
  for (const [hash, index] of indexes) {
    const figures = all.subarray(index * COLUMNS, (index + 1) * COLUMNS);
    const tasks = figures.subarray(0, TASKS.length);
    const mean = tasks.reduce((sum, one) => sum + one, 0) / TASKS.length;
    let square = figures[COLUMN.hard]! ** 2 + 0.3 * (figures[COLUMN.easy]! ** 2 + figures[COLUMN.short]! ** 2);
    for (const one of tasks) square += (one - mean) ** 2;
    const says = Math.sqrt(square) * use[index]! ** OFTEN;
    const slot = slotOf(hash);
    if (says > (best.get(slot)?.says ?? 0)) best.set(slot, { hash, says });
  }
  return new Set(Array.from(best.values(), ({ hash }) => hash));
}

/** The share of figures that the scale of a column covers. Greater figures are cut. */
const COVERED = 0.998;

/** Writes figures as a table. */
function packed({ indexes, all }: Figures): TableFile {
  const scales = Array.from({ length: COLUMNS }, (_, column) => {
    const sizes = Array.from(indexes.values(), (index) => Math.abs(all[index * COLUMNS + column]!)).sort(
      (a, b) => a - b,
    );
    return Number(((sizes[Math.floor(sizes.length * COVERED)] ?? 1) / FIGURE_MAX).toPrecision(4));
  });
  const bytes = new Uint8Array(SLOT_BYTES << SLOT_BITS);
  for (const [hash, index] of indexes) {
    const at = slotOf(hash) * SLOT_BYTES;
    bytes[at] = checkOf(hash);
    for (let column = 0; column < COLUMNS; column++) {
      const steps = Math.round(all[index * COLUMNS + column]! / scales[column]!);
      const figure = Math.max(-FIGURE_MAX, Math.min(FIGURE_MAX, steps)) + FIGURE_MAX + 1;
      bytes[at + 1 + (column >> 1)]! |= figure << (4 * (column & 1));
    }
  }
  const calibrated = scales.map((scale, at) =>
    Number((scale * (at < TASKS.length ? TEMPERATURE.tasks : TEMPERATURE.others)).toPrecision(4)),
  );
  return { scales: calibrated, base64: bytes.toBase64() };
}

/** A natural language has at least this many prompts, and a sign at least this many occurrences. */
const LANGUAGE_MIN = 5;
const SIGN_MIN = 2;
/** The shares of a language from which a sign has 1 to 4 votes for it. */
const VOTES = [0.6, 0.8, 0.9, 0.97] as const;

/** Fits the table of languages: for each sign the language that has most of its occurrences, if all languages had equally many prompts. */
function learnLanguages(prompts: readonly LabelledPrompt[]) {
  const words = new Words();
  const byLanguage = Map.groupBy(prompts, ({ language }) => language);
  const names = [...byLanguage.keys()]
    .filter((name) => name !== 'und' && byLanguage.get(name)!.length >= LANGUAGE_MIN)
    .sort();
  const counts = new Map<number, Float64Array>();
  for (const [at, name] of names.entries())
    for (const { request } of byLanguage.get(name)!) {
      const content = request.messages.at(-1)?.content;
      if (typeof content !== 'string' || request.messages.at(-1)?.role !== 'user') continue;
      const { question } = splitMessage(content);
      for (const hash of languageSigns(question, words.read(question))) {
        const count = counts.get(hash) ?? new Float64Array(names.length);
        counts.set(hash, count);
        count[at]! += 1;
      }
    }
  const sizes = names.map((name) => byLanguage.get(name)!.length);
  const bytes = new Uint8Array(2 << LANGUAGE_BITS);
  const says = new Float64Array(1 << LANGUAGE_BITS);
  for (const [hash, count] of counts) {
    const all = count.reduce((sum, one) => sum + one, 0);
    if (all < SIGN_MIN) continue;
    const rates = count.map((one, at) => (one + 0.02) / (sizes[at]! + 20) ** 0.6);
    const best = rates.indexOf(Math.max(...rates));
    const share = rates[best]! / rates.reduce((sum, one) => sum + one, 0);
    const votes = VOTES.filter((least) => share >= least).length;
    const slot = hash >>> (32 - LANGUAGE_BITS);
    const weight = votes * Math.sqrt((count[best]! / sizes[best]!) * 100);
    if (votes === 0 || weight <= says[slot]!) continue;
    says[slot] = weight;
    bytes[2 * slot] = hash & 0xff;
    bytes[2 * slot + 1] = ((best + 1) << VOTE_BITS) | (votes - 1);
  }
  return { names, base64: bytes.toBase64() };
}

/** The digest reads one of so many prompts. `learn` reads all of them, in `npm run test:deep`. */
const DIGESTED = 10;

/** Returns a digest of what determines the tables: the method of fitting, the frames and the prompts, and what is read of some prompts. */
export function digest(): string {
  const hasher = new Bun.CryptoHasher('sha256').update(readFileSync(import.meta.path, 'utf8'));
  const sets = [...SETS_OF_PROMPTS, ...GRADED];
  for (const name of [...sets, ...FRAMES.map(framesName)]) hasher.update(readFileSync(fileOf(name)));
  const some = sets.flatMap(promptsOf).filter((_, at) => at % DIGESTED === 0);
  for (const { hashes, values, fixed } of some.flatMap((one) => exampleOf(one.request, labelOf(one))))
    hasher.update(hashes).update(values).update(fixed);
  return hasher.digest('hex').slice(0, 16);
}

/** Returns the tables that the labelled prompts teach. @param without sets that are left out, to choose a setting of the fit */
export function learn(without: readonly string[] = []) {
  const sets = SETS_OF_PROMPTS.filter((name) => !without.includes(name));
  const examples = examplesOf([...sets, ...GRADED]);
  const counts = new Map<number, number>();
  for (const { hashes } of examples) for (const hash of hashes) counts.set(hash, (counts.get(hash) ?? 0) + 1);
  const first = fit(examples, (hash) => counts.get(hash)! > 1, [1]);
  const kept = strongest(examples, first);
  const seeds = Array.from({ length: FITS }, (_, at) => at + 2);
  const tasks = packed(fit(examples, (hash) => kept.has(hash), seeds));
  return { tasks, languages: learnLanguages([...new Set(sets)].flatMap(promptsOf)) };
}
