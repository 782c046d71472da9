import { MICROCREDITS, type Microcredits } from '../core/credits.ts';
import type { Facts } from '../core/facts.ts';
import { costBound, lineFor, outputWithin, type Price } from '../core/price.ts';
import type { Readings } from '../core/readings.ts';
import type { Model, PolicySnapshot, Task } from '../core/snapshot.ts';
import { reasoningFactor, worthFactor } from './difficulty-effect.ts';
import { expectedOutput, referenceOutput, type Tasks } from './expected-length.ts';
import { expectedInput, heldInput, inputBound } from './input-tokens.ts';

/** The least useful output of a model that reasons first, in tokens. */
const REASONING_OUTPUT_MIN = 1_024;

/** From this cached share of the input on, the first token comes sooner. */
export const WARM_SHARE = 0.5;

/** The policy's figures of a request's task. */
export const taskOf = ({ task }: Facts, { tasks, taskIndex }: Tasks): Task => tasks[taskIndex.get(task) ?? 0]!;

/** How many of the `input` tokens an endpoint likely has cached. Only the first endpoint of a model is tracked. */
export function cachedInput({ cached }: Facts, { id }: Model, endpoint: number, input: number): number {
  if (endpoint !== 0) return 0;
  for (let i = 0; i < cached.length; i++) if (cached[i]!.model === id) return Math.min(cached[i]!.tokens, input);
  return 0;
}

/** The output expected of any model, in tokens of one choice. */
export interface ExpectedWriting {
  /** Visible output. */
  readonly outputTokens: number;
  /** Index of the likeliest task. */
  readonly task: number;
  /** Possible tasks by index, with shares that sum to 1; empty where the task is certain. */
  readonly mix: readonly { readonly index: number; readonly share: number }[];
  /** Factor of the usual hidden reasoning of these tasks. */
  readonly reasoningFactor: number;
}

type ExpectedReasoning = Omit<ExpectedWriting, 'outputTokens'>;

const NO_MIX: ExpectedWriting['mix'] = [];

export function expectedWriting(facts: Facts, snapshot: Tasks, readings: Readings): ExpectedWriting {
  return {
    outputTokens: expectedOutput(facts, snapshot, readings),
    task: snapshot.taskIndex.get(facts.task) ?? 0,
    mix: facts.mix.length === 0 ? NO_MIX : mixOf(facts, snapshot),
    reasoningFactor: reasoningFactor(facts.difficulty),
  };
}

function mixOf({ mix }: Facts, { taskIndex }: Tasks): ExpectedWriting['mix'] {
  const indexed: ExpectedWriting['mix'][number][] = [];
  for (const { task, share } of mix) indexed.push({ index: taskIndex.get(task) ?? 0, share });
  return indexed;
}

/** Hidden reasoning tokens of one choice on a model. */
export function expectedReasoning(
  { mayReason, reasoningByTask }: Model,
  { task, mix, reasoningFactor: factor }: ExpectedReasoning,
): number {
  if (!mayReason) return 0;
  if (mix.length === 0) return reasoningByTask[task]! * factor;
  let sum = 0;
  for (let i = 0; i < mix.length; i++) sum += mix[i]!.share * reasoningByTask[mix[i]!.index]!;
  return sum * factor;
}

/**
 * C: expected Credits at an endpoint.
 * @param input expected tokens of input
 * @param reasoning hidden ones of one choice
 */
export function expectedCost(
  model: Model,
  endpoint: number,
  facts: Facts,
  writing: ExpectedWriting,
  input = expectedInput(facts, model),
  reasoning = expectedReasoning(model, writing),
): number {
  const { price } = model.endpoints[endpoint]!;
  const line = lineFor(price, input);
  const output = (writing.outputTokens + reasoning) * facts.choices;
  const saved =
    facts.cached.length === 0 ? 0 : cachedInput(facts, model, endpoint, input) * (line.input - line.cachedInput);
  return (price.perRequest + input * line.input - saved + output * line.output) / price.divisor / MICROCREDITS;
}

/**
 * L: expected milliseconds to the end at an endpoint. Choices are made side by side.
 * @param reasoning hidden tokens of one choice
 */
export function expectedLatency(
  model: Model,
  endpoint: number,
  facts: Facts,
  readings: Readings,
  writing: ExpectedWriting,
  reasoning = expectedReasoning(model, writing),
): number {
  const rate = readings.tokensPerSecond[model.firstSlot + endpoint]!;
  return expectedTtft(model, endpoint, facts, readings, reasoning) + (writing.outputTokens * 1000) / rate;
}

