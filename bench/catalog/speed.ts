import { type Facts, factsOf, median } from './facts.ts';

export interface Speed {
  /** The time in ms to the first token of the answer, for a request on which the model reasons `reasoning.default` tokens. */
  readonly ttftMs: number;
  /** Output tokens per second. */
  readonly rate: number;
  /** `measured` means that whole calls that people measured agree with the figures. */
  readonly basis: 'measured' | 'guessed';
  /** The day of the newest reading. */
  readonly asOf: string;
}

/**
 * Returns the hidden reasoning tokens at the default effort, by task; `default` is an ordinary request. All numbers are 0 for a model that
 * reasons only on request.
 */
export function reasoningOf(facts: Facts, model: string): Readonly<Record<string, number>> {
  const readings = factsOf(facts, model).reasoning ?? [];
  if (readings.length === 0) throw new TypeError(`${model} needs readings of \`reasoning\``);
  const usual = median(readings.map(({ tokens }) => tokens));
  if (usual === 0) return { default: 0 };
  const factors = Object.entries(facts.reasoning_by_task);
  const tasks = factors.map(
    ([task, { value }]) => [task, Math.max(10, Math.round((usual * value) / 10) * 10)] as const,
  );
  return { default: twoDigits(usual), ...Object.fromEntries(tasks) };
}

/** Returns how fast a model answers; null if no speed has been published. */
export function speedOf(facts: Facts, model: string): Speed | null {
  const { first_chunk_ms: first, tokens_per_second: rate, calls = [], reasoning = [] } = factsOf(facts, model);
  if (!first || !rate) return null;
  const days = [first, rate, ...calls, ...reasoning].map(({ date }) => date);
  return {
    ttftMs: twoDigits(first.value + (1000 * (reasoningOf(facts, model).default ?? 0)) / rate.value),
    rate: rate.value,
    basis: calls.length > 0 ? 'measured' : 'guessed',
    asOf: days.sort().at(-1) ?? '',
  };
}

export interface ClockedCall {
  readonly model: string;
  readonly what: string;
  readonly clockedS: number;
  readonly computedS: number;
}

/** Returns the calls that people measured, together with what the figures predict for them. */
export function compareCalls(facts: Facts): ClockedCall[] {
  return Object.keys(facts.models).flatMap((model) => {
    const { first_chunk_ms: first, tokens_per_second: rate, calls = [] } = factsOf(facts, model);
    if (!first || !rate) return [];
    const reasoning = reasoningOf(facts, model);
    return calls.map(({ what, seconds, task, answer_tokens: answer }) => {
      const tokens = (reasoning[task] ?? reasoning.default ?? 0) + answer;
      return { model, what, clockedS: seconds, computedS: first.value / 1000 + tokens / rate.value };
    });
  });
}

/** Rounds to two significant digits, because the sources are not more precise. */
function twoDigits(value: number): number {
  return value === 0 ? 0 : Number(value.toPrecision(2));
}
