import type { Readings } from '../core/decision/readings.ts';
import { MICROCREDITS, type Microcredits } from '../core/money/credits.ts';
import { costBound, expectedPrice, lineFor, outputWithin, type Priced, rateOf } from '../core/money/price.ts';
import type { Model, PolicySnapshot, Task } from '../core/policy/snapshot.ts';
import type { Difficulty, Facts } from '../core/request/facts.ts';
import { expectedOutput, type Tasks } from './expected-length.ts';
import { expectedInput, heldInput, inputBound, mediaOf } from './input-tokens.ts';

/** The minimum useful output of a model that reasons before it answers, in tokens. */
const REASONING_OUTPUT_MIN = 1_024;

/** The cached share of the input from which on the first token comes sooner. */
export const WARM_SHARE = 0.5;

/** Returns the policy's figures for the task of a request. */
export const taskOf = ({ task }: Facts, { tasks, taskIndex }: Tasks): Task => tasks[taskIndex.get(task) ?? 0]!;

/**
 * Returns how many of the `input` tokens an endpoint probably has in its cache. For a model whose endpoints are tried in their order,
 * Signalbox tracks the cache only for the first endpoint.
 */
export function cachedInput({ cached }: Facts, { id }: Model, endpoint: number, input: number): number {
  for (let i = 0; i < cached.length; i++) {
    const { model, tokens, at = 0 } = cached[i]!;
    if (model === id) return at === endpoint ? Math.min(tokens, input) : 0;
  }
  return 0;
}

/** Returns the endpoint of a model whose cache probably has the conversation of a request; -1 for none. */
export function warmEndpoint({ cached }: Facts, { id }: Model): number {
  for (let i = 0; i < cached.length; i++) if (cached[i]!.model === id) return cached[i]!.at ?? 0;
  return -1;
}

/** The output that is expected of any model, in tokens of one choice. */
export interface ExpectedWriting {
  /** The expected visible output. */
  readonly outputTokens: number;
  /** The index of the most likely task. */
  readonly task: number;
  /** The possible tasks by index, with shares that sum to 1; empty if the task is certain. */
  readonly mix: readonly { readonly index: number; readonly share: number }[];
  /** The factor for the usual hidden reasoning of the possible tasks. */
  readonly reasoningFactor: number;
}

type ExpectedReasoning = Omit<ExpectedWriting, 'outputTokens'>;

const NO_MIX: ExpectedWriting['mix'] = [];

/** The factor for the usual hidden reasoning of a task, by the difficulty of the request. These factors are guesses. */
const REASONING: Readonly<Record<Difficulty, number>> = { easy: 0.25, usual: 1, hard: 2 };

export function expectedWriting(facts: Facts, snapshot: Tasks, readings: Readings): ExpectedWriting {
  return {
    outputTokens: expectedOutput(facts, snapshot, readings),
    task: snapshot.taskIndex.get(facts.task) ?? 0,
    mix: facts.mix.length === 0 ? NO_MIX : mixOf(facts, snapshot),
    reasoningFactor: REASONING[facts.difficulty],
  };
}

function mixOf({ mix }: Facts, { taskIndex }: Tasks): ExpectedWriting['mix'] {
  const indexed: ExpectedWriting['mix'][number][] = [];
  for (const { task, share } of mix) indexed.push({ index: taskIndex.get(task) ?? 0, share });
  return indexed;
}

/** Returns the expected hidden reasoning of one choice on a model, in tokens. */
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
 * C: the expected cost of a request at an endpoint, in Credits.
 * @param input expected tokens of input
 * @param reasoning expected hidden reasoning tokens of one choice
 */
export function expectedCost(
  model: Model,
  endpoint: number,
  facts: Facts,
  writing: ExpectedWriting,
  input = expectedInput(facts, model),
  reasoning = expectedReasoning(model, writing),
): number {
  const price = expectedPrice(model.endpoints[endpoint]!.price, facts.addOns);
  const line = lineFor(price, input);
  const output = (writing.outputTokens + reasoning) * facts.choices;
  const saved =
    facts.cached.length === 0
      ? 0
      : cachedInput(facts, model, endpoint, input) * (line.input - rateOf(line, 'cached_input'));
  return (line.request + input * line.input - saved + output * line.output) / price.divisor / MICROCREDITS;
}

