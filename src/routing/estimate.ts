import { MICROCREDITS, type Microcredits } from '../core/credits.ts';
import type { RankedModel } from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import { costBound, lineFor, outputWithin, type Price } from '../core/price.ts';
import type { Readings } from '../core/readings.ts';
import type { Model, PolicySnapshot, Task } from '../core/snapshot.ts';
import { reasoningFactor, worthFactor } from './difficulty.ts';
import { expectedInput, heldInput, inputBound } from './input-tokens.ts';

/** The least useful output of a model that reasons first, in tokens. */
const REASONING_OUTPUT_MIN = 1_024;

/** From this cached share of the input on, the first token comes sooner. */
export const WARM_SHARE = 0.5;

/** Visible output tokens of one choice: the request's own figure, else the length observed for its task. */
export const expectedOutput = (facts: Facts, snapshot: Tasks, { outputTokens }: Readings): number =>
  capped(facts, snapshot, outputTokens);

/** The same by the policy alone. Reference costs use it, because nothing learnt may move them. */
export const declaredOutput = (facts: Facts, snapshot: Tasks): number => capped(facts, snapshot, null);

type Tasks = Pick<PolicySnapshot, 'tasks' | 'taskIndex'>;

/** The policy's figures of a request's task. */
export const taskOf = ({ task }: Facts, { tasks, taskIndex }: Tasks): Task => tasks[taskIndex.get(task) ?? 0]!;

/** By task, output tokens of a usual answer; null for those that the policy declares. */
type TaskLengths = Readings['outputTokens'] | null;

/** At least 1 where anything may be written, at most the caller's cap. */
function capped(facts: Facts, snapshot: Tasks, lengths: TaskLengths): number {
  const { outputTokens, outputTokensAsked, outputTokensMax } = facts;
  const expected = outputTokens ?? outputTokensAsked ?? lengthOfTask(facts, snapshot, lengths);
  return Math.max(outputTokensMax === 0 ? 0 : 1, Math.min(expected, outputTokensMax ?? expected));
}

/** The length of the task's answers; the mean by shares where the task is uncertain. */
function lengthOfTask({ task, mix }: Facts, snapshot: Tasks, lengths: TaskLengths): number {
  if (mix.length === 0) return lengthAt(snapshot.taskIndex.get(task) ?? 0, snapshot, lengths);
  let sum = 0;
  for (const one of mix) sum += one.share * lengthAt(snapshot.taskIndex.get(one.task) ?? 0, snapshot, lengths);
  return sum;
}

const lengthAt = (at: number, { tasks }: Tasks, lengths: TaskLengths): number =>
  lengths === null ? tasks[at]!.expectedOutputTokens : lengths[at]!;

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
export function costReference(snapshot: PolicySnapshot, facts: Facts): number {
  const { input, output } = snapshot.referencePrice;
  const reference = (Math.max(1, facts.inputTokens) * input + declaredOutput(facts, snapshot) * output) / 1_000_000;
  return snapshot.answerWorth * worthFactor(facts) * reference;
}

/** The least useful output of one choice, in tokens; at most the requested maximum and the model's. */
export const usefulOutput = (model: Model, facts: Facts, task: Task): number =>
  Math.min(usefulRequested(model, facts, task), model.maxOutput);

/** The same, even where it is above the model's maximum. */
export function usefulRequested(model: Model, facts: Facts, task: Task): number {
  const useful =
    model.reasoningTokens > 0 ? Math.max(REASONING_OUTPUT_MIN, model.reasoningTokens) : task.minUsefulOutput;
  return Math.min(Math.max(useful, facts.outputTokensMin ?? 0), requestedOutput(model, facts));
}

/**
 * The output of one choice that a model's maximum must cover, in tokens. Where the policy caps outputs there: the expected and
 * the useful output, which are at most the caller's cap. Else the caller's cap.
 *
 * @param expected visible output tokens
 * @param useful tokens, by `usefulRequested`
 */
export const coveredOutput = (facts: Facts, expected: number, useful: number): number =>
  facts.capsOutput
    ? Math.max(expected, useful)
    : Math.max(facts.outputTokensMax ?? facts.outputTokens ?? 0, facts.outputTokensMin ?? 0);

/** The requested maximum of output tokens of one choice: the caller's cap, else the model's default unless more is expected. */
function requestedOutput(model: Model, facts: Facts): number {
  if (facts.outputTokensMax !== null) return facts.outputTokensMax;
  const expected = facts.outputTokens === null ? 0 : facts.outputTokens + model.reasoningTokens;
  return Math.max(model.defaultMaxOutput, expected, facts.outputTokensMin ?? 0);
}

/** The name that answers and reports give to the maximum output of a model, where it lowered the caller's cap. */
export const MODEL_CAP = 'model';

/**
 * What lowered the cap on the output of one choice below the caller's: the fund whose money did, else `MODEL_CAP`; null for
 * neither, and where `budget_limit` did.
 */
export function outputCappedBy(
  { outputCap: cap, cappedBy }: Pick<RankedModel, 'outputCap' | 'cappedBy'>,
  model: Model,
  facts: Facts,
): string | null {
  if (cappedBy !== null || !facts.capsOutput || facts.outputTokensMax! <= model.maxOutput) return cappedBy;
  return cap === outputCap(model, facts) ? MODEL_CAP : null;
}

/**
 * The output cap of one choice, in tokens, before budgets: the least of the request's, the model's and its window's.
 * @param input expected tokens of input
 */
export const outputCap = (model: Model, facts: Facts, input = expectedInput(facts, model)): number =>
  Math.max(0, Math.min(requestedOutput(model, facts), model.maxOutput, model.contextWindow - input));

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
  // Short answers end first, so in a burst the observed length is theirs.
  const usual = Math.max(writing.outputTokens, declaredOutput(facts, snapshot));
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