/** Expected milliseconds to the first content at an endpoint, hidden reasoning included. */
export function expectedTtft(
  model: Model,
  endpoint: number,
  facts: Facts,
  readings: Readings,
  reasoning: number,
): number {
  const slot = model.firstSlot + endpoint;
  const usualMs = isWarm(facts, model, endpoint) ? readings.warmTtftMs[slot]! : readings.ttftMs[slot]!;
  return ttftWith(reasoning, model.reasoningTokens, usualMs, readings.tokensPerSecond[slot]!);
}

/**
 * A request's time to the first content as a multiple of the usual one, because of its hidden reasoning. Readings describe
 * usual requests: a measured time is divided by this before it counts.
 */
export function ttftFactor(model: Model, endpoint: number, readings: Readings, writing: ExpectedReasoning): number {
  const slot = model.firstSlot + endpoint;
  const usualMs = readings.ttftMs[slot]!;
  if (usualMs <= 0) return 1;
  const reasoning = expectedReasoning(model, writing);
  return ttftWith(reasoning, model.reasoningTokens, usualMs, readings.tokensPerSecond[slot]!) / usualMs;
}

/** Hidden reasoning takes at most this share of the time to the first content. */
const THINKING_SHARE_MAX = 0.9;

/**
 * Time to the first content, ms, with `reasoning` hidden tokens, given that it is `usualMs` with `usual` tokens. Reasoning
 * is written before the first content, at the rate of the output.
 */
function ttftWith(reasoning: number, usual: number, usualMs: number, tokensPerSecond: number): number {
  if (reasoning === usual) return usualMs;
  if (usual === 0) return usualMs + (1000 * reasoning) / tokensPerSecond;
  const thinkingMs = Math.min((1000 * usual) / tokensPerSecond, THINKING_SHARE_MAX * usualMs);
  return usualMs + thinkingMs * (reasoning / usual - 1);
}

function isWarm(facts: Facts, model: Model, endpoint: number): boolean {
  if (facts.cached.length === 0) return false;
  const input = expectedInput(facts, model);
  return cachedInput(facts, model, endpoint, input) >= WARM_SHARE * input;
}

/**
 * v·C_ref: the worth of a good answer to this request, in Credits: its expected tokens at the policy's reference price,
 * times `answer_worth`, times the factor of a hard request.
 */
export function costReference(
  snapshot: PolicySnapshot,
  facts: Facts,
  readings: Pick<Readings, 'referenceTokens'> | undefined,
): number {
  const { input, output } = snapshot.referencePrice;
  const tokens = referenceOutput(facts, snapshot, readings);
  const reference = (Math.max(1, facts.inputTokens) * input + tokens * output) / 1_000_000;
  return snapshot.answerWorth * worthFactor(facts) * reference;
}

/**
 * The least useful output of one choice, in tokens; at most the requested maximum and the model's. A named model that caps
 * outputs needs no more than without the caller's cap, so that the cap never refuses a request that is served without one.
 */
export function usefulOutput(model: Model, facts: Facts, task: Task): number {
  const { outputTokensMax, outputTokensMin = 0, capsOutput, pinned } = facts;
  const useful = Math.min(Math.max(taskUseful(model, task), outputTokensMin), model.maxOutput);
  if (outputTokensMax === null) return Math.min(useful, uncappedOutput(model, facts));
  const most = Math.min(useful, outputTokensMax);
  return capsOutput && pinned ? Math.min(most, uncappedOutput(model, facts)) : most;
}

/** The least useful output of a model for a task, whatever the request states, in tokens. */
export const taskUseful = ({ reasoningTokens }: Model, { minUsefulOutput }: Task): number =>
  reasoningTokens > 0 ? Math.max(REASONING_OUTPUT_MIN, reasoningTokens) : minUsefulOutput;

/** The requested maximum of output tokens of one choice without a cap of the caller's: the model's default unless more is expected. */
function uncappedOutput(model: Model, { outputTokens, outputTokensMin = 0 }: Facts): number {
  const expected = outputTokens === null ? 0 : outputTokens + model.reasoningTokens;
  return Math.max(model.defaultMaxOutput, expected, outputTokensMin);
}

/**
 * The output cap of one choice, in tokens, before budgets: the least of the request's, the model's and its window's.
 * @param input expected tokens of input
 */
export const outputCap = (model: Model, facts: Facts, input = expectedInput(facts, model)): number =>
  Math.max(
    0,
    Math.min(facts.outputTokensMax ?? uncappedOutput(model, facts), model.maxOutput, model.contextWindow - input),
  );

