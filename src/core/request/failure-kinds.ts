/** The kinds of failure that the gateway distinguishes. */
export const FAILURE_KINDS = [
  /** The provider refuses the operator's API key. */
  'auth',
  /** The operator's account at the provider has no credit left, or not enough for this request. */
  'credit',
  /** The provider refuses the content of the request, which is the caller's mistake. */
  'rejected',
  /** The prompt is too long for the model. */
  'context',
  /** The provider does not know the model or the path. */
  'not_found',
  'rate_limited',
  'overloaded',
  'server',
  /** The answer does not follow its dialect. */
  'malformed',
  /** The answer began and then stopped early, or ended without a finish. */
  'cut',
  'connect',
  'timeout',
] as const;

/** The kinds of failure that a complete answer shows by itself, so that another model can answer the same request. */
export const ANSWER_SIGNALS = ['malformed_call', 'broken_schema', 'empty_answer'] as const;
export type AnswerSignal = (typeof ANSWER_SIGNALS)[number];

/** Kinds of failure that the request itself or the model causes. Failures of these kinds say nothing about the health of the provider. */
const REQUEST_FAILURES: ReadonlySet<string> = new Set(['rejected', 'context', 'refused', ...ANSWER_SIGNALS]);

/** Whether the provider, rather than the content of the request, causes failures of this kind. */
export const isOfProvider = (kind: string): boolean => !REQUEST_FAILURES.has(kind);

/** When attempts at an endpoint began to fail. Times are Unix ms. */
export interface FailureSeries {
  /** The last answer; negative infinity for none. */
  readonly answeredAt: number;
  /** The first failure of the provider after the last answer; infinity for none. */
  readonly failedAt: number;
  /** The failures of the provider after the last answer. */
  readonly failures: number;
}

/**
 * Whether an attempt with this outcome failed because the provider does not work. A provider that asks for fewer requests works. Mistakes
 * of requests say nothing about the provider.
 */
export const isProviderFailure = (outcome: string): boolean =>
  outcome !== 'ok' && outcome !== 'dropped' && outcome !== 'rate_limited' && isOfProvider(outcome);
