import type { ChatRequest } from '../core/chat-request.ts';
import type { Decision } from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import { chatFacts } from '../routing/facts.ts';
import { questionOf } from '../routing/texts.ts';
import type { Conversation } from './affinity.ts';
import { decide } from './decide.ts';
import type { FundingTerms } from './funding.ts';
import type { Gateway } from './gateway.ts';
import type { RequestContext } from './request-context.ts';
import { screen } from './screen.ts';

/** A chat request with its decision, and what it takes to learn from its answer. */
export interface Decided {
  readonly conversation: Conversation;
  readonly decision: Decision;
  readonly features: Uint8Array | null;
}

/**
 * Steps 3 to 5 of a chat request: what it asks for, and who is to answer. `isMade`: it will be carried out, not only
 * priced. Throws SignalboxError.
 */
export async function decideChat(
  gateway: Gateway,
  request: ChatRequest,
  { runtime, caller, cap, windowsOnly }: Pick<FundingTerms, 'runtime' | 'caller' | 'cap' | 'windowsOnly'>,
  isMade: boolean,
  context: RequestContext,
): Promise<Decided> {
  const { snapshot } = runtime;
  context.step('profile');
  screen(request, snapshot.gateway);
  const conversation = gateway.affinity.conversation(caller.keyId, request);
  const facts = conversation.recall(chatFacts(request, caller, snapshot), snapshot);
  const { stream, user, metadata } = request;
  const features = gateway.learner.read(runtime, questionOf(request.messages));
  const question = {
    features,
    isMade,
    facts: cap === null ? facts : capped(facts, cap),
    forRules: { stream: stream === true, user, metadata },
    messages: request.messages,
    windowsOnly,
    context,
  };
  return { conversation, features, decision: await decide(gateway, question, caller, runtime) };
}

const capped = (facts: Facts, cap: number): Facts => ({ ...facts, budget: Math.min(facts.budget ?? cap, cap) });