/**
 * L: the expected time until the answer ends at an endpoint, in ms. The provider generates several choices in parallel.
 * @param reasoning expected hidden reasoning tokens of one choice
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

/** Returns the expected time to the first content at an endpoint, in ms, including hidden reasoning. */
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
 * Returns the time to the first content of this request as a multiple of the usual time, because of its hidden reasoning. Readings describe
 * usual requests, so a measured time is divided by this factor before it is recorded.
 */
export function ttftFactor(model: Model, endpoint: number, readings: Readings, writing: ExpectedReasoning): number {
  const slot = model.firstSlot + endpoint;
  const usualMs = readings.ttftMs[slot]!;
  if (usualMs <= 0) return 1;
  const reasoning = expectedReasoning(model, writing);
  return ttftWith(reasoning, model.reasoningTokens, usualMs, readings.tokensPerSecond[slot]!) / usualMs;
}

/** Hidden reasoning is assumed to take at most this share of the time to the first content. */
const THINKING_SHARE_MAX = 0.9;

/**
 * Returns the time to the first content in ms with `reasoning` hidden tokens, if it is `usualMs` with `usual` hidden tokens. A model writes
 * its reasoning before the first content, at its output rate.
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

/** The prices of the reference, USD per 1M tokens: about the prices of a small model of 2025. They only give costs a scale. */
const REFERENCE_INPUT = 1;
const REFERENCE_OUTPUT = 4;

/** Returns what the expected tokens of a request cost at the prices of the reference, in Credits. */
export function costReference(
  snapshot: Tasks & Pick<PolicySnapshot, 'usdPerCredit'>,
  facts: Facts,
  readings: Pick<Readings, 'outputTokens'> | undefined,
): number {
  const tokens = expectedOutput(facts, snapshot, readings);
  const usd = (Math.max(1, facts.inputTokens) * REFERENCE_INPUT + tokens * REFERENCE_OUTPUT) / 1_000_000;
  return usd / Number(snapshot.usdPerCredit);
}

/**
 * Returns the minimum useful output of one choice in tokens, which is at most the requested maximum and the model's maximum. If the request
 * names a model whose output Signalbox may cap, the minimum is the same as without the caller's cap. The caller's cap then never causes a
 * refusal of a request that would be served without the cap.
 */
export function usefulOutput(model: Model, facts: Facts, task: Task): number {
  const { outputTokensMax, outputTokensMin = 0, capsOutput, named } = facts;
  const useful = Math.min(Math.max(taskUseful(model, task), outputTokensMin), model.maxOutput);
  if (outputTokensMax === null) return Math.min(useful, defaultOutputCap(model, facts));
  const most = Math.min(useful, outputTokensMax);
  return capsOutput && named !== null ? Math.min(most, defaultOutputCap(model, facts)) : most;
}

/** Returns the minimum useful output of a model for a task in tokens, regardless of the request's own limits. */
export const taskUseful = ({ reasoningTokens }: Model, { minUsefulOutput }: Task): number =>
  reasoningTokens > 0 ? Math.max(REASONING_OUTPUT_MIN, reasoningTokens) : minUsefulOutput;

/** Returns the maximum output tokens of one choice if the caller sets no cap: the model's default, unless more output is expected. */
function defaultOutputCap(model: Model, { outputTokens, outputTokensMin = 0 }: Facts): number {
  const expected = outputTokens === null ? 0 : outputTokens + model.reasoningTokens;
  return Math.max(model.defaultMaxOutput, expected, outputTokensMin);
}

/**
 * Returns the maximum output of one choice in tokens, before budgets: the lowest of the request's cap, the model's maximum and the space
 * that is left in the model's window.
 * @param input expected tokens of input
 */
export const outputCap = (model: Model, facts: Facts, input = expectedInput(facts, model)): number =>
  Math.max(
    0,
    Math.min(facts.outputTokensMax ?? defaultOutputCap(model, facts), model.maxOutput, model.contextWindow - input),
  );

/**
 * Lowers the cap until the worst-case cost on the most expensive endpoint fits `budget_limit`; returns -1 if even the input does not fit.
 */
export const affordableCap = (model: Model, endpoints: readonly number[], facts: Facts, cap: number): number =>
  facts.budget === null ? cap : capWithin(facts.budget, model, endpoints, facts, cap);

