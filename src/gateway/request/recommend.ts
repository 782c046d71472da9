import type { Decision, RankedModel } from '../../core/decision/decision.ts';
import { idText, timeOfId } from '../../core/id.ts';
import { toCredits } from '../../core/money/credits.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { upstreamAt } from '../../policy/runtime/upstream.ts';
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
import type { Pipeline } from './pipeline.ts';
import type { RequestContext } from './request-context.ts';

/** A recommendation with the amount that a chat would reserve first, and with the price of a payment if the policy accepts payments. */
type PricedAdvice = Advice & {
  /** Present if the caller has budgets or a balance; null if a chat would wait for money. */
  readonly first_hold_credits?: number | null;
  readonly payment_quote?: PaymentEstimate;
  /** The guards that would inspect a chat with this request; absent for none. */
  readonly guards_not_run?: readonly string[];
};

/**
 * Recommends a model, with the steps of a chat up to the step "decide". A request with messages gets the same decision as a chat. A
 * recommendation spends nothing.
 * @throws SignalboxError
 */
export async function recommend(
  { gateway, prepare }: Pipeline,
  given: ModelRequest,
  context: RequestContext,
): Promise<PricedAdvice> {
  const caller = context.knownCaller;
  // A chat with this request would be refused before anything else is checked.
  if (given.conversation.turns.length > 0) gateway.funding.checkNamed(given, caller);
  if (gateway.isDraining) throw shuttingDown();
  const renewal = gateway.renewedPrices();
  if (renewal !== null) await renewal;
  const preparing = prepare(given, gateway.lease(), context, true);
  const { request, runtime, guardsNotRun } = preparing instanceof Promise ? await preparing : preparing;
  const { snapshot } = runtime;
  const payments = gateway.funding.adviceUnder(snapshot);
  const terms = { runtime, caller, cap: null, windowsOnly: payments?.mayPay(caller) ?? false };
  // `decideRequest` makes the same decision as for a chat with the same facts.
  const deciding = decideRequest(gateway, request, terms, false, context, routeFacts);
  const { decision, history } = deciding instanceof Promise ? await deciding : deciding;
  const offered = { ...decision, ranked: sayableModels({ request, history, decision, runtime }) };
  // Deciding may have taken time, and after a shutdown nothing can be written.
  if (gateway.isDraining) throw shuttingDown();
  context.work.decisionId = idText('dec_', decision.id);
  const recorded = recordedOf(request, caller, snapshot, context);
  const writes = recordDecision(gateway, 'route', decision, recorded, snapshot, null);
  gateway.records.append(writes);
  const funds = gateway.ledger.availableFunds(caller, decision.facts.model, timeOfId(decision.id), terms.windowsOnly);
  const hold = funds?.firstHold(holdTermsOf({ runtime, decision, request })) ?? null;
  const [, ...others] = offered.ranked;
  const shown = hold ? { ...offered, ranked: [choiceWithin(hold, offered, snapshot), ...others] as const } : offered;
  return {
    ...advise(shown, snapshot, taskNote(request.routing.task, decision.facts.task)),
    ...(guardsNotRun.length > 0 && { guards_not_run: guardsNotRun }),
    ...(funds && { first_hold_credits: hold && toCredits(hold.amount) }),
    ...(payments && { payment_quote: payments.quoteOf(decision) }),
  };
}

type DecidedRequest = Pick<RunnableRequest, 'request' | 'history' | 'decision' | 'runtime'>;

/**
 * Returns the models of a decision, from the first model whose adapter can express the request. A chat would try the models before it,
 * fail, and go on to that model before it sends anything.
 * @throws SignalboxError if no adapter can express the request, as for the chat
 */
function sayableModels(decided: DecidedRequest): Decision['ranked'] {
  const { ranked, lastResorts } = decided.decision;
  // A query without messages is not a request that could be sent.
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

/** Returns why an endpoint's adapter cannot express a request; null if it can. */
function refusalAt(decided: DecidedRequest, ranked: RankedModel, at: number): FailedAttempt | null {
  const { runtime, request } = decided;
  const target = upstreamAt(runtime.upstreams, ranked.model, at);
  const { adapter, model } = target;
  if (adapter.kind !== 'wire') return null;
  const { provider, upstream } = target.endpoint;
  const { call } = callFor(decided, { ranked, upstream: target }, request.stream);
  let made: ReturnType<typeof adapter.request>;
  try {
    made = adapter.request(call);
  } catch {
    // A defect of a plugin does not mean that the request cannot be expressed.
    return null;
  }
  if (!('kind' in made) || made.kind !== 'rejected') return null;
  return { model: model.id, provider, upstream, failure: made, requestId: null, sent: false };
}
