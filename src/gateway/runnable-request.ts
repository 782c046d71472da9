import type { Caller } from '../core/caller.ts';
import type { Decision } from '../core/decision.ts';
import type { AttemptContext } from './attempt.ts';
import type { FundingTerms } from './funding.ts';

/** A decided request with all that is needed to carry it out. */
export interface RunnableRequest extends AttemptContext {
  readonly decision: Decision;
  /** What the estimator reads of it; null for nothing. */
  readonly features: Uint8Array | null;
  readonly caller: Caller;
  readonly terms: FundingTerms;
  /** When its decision began, ms on the clock. */
  readonly startedAt: number;
}
