import type { Caller } from '../core/caller.ts';
import type { RouteQuery } from '../core/route-query.ts';
import { type Advice, advise } from '../routing/advise.ts';
import { routeFacts } from '../routing/facts.ts';
import { drainingError } from './chat.ts';
import { decide } from './decide.ts';
import { decisionRecord } from './decision-record.ts';
import type { Gateway } from './gateway.ts';
import { screenMessages } from './screen.ts';

/** A recommendation from the decision that a chat request of the same facts would get. Spends nothing. */
export function recommend(gateway: Gateway, query: RouteQuery, caller: Caller): Advice {
  if (gateway.draining()) throw drainingError();
  const runtime = gateway.lease();
  const { snapshot } = runtime;
  if (query.messages) screenMessages(query.messages, snapshot.gateway);
  const facts = routeFacts(query, caller, snapshot);
  const decision = decide(
    gateway,
    facts,
    { stream: false, user: query.user, metadata: query.metadata },
    caller,
    runtime,
    query.messages ? 'messages' : 'estimated_input_tokens',
  );
  gateway.records.add(decisionRecord('route', decision, caller, snapshot, gateway.now(), null));
  const asked = query.task_type;
  const unknown = asked !== undefined && facts.task.toLowerCase() !== asked.toLowerCase();
  return advise(
    decision,
    snapshot,
    unknown ? `The task type "${asked.slice(0, 64)}" is not known and counts as general. ` : null,
  );
}