/** Lowers the cap until the worst case on the dearest endpoint fits `budget_limit`; -1 when not even the input does. */
export const affordableCap = (model: Model, endpoints: readonly number[], facts: Facts, cap: number): number =>
  facts.budget === null ? cap : capWithin(facts.budget, model, endpoints, facts, cap);

/** Lowers the cap until the worst case on the dearest endpoint is within `most`; -1 when not even the input is. */
export function capWithin(
  most: Microcredits,
  model: Model,
  endpoints: readonly number[],
  facts: Facts,
  cap: number,
): number {
  const input = inputBound(model, facts);
  if (input === null) return -1;
  let affordable = cap;
  for (const at of endpoints) {
    const output = outputWithin(model.endpoints[at]!.price, input, most, facts.addOns);
    affordable = Math.min(affordable, output < 0 ? -1 : Math.floor(output / facts.choices));
  }
  return affordable;
}

/** The worst case of a request at a price, in microcredits. `cap`: output tokens of one choice. */
export const worstCase = (price: Price, model: Model, facts: Facts, cap: number): Microcredits =>
  costBound(price, heldInput(model, facts), cap * facts.choices, facts.addOns);

/**
 * Returns what the caller's funds can pay of a model: the endpoints, and the output cap of one choice; null where it is all. A
 * fund that downgrades pays whole outputs. One that caps pays outputs from the least useful on.
 *
 * @param cap output tokens of one choice
 */
export function withinFunds(model: Model, endpoints: readonly number[], facts: Facts, task: Task, cap: number) {
  const { funds } = facts;
  if (funds === null) return null;
  const free = funds.free ?? Number.POSITIVE_INFINITY;
  const unspent = funds.cap?.unspent ?? Number.POSITIVE_INFINITY;
  if (dearestCase(model, endpoints, facts, cap) <= Math.min(free, unspent)) return null;
  const whole = endpointsWithin(free, model, endpoints, facts, cap);
  if (dearestCase(model, whole, facts, cap) <= unspent) return { endpoints: whole, cap };
  const useful = Math.min(cap, usefulOutput(model, facts, task));
  const payable = endpointsWithin(unspent, model, whole, facts, useful);
  return { endpoints: payable, cap: capWithin(unspent, model, payable, facts, cap) };
}

/** The worst case of the least useful output on the dearest of the endpoints, in microcredits. */
export function usefulCase(
  model: Model,
  endpoints: readonly number[],
  facts: Facts,
  task: Task,
  cap: number,
): Microcredits {
  return dearestCase(model, endpoints, facts, Math.min(cap, usefulOutput(model, facts, task)));
}

/** Answers longer than so many times the usual length are rare, and those of tasks that were read wrongly than so many tokens. */
const AMPLE_LENGTHS = 4;
const AMPLE_OUTPUT_MIN = 2_048;

/** The worst case of an answer several times as long as usual on the dearest of the endpoints, in microcredits. */
export function ampleCase(
  model: Model,
  endpoints: readonly number[],
  facts: Facts,
  snapshot: Tasks,
  readings: Readings,
  cap: number,
): Microcredits {
  const writing = expectedWriting(facts, snapshot, readings);
  // Short answers end first, so a burst measures too short a length. This moves holds and never a choice.
  const usual = Math.max(writing.outputTokens, referenceOutput(facts, snapshot));
  const output = Math.ceil(AMPLE_LENGTHS * (usual + expectedReasoning(model, writing)));
  const useful = usefulOutput(model, facts, taskOf(facts, snapshot));
  return dearestCase(model, endpoints, facts, Math.min(cap, Math.max(useful, output, AMPLE_OUTPUT_MIN)));
}

/** The endpoints whose worst case is within `most`. */
function endpointsWithin(
  most: Microcredits,
  model: Model,
  endpoints: readonly number[],
  facts: Facts,
  cap: number,
): readonly number[] {
  const fits = (at: number) => worstCase(model.endpoints[at]!.price, model, facts, cap) <= most;
  return endpoints.every(fits) ? endpoints : endpoints.filter(fits);
}

/** The worst case on the dearest of the endpoints, in microcredits. */
export function dearestCase(model: Model, endpoints: readonly number[], facts: Facts, cap: number): Microcredits {
  const input = heldInput(model, facts);
  let dearest = 0;
  for (let i = 0; i < endpoints.length; i++) {
    const { price } = model.endpoints[endpoints[i]!]!;
    dearest = Math.max(dearest, costBound(price, input, cap * facts.choices, facts.addOns));
  }
  return dearest;
}
