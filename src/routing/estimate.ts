import { MICROCREDITS, type Microcredits } from '../core/credits.ts';
import type { Facts } from '../core/facts.ts';
import { costBound, lineFor, outputWithin, type Price, type PriceLine } from '../core/price.ts';
import type { Readings } from '../core/readings.ts';
import type { Model, PolicySnapshot, Task } from '../core/snapshot.ts';
import { reasoningFactor, worthFactor } from './difficulty.ts';

/** Tokens assumed for an image where the model states no maximum; for estimates only. */
const IMAGE_TOKENS = 1_000;
/** A second of audio: as an MP3 of 128 kbit/s, and what it counts where the model states no maximum; for estimates only. */
const AUDIO_BYTES_PER_SECOND = 16_000;
const AUDIO_TOKENS_PER_SECOND = 32;
/** No codec in use needs less for a second (the lowest rate of MP3 is 8 kbit/s): the bytes bound how long it lasts. */
const AUDIO_BYTES_PER_SECOND_MIN = 500;
/** The least output, in tokens, that is of use from a model that reasons first. */
const REASONING_OUTPUT_MIN = 1_024;

/** Of the input that is to be expected, so much must be in the cache for the first token to come sooner. */
export const WARM_SHARE = 0.5;

/** Visible output tokens of one choice as readings have them: what the request states or asks for, else what its task has shown. */
export function expectedOutput(facts: Facts, snapshot: Tasks, { outputTokens }: Readings): number {
  return capped(facts, () => overTasks(facts, snapshot, (at) => outputTokens[at]!));
}

/** The same by the policy alone: what a reference cost is made of, which nothing that is learnt may move. */
export function declaredOutput(facts: Facts, snapshot: Tasks): number {
  return capped(facts, () => overTasks(facts, snapshot, (at) => snapshot.tasks[at]!.expectedOutputTokens));
}

type Tasks = Pick<PolicySnapshot, 'tasks' | 'taskIndex'>;

/** At most the caller's cap, at least 1. */
function capped({ outputTokens, outputTokensAsked, outputTokensMax }: Facts, ofTask: () => number): number {
  const expected = outputTokens ?? outputTokensAsked ?? ofTask();
  return Math.max(1, Math.min(expected, outputTokensMax ?? expected));
}

/** A figure of the task, by its index; where the task is uncertain, the mean by shares. */
function overTasks({ task, mix }: Facts, { taskIndex }: Tasks, figure: (at: number) => number): number {
  if (mix.length === 0) return figure(taskIndex.get(task) ?? 0);
  let sum = 0;
  for (const { task: name, share } of mix) sum += share * figure(taskIndex.get(name) ?? 0);
  return sum;
}

/** Expected input tokens on a model, images and audio included. */
export function expectedInput(facts: Facts, model: Model): number {
  const { images, audioBytes } = facts;
  const inputTokens = Math.min(facts.inputTokens, countedInput(model, facts));
  const text =
    images === 0 ? inputTokens : inputTokens + images * Math.min(IMAGE_TOKENS, model.imageTokensMax ?? IMAGE_TOKENS);
  if (audioBytes === 0) return text;
  return (
    text + Math.ceil(audioBytes / AUDIO_BYTES_PER_SECOND) * (model.audioTokensPerSecondMax ?? AUDIO_TOKENS_PER_SECOND)
  );
}

/** Input tokens of the text as the model's own tokenizer counted them; Infinity where it had no need to. */
function countedInput({ tokenizer }: Model, { inputTokensCounted }: Facts): number {
  if (inputTokensCounted === null || tokenizer === null) return Number.POSITIVE_INFINITY;
  return inputTokensCounted[tokenizer] ?? Number.POSITIVE_INFINITY;
}

/** Of `input` tokens, those that an endpoint is likely to find in its cache. What is known is of the model's first alone. */
export function cachedInput({ cached }: Facts, { id }: Model, endpoint: number, input: number): number {
  if (endpoint !== 0) return 0;
  for (let i = 0; i < cached.length; i++) if (cached[i]!.model === id) return Math.min(cached[i]!.tokens, input);
  return 0;
}

/** What a request is expected to have a model write, in tokens of one choice. */
export interface ExpectedWriting {
  /** Visible output, whichever model writes it. */
  readonly outputTokens: number;
  /** Tasks that the request may be, by their indexes, with shares that sum to 1. */
  readonly tasks: readonly { readonly index: number; readonly share: number }[];
  /** Times the hidden reasoning that is usual of these. */
  readonly reasoningFactor: number;
}

