import type { ErrorCode } from '../../errors.ts';

/** The requests of a time window. */
export interface AnswersReading {
  readonly requests: number;
  /** Requests that ended with an error of Signalbox or a provider. */
  readonly errors: number;
  /** The error code that most errors have, with the provider of their last attempts (null for none); null if it is unknown. */
  readonly mostFrequent: { readonly code: ErrorCode; readonly provider: string | null; readonly errors: number } | null;
  /** Answers with content. */
  readonly answers: number;
  /** The time to the first content that 9 of 10 answers do not exceed, ms, at most a tenth too high; 0 without answers. */
  readonly slowMs: number;
  /** The model of most of the `of` slowest answers, about a tenth of all; null if it is unknown. */
  readonly slowest: { readonly model: string; readonly answers: number; readonly of: number } | null;
}

export interface AnswersReadings {
  /** @returns the requests of the last `windowMs` ms */
  answersWithin(windowMs: number): AnswersReading;
}

/** With fewer requests or answers in a window, a single failure or slow answer could decide. */
const ANSWERS_MIN = 20;
/** A figure with an upper limit counts as recovered only at this multiple of the rule's limit. */
const WELL_AGAIN = 0.8;

/**
 * Whether a figure is above its limit; null if that is unknown, and between the limit and a recovery.
 * @param counted the number of requests or answers from which the figure is computed
 */
export function isAbove(figure: number, limit: number, counted: number): boolean | null {
  if (counted < ANSWERS_MIN) return null;
  return figure > limit || (figure <= limit * WELL_AGAIN ? false : null);
}
