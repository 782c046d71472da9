import { idText } from '../core/id.ts';
import type { ModelRequest } from '../core/model-request.ts';
import { type Advice, advise, taskNote } from '../routing/advise.ts';
import { routeFacts } from '../routing/facts.ts';
import { questionOf } from '../routing/texts.ts';
import { decide } from './decide.ts';
import { decisionWrites } from './decision-record.ts';
import { drainingError } from './drain.ts';
import type { PaymentEstimate } from './funding.ts';
import type { Gateway } from './gateway.ts';
import { exampleOf } from './lesson.ts';
import type { RequestContext } from './request-context.ts';
import { screen } from './screen.ts';

/** Advice with the price of a payment, where the policy takes payments. */
export type PricedAdvice = Advice & { readonly payment_quote?: PaymentEstimate };

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
  // Such a chat would be refused before all else.
  if (turns.length > 0) gateway.funding.checkNamed(request, caller);
  if (gateway.draining()) throw drainingError();
  context.step('pin');
  const runtime = gateway.lease();
  const { snapshot } = runtime;
  const payments = gateway.funding.adviceUnder(snapshot);
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
    windowsOnly: payments?.mayPay(caller) ?? false,
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
  return payments ? { ...advice, payment_quote: payments.quoteOf(decision) } : advice;
}
