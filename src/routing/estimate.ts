import { MICROCREDITS, type Microcredits } from '../core/credits.ts';
import type { Facts } from '../core/facts.ts';
import { costBound, lineFor, outputWithin, type Price, type PriceLine } from '../core/price.ts';
import type { Readings } from '../core/readings.ts';
import type { Model, PolicySnapshot, Task } from '../core/snapshot.ts';

/** Tokens assumed for an image where the model states no maximum; for estimates only. */
const IMAGE_TOKENS = 1_000;
/** A second of audio: as an MP3 of 128 kbit/s, and what it counts where the model states no maximum; for estimates only. */
const AUDIO_BYTES_PER_SECOND = 16_000;
const AUDIO_TOKENS_PER_SECOND = 32;
/** No codec in use needs less for a second (the lowest rate of MP3 is 8 kbit/s): the bytes bound how long it lasts. */
const AUDIO_BYTES_PER_SECOND_MIN = 500;
/** The least output, in tokens, that is of use from a model that reasons first. */
const REASONING_OUTPUT_MIN = 1_024;

/** Visible output tokens of one choice: the request's figure or the task's, capped by the caller, at least 1. */
export function expectedOutput(facts: Facts, task: Task): number {
  const expected = facts.outputTokens ?? task.expectedOutputTokens;
  return Math.max(1, Math.min(expected, facts.outputTokensMax ?? expected));
}

/** Expected input tokens on a model, images and audio included. */
export function expectedInput(facts: Facts, model: Model): number {
  const { inputTokens, images, audioBytes } = facts;
  const text =
    images === 0 ? inputTokens : inputTokens + images * Math.min(IMAGE_TOKENS, model.imageTokensMax ?? IMAGE_TOKENS);
  if (audioBytes === 0) return text;
  return (
    text + Math.ceil(audioBytes / AUDIO_BYTES_PER_SECOND) * (model.audioTokensPerSecondMax ?? AUDIO_TOKENS_PER_SECOND)
  );
}

/** C: expected Credits at the given price. `onlyLine` spares the search where the price has just one. */
export function expectedCost(
  model: Model,
  price: Price,
  facts: Facts,
  outputTokens: number,
  onlyLine: PriceLine | null = null,
): number {
  const input = expectedInput(facts, model);
  const line = onlyLine ?? lineFor(price, input);
  const output = (outputTokens + model.reasoningTokens) * facts.choices;
  return (price.perRequest + input * line.input + output * line.output) / price.divisor / MICROCREDITS;
}

/** L: expected milliseconds to the end at an endpoint. Choices are made side by side; the TTFT contains hidden reasoning. */
export function expectedLatency(readings: Readings, slot: number, outputTokens: number): number {
  return readings.ttftMs[slot]! + (outputTokens * 1000) / readings.tokensPerSecond[slot]!;
}

/**
 * v·C_ref: the Credits that a good answer to this request is worth, whoever gives it: this
 * request's expected tokens at the policy's reference price, times `answer_worth`.
 */
export function costReference(snapshot: PolicySnapshot, facts: Facts, outputTokens: number): number {
  const { input, output } = snapshot.referencePrice;
  const reference = (Math.max(1, facts.inputTokens) * input + outputTokens * output) / 1_000_000;
  return snapshot.answerWorth * reference;
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
  return inputTokensMax + images * imageTokens + Math.ceil(audioBytes / AUDIO_BYTES_PER_SECOND_MIN) * perSecond;
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
