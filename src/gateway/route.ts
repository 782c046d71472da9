import type { Caller } from '../core/caller.ts';
import type { RouteQuery } from '../core/route-query.ts';
import { type Advice, advise, taskNote } from '../routing/advise.ts';
import { routeFacts } from '../routing/facts.ts';
import { drainingError } from './chat.ts';
import { decide } from './decide.ts';
import { decisionWrites } from './decision-record.ts';
import type { Gateway } from './gateway.ts';
import { screenMessages } from './screen.ts';

/** A recommendation from the decision that a chat request of the same facts would get. Spends nothing. */
export async function recommend(gateway: Gateway, query: RouteQuery, caller: Caller): Promise<Advice> {
  if (gateway.draining()) throw drainingError();
  const runtime = gateway.lease();
  const { snapshot } = runtime;
  if (query.messages) screenMessages(query.messages, snapshot.gateway);
  const { messages = [] } = query;
  const conversation = gateway.affinity.conversation(caller.keyId, { messages });
  const facts = conversation.recall(routeFacts(query, caller, snapshot), snapshot);
  const question = {
    facts,
    forRules: { stream: false, user: query.user, metadata: query.metadata },
    messages: query.estimated_input_tokens === undefined ? messages : [],
    promptField: query.messages ? 'messages' : 'estimated_input_tokens',
  };
  const decision = await decide(gateway, question, caller, runtime);
  // It may have taken a while, and nothing can be written down any more.
  if (gateway.draining()) throw drainingError();
  gateway.records.add(decisionWrites(gateway, 'route', decision, caller, snapshot, null));
  return advise(decision, snapshot, taskNote(query.task_type, facts.task));
}
