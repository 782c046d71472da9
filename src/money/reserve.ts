import type { ReservationRequest } from '../ledger/reservation-request.ts';
import { checkServing } from '../request/drain.ts';
import type { FundedHold, Funding } from './funding.ts';
import type { Gateway } from '../request/gateway.ts';
import { holdTermsOf } from './hold-terms.ts';
import type { RunnableRequest } from '../exchange/runnable-request.ts';

/** The claim of a request on its name, which is stored before a provider is called. */
export interface RequestClaim {
  /**
   * Stores the claim. Called before money is set aside, so that one commit carries both.
   * @param decision the decision's ID
   * @throws StoreError
   */
  begin(decision: number): Promise<void>;
}

/** A request that repeats are recognized by. `toTheEnd`: it waits for money though its caller leaves. */
interface NamedRequest {
  readonly claim: RequestClaim;
  readonly toTheEnd: boolean;
}

/**
 * Begins to set the worst case of a decision aside. From here on a shutdown waits for the request, until its work is ended.
 * @param named null for a request without a name
 * @returns a promise that rejects with an error that the funding mends, and then nothing is held
 * @throws SignalboxError
 */
export function reserve(
  gateway: Gateway,
  runnable: RunnableRequest,
  funding: Funding,
  named: NamedRequest | null,
): Promise<FundedHold> {
  const { request, decision, context, startedAt } = runnable;
  context.startedAt = startedAt;
  context.step('reserve');
  // Deciding may have taken a while.
  checkServing(gateway);
  context.beginWork(request.stream, Math.ceil(decision.ranked[0].tokens));
  context.enterFlight(gateway.inFlight);
  const signal = named?.toTheEnd ? undefined : context.signal;
  const begun = named?.claim.begin(decision.id) ?? null;
  // The funding awaits it.
  begun?.catch(() => {});
  return funding.reserve(reservationRequest(gateway, runnable, signal), begun);
}

/** An exchange ends at its deadline; a hold that is open so much later was forgotten, ms. */
const EXPIRY_SLACK_MS = 60_000;

function reservationRequest(
  { clock, now }: Gateway,
  runnable: RunnableRequest,
  signal: AbortSignal | undefined,
): ReservationRequest {
  const { decision, context, terms, startedAt } = runnable;
  const { caller, payer, agentWallet, runtime } = terms;
  const { id, facts, ranked } = decision;
  const { models, ledger } = runtime.snapshot;
  const [choice] = ranked;
  const leftMs = models[choice.model]!.deadlines.totalMs - (clock() - startedAt);
  const { amounts, whole, least, ample, growth } = holdTermsOf(runnable);
  return {
    id,
    caller,
    selector: facts.model,
    session: context.run.session ?? undefined,
    agent: context.run.agent ?? undefined,
    agentWallet,
    payer,
    amounts,
    whole,
    least,
    ample,
    growth,
    limit: facts.budget,
    // After the wait there must still be time for the answer.
    waitMs: Math.min(ledger.contentionWaitMs, leftMs - choice.latencyMs),
    signal,
    expiresAt: now() + leftMs + EXPIRY_SLACK_MS,
  };
}
