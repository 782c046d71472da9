import { toCredits } from '../../core/credits.ts';
import type { Decision, RankedModel } from '../../core/decision.ts';
import { idText, timeOfId } from '../../core/id.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import { type Advice, advise, taskNote } from '../../routing/advise.ts';
import { routeFacts } from '../../routing/facts.ts';
import { callFor } from '../exchange/endpoint-request.ts';
import { type FailedAttempt, failedError } from '../exchange/failure.ts';
import type { RunnableRequest } from '../exchange/runnable-request.ts';
import type { PaymentEstimate } from '../money/funding.ts';
import { choiceWithin, holdTermsOf } from '../money/hold-terms.ts';
import { decideRequest } from './decide.ts';
import { recordDecision, recordedOf } from './decision-record.ts';
import { shuttingDown } from './drain.ts';
import type { Gateway } from './gateway.ts';
import { pinRequest } from './pin.ts';
import type { RequestContext } from './request-context.ts';

/** Advice with what a chat would set aside, and with the price of a payment where the policy takes payments. */
type PricedAdvice = Advice & {
  /** Present where the caller has budgets or a balance; null where a chat would wait for money. */
  readonly first_hold_credits?: number | null;
  readonly payment_quote?: PaymentEstimate;
};

/**
 * Recommends a model: the pipeline of a chat up to decide. A request with messages gets the decision that it would get as
 * a chat. Spends nothing.
 * @throws SignalboxError
 */
export async function recommend(gateway: Gateway, given: ModelRequest, context: RequestContext): Promise<PricedAdvice> {
  const caller = context.knownCaller;
  // Such a chat would be refused before all else.
  if (given.conversation.turns.length > 0) gateway.funding.checkNamed(given, caller);
  if (gateway.isDraining) throw shuttingDown();
  const { request, runtime } = pinRequest(given, gateway.lease(), context);
  const { snapshot } = runtime;
  const payments = gateway.funding.adviceUnder(snapshot);
  const terms = { runtime, caller, cap: null, windowsOnly: payments?.mayPay(caller) ?? false };
  // The decision that a chat of the same facts would get.
  const deciding = decideRequest(gateway, request, terms, false, context, routeFacts);
  const { decision, history } = deciding instanceof Promise ? await deciding : deciding;
  const offered = { ...decision, ranked: sayableModels({ request, history, decision, runtime }) };
  // Deciding may have taken a while, and after the shutdown nothing can be written.
  if (gateway.isDraining) throw shuttingDown();
  context.decisionId = idText('dec_', decision.id);
  const recorded = recordedOf(request, caller, snapshot, context);
  const writes = recordDecision(gateway, 'route', decision, recorded, snapshot, null);
  gateway.records.append(writes);
  const funds = gateway.ledger.availableFunds(caller, decision.facts.model, timeOfId(decision.id), terms.windowsOnly);
  const hold = funds?.firstHold(holdTermsOf({ runtime, decision, request })) ?? null;
  const [, ...others] = offered.ranked;
  const shown = hold ? { ...offered, ranked: [choiceWithin(hold, offered, snapshot), ...others] as const } : offered;
  return {
    ...advise(shown, snapshot, taskNote(request.routing.task, decision.facts.task)),
    ...(funds && { first_hold_credits: hold && toCredits(hold.amount) }),
    ...(payments && { payment_quote: payments.quoteOf(decision) }),
  };
}

type DecidedRequest = Pick<RunnableRequest, 'request' | 'history' | 'decision' | 'runtime'>;

/**
 * The models of a decision from the first on that its request can be put into words for: a chat that fails at those before it
 * goes on to it before anything is sent.
 * @throws SignalboxError where there is none, as of that chat
 */
function sayableModels(decided: DecidedRequest): Decision['ranked'] {
  const { ranked, lastResorts } = decided.decision;
  // A query without messages is no request that could be sent.
  if (decided.request.conversation.turns.length === 0) return ranked;
  const failed: FailedAttempt[] = [];
  const isSayable = (one: RankedModel): boolean => {
    const refusals = one.endpoints.map((at) => refusalAt(decided, one, at));
    if (refusals.includes(null)) return true;
    failed.push(...refusals.filter((refusal) => refusal !== null));
    return false;
  };
  const at = ranked.findIndex(isSayable);
  if (at === 0) return ranked;
  const [first = lastResorts.find(isSayable), ...others] = at < 0 ? [] : ranked.slice(at);
  if (first === undefined) throw failedError(failed, false, decided.request);
  return [first, ...others];
}

/** Why an endpoint's adapter has no words for a request; null where it has. */
function refusalAt(decided: DecidedRequest, ranked: RankedModel, at: number): FailedAttempt | null {
  const { runtime, request } = decided;
  const { adapter } = runtime.targets[ranked.model]![at]!;
  if (adapter.kind !== 'wire') return null;
  const model = runtime.snapshot.models[ranked.model]!;
  const { provider, upstream } = model.endpoints[at]!;
  const { call } = callFor(decided, { ranked, at }, request.stream, adapter);
  let made: ReturnType<typeof adapter.request>;
  try {
    made = adapter.request(call);
  } catch {
    // A defect of a plugin says nothing about the request.
    return null;
  }
  if (!('kind' in made) || made.kind !== 'rejected') return null;
  return { model: model.id, provider, upstream, failure: made, requestId: null, sent: false };
}