/** What hidden reasoning goes by. */
type ExpectedReasoning = Pick<ExpectedWriting, 'tasks' | 'reasoningFactor'>;

/** What a request is expected to have any model write. */
export function expectedWriting(facts: Facts, snapshot: Tasks, readings: Readings): ExpectedWriting {
  const { task, mix, difficulty } = facts;
  const indexOf = (name: string): number => snapshot.taskIndex.get(name) ?? 0;
  return {
    outputTokens: expectedOutput(facts, snapshot, readings),
    reasoningFactor: reasoningFactor(difficulty),
    tasks:
      mix.length === 0
        ? [{ index: indexOf(task), share: 1 }]
        : mix.map((one) => ({ index: indexOf(one.task), share: one.share })),
  };
}

/** Hidden reasoning tokens of one choice on a model. */
export function expectedReasoning(
  { reasoningByTask }: Model,
  { tasks, reasoningFactor: factor }: ExpectedReasoning,
): number {
  let sum = 0;
  for (let i = 0; i < tasks.length; i++) sum += tasks[i]!.share * reasoningByTask[tasks[i]!.index]!;
  return sum * factor;
}

/** C: expected Credits at an endpoint. Whoever has its price at hand gives it, and its line where it has just one. */
export function expectedCost(
  model: Model,
  endpoint: number,
  facts: Facts,
  writing: ExpectedWriting,
  price: Price = model.endpoints[endpoint]!.price,
  onlyLine: PriceLine | null = null,
): number {
  const input = expectedInput(facts, model);
  const line = onlyLine ?? lineFor(price, input);
  const output = (writing.outputTokens + expectedReasoning(model, writing)) * facts.choices;
  const saved =
    facts.cached.length === 0 ? 0 : cachedInput(facts, model, endpoint, input) * (line.input - line.cachedInput);
  return (price.perRequest + input * line.input - saved + output * line.output) / price.divisor / MICROCREDITS;
}

/** L: expected milliseconds to the end at an endpoint. Choices are made side by side. */
export function expectedLatency(
  model: Model,
  endpoint: number,
  facts: Facts,
  readings: Readings,
  writing: ExpectedWriting,
): number {
  const slot = model.firstSlot + endpoint;
  return (
    expectedTtft(model, endpoint, facts, readings, writing) +
    (writing.outputTokens * 1000) / readings.tokensPerSecond[slot]!
  );
}

/** Expected milliseconds to the first content at an endpoint, hidden reasoning included. */
export function expectedTtft(
  model: Model,
  endpoint: number,
  facts: Facts,
  readings: Readings,
  writing: ExpectedReasoning,
): number {
  const slot = model.firstSlot + endpoint;
  const usualMs = isWarm(facts, model, endpoint) ? readings.warmTtftMs[slot]! : readings.ttftMs[slot]!;
  const reasoning = expectedReasoning(model, writing);
  return ttftWith(reasoning, model.reasoningTokens, usualMs, readings.tokensPerSecond[slot]!);
}

/**
 * How many times the usual time to the first content a request takes, by what it has a model reason. Readings are of usual
 * requests: what was seen is divided by this before it counts.
 */
export function ttftFactor(model: Model, endpoint: number, readings: Readings, writing: ExpectedReasoning): number {
  const slot = model.firstSlot + endpoint;
  const usualMs = readings.ttftMs[slot]!;
  if (usualMs <= 0) return 1;
  const reasoning = expectedReasoning(model, writing);
  return ttftWith(reasoning, model.reasoningTokens, usualMs, readings.tokensPerSecond[slot]!) / usualMs;
}

/** Of a time to the first content, hidden reasoning is at most this share. */
const THINKING_SHARE_MAX = 0.9;

/**
 * Time to the first content, ms, of a request with so many tokens of hidden reasoning, where it is `usualMs` with `usual`
 * tokens: reasoning is written before the first content, at the rate of the output.
 */
function ttftWith(reasoning: number, usual: number, usualMs: number, tokensPerSecond: number): number {
  if (reasoning === usual) return usualMs;
  if (usual === 0) return usualMs + (1000 * reasoning) / tokensPerSecond;
  const thinkingMs = Math.min((1000 * usual) / tokensPerSecond, THINKING_SHARE_MAX * usualMs);
  return usualMs + thinkingMs * (reasoning / usual - 1);
}

