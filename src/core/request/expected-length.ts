/** The source of an expected answer length. Decision records store the names of these sources. */
export const LENGTH_SOURCES = [
  /** The request's `estimated_output_tokens`. */
  'request',
  /** A length that the prompt or the response format states. */
  'prompt',
  /** The request's `max_tokens`, if it is lower than the length expected otherwise. */
  'max_tokens',
  /** The average of earlier answers to the same task on this server. */
  'measured',
  /** The task's `expected_output_tokens`. */
  'declared',
] as const;
export type LengthSource = (typeof LENGTH_SOURCES)[number];

/** The expected length of an answer. */
export interface ExpectedLength {
  /** Visible output tokens of one choice. */
  readonly tokens: number;
  readonly source: LengthSource;
}
