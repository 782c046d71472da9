import type { Decision } from '../core/decision.ts';
import type { Facts } from '../core/facts.ts';
import type { ModelRequest } from '../core/model-request.ts';
import { chatFacts } from '../routing/facts.ts';
import { questionOf } from '../routing/texts.ts';
import type { PromptHistory } from './affinity.ts';
import { decide } from './decide.ts';
import type { FundingTerms } from './funding.ts';
import type { Gateway } from './gateway.ts';
import type { RequestContext } from './request-context.ts';
import { screen } from './screen.ts';

/** A chat request with its decision, and what it takes to learn from its answer. */
export interface Decided {
  readonly history: PromptHistory;
  readonly decision: Decision;
  readonly features: Uint8Array | null;
}

/**
 * Steps 3 to 5 of a chat request: what it asks for, and who is to answer. `isMade`: it will be carried out, not only
 * priced. Throws SignalboxError.
 */
export async function decideChat(
  gateway: Gateway,
  request: ModelRequest,
  { runtime, caller, cap, windowsOnly }: Pick<FundingTerms, 'runtime' | 'caller' | 'cap' | 'windowsOnly'>,
  isMade: boolean,
  context: RequestContext,
): Promise<Decided> {
  const { snapshot } = runtime;
  context.step('profile');
  screen(request, snapshot.gateway);
  const history = gateway.affinity.history(caller.keyId, request);
  const facts = history.recall(chatFacts(request, caller, snapshot), snapshot);
  const { turns } = request.conversation;
  const features = gateway.learner.read(runtime, questionOf(turns));
  const question = {
    features,
    isMade,
    facts: cap === null ? facts : capped(facts, cap),
    forRules: { stream: request.stream, user: request.settings.user, metadata: request.routing.metadata },
    turns,
    windowsOnly,
    context,
  };
  return { history, features, decision: await decide(gateway, question, caller, runtime) };
}

const capped = (facts: Facts, cap: number): Facts => ({ ...facts, budget: Math.min(facts.budget ?? cap, cap) });