/** Whether so much of the input is in the endpoint's cache that the first token comes sooner. */
function isWarm(facts: Facts, model: Model, endpoint: number): boolean {
  if (facts.cached.length === 0) return false;
  const input = expectedInput(facts, model);
  return cachedInput(facts, model, endpoint, input) >= WARM_SHARE * input;
}

/**
 * v·C_ref: the Credits that a good answer to this request is worth, whoever gives it: this
 * request's expected tokens at the policy's reference price, times `answer_worth`.
 */
export function costReference(snapshot: PolicySnapshot, facts: Facts): number {
  const { input, output } = snapshot.referencePrice;
  const reference = (Math.max(1, facts.inputTokens) * input + declaredOutput(facts, snapshot) * output) / 1_000_000;
  return snapshot.answerWorth * worthFactor(facts.difficulty) * reference;
}

/** The least output of one choice, in tokens, that is worth paying for; never more than is asked for or can come. */
export function usefulOutput(model: Model, facts: Facts, task: Task): number {
  const useful =
    model.reasoningTokens > 0 ? Math.max(REASONING_OUTPUT_MIN, model.reasoningTokens) : task.minUsefulOutput;
  return Math.min(useful, askedOutput(model, facts), model.maxOutput);
}

/** Output tokens of one choice that are asked for at most: the caller's cap, or the model's usual one unless more is expected. */
function askedOutput(model: Model, facts: Facts): number {
  if (facts.outputTokensMax !== null) return facts.outputTokensMax;
  const expected = facts.outputTokens === null ? 0 : facts.outputTokens + model.reasoningTokens;
  return Math.max(model.defaultMaxOutput, expected);
}

/**
 * Input tokens that the request cannot exceed on this model; null when nothing bounds its media.
 */
export function inputBound(model: Model, facts: Facts): number | null {
  const { inputTokensMax, images, audioBytes, unboundedMedia } = facts;
  if (unboundedMedia > 0) return null;
  const imageTokens = images === 0 ? 0 : model.imageTokensMax;
  const perSecond = audioBytes === 0 ? 0 : model.audioTokensPerSecondMax;
  if (imageTokens === null || perSecond === null) return null;
  return (
    Math.min(inputTokensMax, countedInput(model, facts)) +
    images * imageTokens +
    Math.ceil(audioBytes / AUDIO_BYTES_PER_SECOND_MIN) * perSecond
  );
}

/** The output cap of one choice before money is looked at: what was asked, the model's own maximum and its window. */
export function outputCap(model: Model, facts: Facts): number {
  const room = model.contextWindow - expectedInput(facts, model);
  return Math.max(0, Math.min(askedOutput(model, facts), model.maxOutput, room));
}

/** The cap lowered until the worst case on the dearest endpoint fits the budget; below 0 when not even the input does. */
export function affordableCap(model: Model, endpoints: readonly number[], facts: Facts, cap: number): number {
  if (facts.budget === null) return cap;
  const input = inputBound(model, facts);
  if (input === null) return -1;
  let affordable = cap;
  for (const at of endpoints) {
    const output = outputWithin(model.endpoints[at]!.price, input, facts.budget);
    affordable = Math.min(affordable, output < 0 ? -1 : Math.floor(output / facts.choices));
  }
  return affordable;
}

/** Tokens assumed for media that nothing bounds, where no hard limit applies: the hold is then an estimate. */
const UNBOUNDED_MEDIA_TOKENS = 10_000;

/** The worst case of a request on a price, in microcredits, with so many output tokens a choice. */
export function worstCase(price: Price, model: Model, facts: Facts, cap: number): number {
  const input =
    inputBound(model, facts) ??
    Math.max(facts.inputTokensMax, expectedInput(facts, model)) +
      (facts.images + facts.unboundedMedia) * UNBOUNDED_MEDIA_TOKENS;
  return costBound(price, input, cap * facts.choices);
}

/** The endpoints whose worst case is within `most`. */
export function endpointsWithin(
  most: Microcredits,
  model: Model,
  endpoints: readonly number[],
  facts: Facts,
  cap: number,
): readonly number[] {
  return endpoints.filter((at) => worstCase(model.endpoints[at]!.price, model, facts, cap) <= most);
}

/** The same on the dearest of the endpoints that may be tried. */
export function dearestCase(model: Model, endpoints: readonly number[], facts: Facts, cap: number): number {
  let dearest = 0;
  for (let i = 0; i < endpoints.length; i++) {
    dearest = Math.max(dearest, worstCase(model.endpoints[endpoints[i]!]!.price, model, facts, cap));
  }
  return dearest;
}
