/** How answer lengths count: the measured one alone once there is enough evidence, or blended with the declared one. */
export type AnswerLengthMode = 'measured' | 'blended';

/** Origins of an expected answer length. Records keep these names. */
export const LENGTH_SOURCES = [
  /** `estimated_output_tokens` of the request. */
  'request',
  /** A length that the prompt or the response format states. */
  'prompt',
  /** `max_tokens`, where it is below the length that is expected otherwise. */
  'max_tokens',
  /** Answers to the same task on this server. */
  'measured',
  /** The same, blended with the declared length. */
  'blended',
  /** `expected_output_tokens` of the task. */
  'declared',
] as const;
export type LengthSource = (typeof LENGTH_SOURCES)[number];

/** The expected length of an answer. */
export interface ExpectedLength {
  /** Visible output tokens of one choice. */
  readonly tokens: number;
  readonly source: LengthSource;
}
