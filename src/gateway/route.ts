import { toCredits } from '../core/credits.ts';
import type { Decision } from '../core/decision.ts';
import { idText } from '../core/id.ts';
import type { ModelRequest } from '../core/model-request.ts';
import { atomicOf, type PaymentPolicy } from '../core/payment-policy.ts';
import { isWallet } from '../core/wallet.ts';
import { type Advice, advise, taskNote } from '../routing/advise.ts';
import { routeFacts } from '../routing/facts.ts';
import { questionOf } from '../routing/texts.ts';
import { decide } from './decide.ts';
import { decisionWrites } from './decision-record.ts';
import { drainingError } from './drain.ts';
import type { Gateway } from './gateway.ts';
import { exampleOf } from './lesson.ts';
import type { RequestContext } from './request-context.ts';
import { screen } from './screen.ts';
import { namedWallet } from './x402/payer.ts';

/** Advice with what a wallet without a balance would be asked to pay, where the policy takes payments. */
export type PricedAdvice = Advice & { readonly payment_quote?: ReturnType<typeof paymentQuote> };

/**
 * A recommendation from the decision that a chat request of the same facts would get; where the request has messages,
 * from the one that it would get itself, sent as a chat. Spends nothing, and tries no other model than the best.
 */
export async function recommend(
  gateway: Gateway,
  request: ModelRequest,
  context: RequestContext,
): Promise<PricedAdvice> {
  const { routing, settings, conversation } = request;
  const { turns } = conversation;
  const caller = context.knownCaller;
  // A chat that names a wallet which is none, or not the caller's, would be refused before all else.
  if (turns.length > 0) namedWallet(request, caller);
  if (gateway.draining()) throw drainingError();
  context.step('pin');
  const runtime = gateway.lease();
  const { snapshot } = runtime;
  context.step('profile');
  screen(request, snapshot.gateway);
  const history = gateway.affinity.history(caller.keyId, request);
  const facts = history.recall(routeFacts(request, caller, snapshot), snapshot);
  const features = gateway.learner.read(runtime, questionOf(turns));
  const question = {
    facts,
    features,
    isMade: false,
    forRules: { stream: request.stream, user: settings.user, metadata: routing.metadata },
    turns: routing.inputTokens === undefined ? turns : [],
    // A wallet without a balance would be asked to pay.
    windowsOnly: snapshot.payments !== null && isWallet(caller.keyId),
    promptField: turns.length > 0 ? request.names.turns : 'estimated_input_tokens',
    context,
  };
  const decision = await decide(gateway, question, caller, runtime);
  // It may have taken a while, and nothing can be written down any more.
  if (gateway.draining()) throw drainingError();
  context.decisionId = idText('dec_', decision.id);
  const writes = decisionWrites(gateway, 'route', decision, caller, snapshot, null);
  gateway.records.add([
    ...writes,
    ...gateway.learner.exampleWrites(runtime, exampleOf({ runtime, caller, decision, features })),
  ]);
  const advice = advise(decision, snapshot, taskNote(routing.task, facts.task));
  const { payments } = snapshot;
  return payments ? { ...advice, payment_quote: paymentQuote(payments, decision) } : advice;
}

/** At most, and before what the wallet's balance pays. */
function paymentQuote({ settleFee, chargeMin, networks }: PaymentPolicy, { ranked }: Decision) {
  const price = Math.max(chargeMin, Math.max(...ranked.map(({ bound }) => bound)) + settleFee);
  return {
    schemes: ['exact'],
    max_credits: toCredits(price),
    max_atomic: networks.map(({ id, asset, rate }) => ({
      network: id,
      asset: asset.address,
      amount_atomic: String(atomicOf(rate, price)),
    })),
  };
}
