import { idText } from '../core/id.ts';
import { chatOf, type RouteRequest } from '../core/route-query.ts';
import { type Advice, advise, taskNote } from '../routing/advise.ts';
import { routeFacts } from '../routing/facts.ts';
import { questionOf } from '../routing/texts.ts';
import { decide } from './decide.ts';
import { decisionWrites, recordedOf } from './decision-record.ts';
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
export async function recommend(gateway: Gateway, route: RouteRequest, context: RequestContext): Promise<PricedAdvice> {
  const chat = chatOf(route);
  const caller = context.knownCaller;
  // Such a chat would be refused before all else.
  if (chat) gateway.funding.checkNamed(chat, caller);
  if (gateway.draining()) throw drainingError();
  context.step('pin');
  const runtime = gateway.lease();
  const { snapshot } = runtime;
  const payments = gateway.funding.adviceUnder(snapshot);
  context.step('profile');
  if (chat) screen(chat, snapshot.gateway);
  const messages = chat?.messages ?? [];
  const conversation = gateway.affinity.conversation(caller.keyId, chat ?? { messages });
  const facts = conversation.recall(routeFacts(route, caller, snapshot), snapshot);
  const features = gateway.learner.read(runtime, questionOf(messages));
  const { user, metadata } = route;
  const question = {
    facts,
    features,
    isMade: false,
    forRules: { stream: chat?.stream === true, user, metadata },
    messages: route.estimated_input_tokens === undefined ? messages : [],
    windowsOnly: payments?.mayPay(caller) ?? false,
    promptField: chat ? 'messages' : 'estimated_input_tokens',
    context,
  };
  const decision = await decide(gateway, question, caller, runtime);
  // It may have taken a while, and nothing can be written down any more.
  if (gateway.draining()) throw drainingError();
  context.decisionId = idText('dec_', decision.id);
  const writes = decisionWrites(
    gateway,
    'route',
    decision,
    recordedOf(question.forRules, caller, snapshot),
    snapshot,
    null,
  );
  gateway.records.add([
    ...writes,
    ...gateway.learner.exampleWrites(runtime, exampleOf({ runtime, caller, decision, features })),
  ]);
  const advice = advise(decision, snapshot, taskNote(route.task_type, facts.task));
  return payments ? { ...advice, payment_quote: payments.quoteOf(decision) } : advice;
}
