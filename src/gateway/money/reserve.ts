import type { Decision } from '../../core/decision/decision.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import type { RunNames } from '../../core/request/run-names.ts';
import type { HoldRequest } from '../../ledger/hold-request.ts';
import type { FundedHold, Funding, FundingTerms, RequestClaim } from './funding.ts';
import { holdTermsOf } from './hold-terms.ts';

/** A decided request before its money is set aside. */
interface UnpaidRequest {
  readonly request: ModelRequest;
  readonly decision: Decision;
  readonly terms: FundingTerms;
  readonly run: RunNames;
  /** Whether a guard may ask the model again. */
  readonly asksAgain?: boolean;
  /** When the decision began, ms on `clock`. */
  readonly startedAt: number;
  /** Ends the wait for money; undefined for a request that continues without its caller. */
  readonly signal: AbortSignal | undefined;
  /** Milliseconds on a clock whose value never decreases. */
  readonly clock: () => number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/**
 * Sets the worst case of a decision aside.
 * @param claim null for a request without a name
 * @returns a promise; if it rejects, nothing is held, and the error must go through `Funding.mend`
 */
export const reserve = (
  unpaid: UnpaidRequest,
  funding: Pick<Funding, 'reserve'>,
  claim: RequestClaim | null,
): Promise<FundedHold> => funding.reserve(holdRequest(unpaid), claim);

/** An exchange ends at its deadline. A hold that is still open this much later was forgotten, ms. */
const EXPIRY_SLACK_MS = 60_000;

function holdRequest(unpaid: UnpaidRequest): HoldRequest {
  const { request, decision, run, terms, startedAt, signal, clock, now, asksAgain = false } = unpaid;
  const { caller, holder, agentWallet, runtime, windowsOnly } = terms;
  const { id, facts, ranked } = decision;
  const { models, ledger } = runtime.snapshot;
  const [choice] = ranked;
  const leftMs = models[choice.model]!.deadlines.totalMs - (clock() - startedAt);
  const { amounts, whole, least, ample, growth } = holdTermsOf(
    { request, decision, runtime, asksAgain },
    windowsOnly || facts.funds !== null,
  );
  return {
    id,
    caller,
    selector: facts.model,
    session: run.session ?? undefined,
    agent: run.agent ?? undefined,
    agentWallet,
    holder,
    amounts,
    whole,
    least,
    ample,
    growth,
    limit: facts.budget,
    // After the wait for money, enough time must be left for the answer.
    waitMs: Math.min(ledger.contentionWaitMs, leftMs - choice.latencyMs),
    signal,
    expiresAt: now() + leftMs + EXPIRY_SLACK_MS,
  };
}
