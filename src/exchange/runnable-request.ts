import type { Caller } from '../core/caller.ts';
import type { Decision } from '../core/decision.ts';
import type { ModelRequest } from '../core/model-request.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { PromptHistory } from '../prompt/affinity.ts';
import type { FundingTerms } from '../money/funding.ts';
import type { RequestContext } from '../request/request-context.ts';

/** A decided request with all that is needed to carry it out: one object, which the steps after decide share. */
export interface RunnableRequest {
  readonly request: ModelRequest;
  /** Paths of fields that were taken out of it for every endpoint. */
  readonly dropped: readonly string[];
  readonly decision: Decision;
  /** The features of its last question, for the estimator; null for none. */
  readonly features: Uint8Array | null;
  readonly history: PromptHistory;
  readonly terms: FundingTerms;
  /** Of the terms. */
  readonly runtime: Runtime;
  readonly caller: Caller;
  /** Milliseconds on a clock that never goes back. */
  readonly clock: () => number;
  /** When its decision began, ms on the clock. */
  readonly startedAt: number;
  readonly context: RequestContext;
}
