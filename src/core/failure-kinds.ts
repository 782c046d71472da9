/** The kinds of failure that the gateway distinguishes. */
export const FAILURE_KINDS = [
  /** The provider refuses the operator's key. */
  'auth',
  /** The operator's account at the provider has no credit left, or not enough for this request. */
  'credit',
  /** The provider refuses the content of the request: the caller's mistake. */
  'rejected',
  /** The prompt does not fit the model. */
  'context',
  /** Unknown model or path at the provider. */
  'not_found',
  'rate_limited',
  'overloaded',
  'server',
  /** The answer breaks the dialect. */
  'malformed',
  /** The answer began and then broke off, or ended without a finish. */
  'cut',
  'connect',
  'timeout',
] as const;

/** The kinds of failure that the request causes. They say nothing about the health of the provider. */
const REQUEST_FAILURES: ReadonlySet<string> = new Set<(typeof FAILURE_KINDS)[number]>(['rejected', 'context']);

/** Whether a failure of this kind is the provider's, and not caused by what the request says. */
export const isOfProvider = (kind: string): boolean => !REQUEST_FAILURES.has(kind);