/** Lowers the cap until the worst-case cost on the most expensive endpoint is at most `most`; returns -1 if even the input costs more. */
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
    const output = outputWithin(model.endpoints[at]!, input, most, facts.addOns, mediaOf(facts));
    affordable = Math.min(affordable, output < 0 ? -1 : Math.floor(output / facts.choices));
  }
  return affordable;
}

/** Returns the worst-case cost of a request at an endpoint, in microcredits. `cap` is the maximum output tokens of one choice. */
export const worstCase = (priced: Priced, model: Model, facts: Facts, cap: number): Microcredits =>
  costBound(priced, heldInput(model, facts), cap * facts.choices, facts.addOns, mediaOf(facts));

/**
 * Returns the endpoints of a model that the caller's funds can pay for, and the output cap of one choice. `withinFunds` returns null if the
 * funds cover every endpoint with the full cap. A fund that downgrades must cover the full output; a fund that caps must cover at least the
 * minimum useful output.
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

/**
 * Returns the endpoints over which a request with `budget_limit` is spread: the endpoints at which the limit covers the full cap, else those
 * at which it covers the minimum useful output, else all.
 */
export function withinBudget(
  model: Model,
  endpoints: readonly number[],
  facts: Facts,
  task: Task,
  cap: number,
): readonly number[] {
  const { budget } = facts;
  if (budget === null) return endpoints;
  const whole = endpointsWithin(budget, model, endpoints, facts, cap);
  if (whole.length > 0) return whole;
  const useful = endpointsWithin(budget, model, endpoints, facts, Math.min(cap, usefulOutput(model, facts, task)));
  return useful.length > 0 ? useful : endpoints;
}

/** Returns the worst-case cost of the minimum useful output on the most expensive of the endpoints, in microcredits. */
export function usefulCase(
  model: Model,
  endpoints: readonly number[],
  facts: Facts,
  task: Task,
  cap: number,
): Microcredits {
  return dearestCase(model, endpoints, facts, Math.min(cap, usefulOutput(model, facts, task)));
}

/**
 * Answers longer than this multiple of the usual length are rare. Answers to tasks that were read wrongly rarely exceed this number of
 * tokens.
 */
const AMPLE_LENGTHS = 4;
const AMPLE_OUTPUT_MIN = 2_048;

/** Returns the worst-case cost of an answer several times longer than usual, on the most expensive of the endpoints, in microcredits. */
export function ampleCase(
  model: Model,
  endpoints: readonly number[],
  facts: Facts,
  snapshot: Tasks,
  readings: Readings,
  cap: number,
): Microcredits {
  const writing = expectedWriting(facts, snapshot, readings);
  // Short answers end first, so lengths measured during a burst are too short. The longer of both lengths only affects holds, never the
  // choice of a model.
  const usual = Math.max(writing.outputTokens, expectedOutput(facts, snapshot));
  const output = Math.ceil(AMPLE_LENGTHS * (usual + expectedReasoning(model, writing)));
  const useful = usefulOutput(model, facts, taskOf(facts, snapshot));
  return dearestCase(model, endpoints, facts, Math.min(cap, Math.max(useful, output, AMPLE_OUTPUT_MIN)));
}

/** Returns the endpoints whose worst-case cost is at most `most`. */
function endpointsWithin(
  most: Microcredits,
  model: Model,
  endpoints: readonly number[],
  facts: Facts,
  cap: number,
): readonly number[] {
  const fits = (at: number) => worstCase(model.endpoints[at]!, model, facts, cap) <= most;
  return endpoints.every(fits) ? endpoints : endpoints.filter(fits);
}

/** Returns the worst-case cost on the most expensive of the endpoints, in microcredits. */
export function dearestCase(model: Model, endpoints: readonly number[], facts: Facts, cap: number): Microcredits {
  const input = heldInput(model, facts);
  const media = mediaOf(facts);
  let dearest = 0;
  for (let i = 0; i < endpoints.length; i++) {
    const endpoint = model.endpoints[endpoints[i]!]!;
    dearest = Math.max(dearest, costBound(endpoint, input, cap * facts.choices, facts.addOns, media));
  }
  return dearest;
}
