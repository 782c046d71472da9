import type { GuardModel } from '../../contract/guard.ts';
import type { SignalboxError } from '../../core/errors.ts';
import type { GuardSide } from '../../core/policy/guard-texts.ts';
import type { FundingTerms } from '../money/funding.ts';
import type { RunningGuard } from './guard-runtime.ts';

/** Who pays for the calls of guards to models. */
export interface GuardPayer {
  readonly terms: FundingTerms;
  /** Ends the calls; undefined for a request that continues without its caller. */
  readonly signal: AbortSignal | undefined;
}

/** The model of a guard while it inspects one request or answer. */
export interface OpenModel extends GuardModel {
  /** Ends the calls that are in progress. What the model wrote is charged. */
  end(): void;
}

/** The models that the guards of one request call, for which its caller pays. */
export interface GuardModels {
  /** The error of a call that the funds of the caller do not cover; null for none. The request ends with it. */
  readonly unpaid: SignalboxError | null;
  /** @param msLeft the time until the guard's deadline, ms */
  open(guard: RunningGuard, side: GuardSide, msLeft: () => number): OpenModel | null;
}
