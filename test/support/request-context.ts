import type { AttemptRecord } from '../../src/core/decision/attempt.ts';
import type { DecisionOutcome } from '../../src/core/decision/outcome.ts';
import { type Caller, holderCaller } from '../../src/core/people/caller.ts';
import { createCompletion } from '../../src/dialects/openai-chat/surface.ts';
import type { ExchangeFacts, ExchangeResult } from '../../src/gateway/exchange/exchange-facts.ts';
import { RequestContext } from '../../src/gateway/request/request-context.ts';
import type { AnswerFacts, ClientFacts, WorkFacts } from '../../src/gateway/request/request-facts.ts';
import type { Trace } from '../../src/host/telemetry/trace.ts';

type NotedFacts = Pick<ClientFacts, 'caller' | 'denied'> &
  Pick<WorkFacts, 'routing' | 'decisionId' | 'startedAt'> &
  Pick<ExchangeFacts, 'result' | 'failedUsage' | 'hasReachedCap' | 'dispatchedAt'> &
  Pick<AnswerFacts, 'status' | 'code' | 'isReplayed' | 'isStream'>;

export interface ContextFacts extends Partial<NotedFacts> {
  readonly id?: number;
  readonly at?: number;
  readonly method?: string;
  readonly route?: string;
  readonly trace?: Trace | null;
  readonly signal?: AbortSignal;
  readonly keyId?: string | null;
  readonly onEnd?: (context: RequestContext) => void;
}

/** A caller for tests in which only its ID matters. */
export const callerNamed = (keyId: string): Caller => holderCaller(keyId);

/** A context with these facts. */
export function contextWith(facts: ContextFacts = {}): RequestContext {
  const { id = 1, at = 0, method = 'POST', route = 'other', trace = null, keyId = null, onEnd } = facts;
  const { signal = new AbortController().signal } = facts;
  const operation = route === createCompletion.path && method === 'POST' ? ('chat' as const) : null;
  // `counts`: the tests may set any facts.
  const rule = { ...(operation && { operation }), counts: true };
  const context = new RequestContext({ method, signal }, id, at, route, rule, trace, onEnd);
  if (keyId !== null) context.client.caller = callerNamed(keyId);
  for (const part of [context.client, context.work, context.exchange, context.answer]) {
    for (const [name, value] of Object.entries(facts))
      if (Object.hasOwn(part, name)) Object.assign(part, { [name]: value });
  }
  return context;
}

/** The facts of a context, as `contextWith` takes them. */
export const notedIn = (context: RequestContext): ContextFacts => {
  const { requestNumber: id, at, method, route, trace, client, work, exchange, answer } = context;
  return { id, at, method, route, trace, ...client, ...work, ...exchange, ...answer };
};

/** An attempt that answered at once, except for these facts. */
export const attemptRecord = (more: Partial<AttemptRecord> = {}): AttemptRecord => ({
  ...{ model: 'a', provider: 'p', upstream: 'a-up', endpoint: 0, requestId: null, finishReasons: [] },
  ...{ startMs: 1, ms: 10, firstPartMs: 5, failure: null },
  ...more,
});

/** A request that one attempt answered, except for these facts. */
export const resultOf = (
  outcome: Partial<DecisionOutcome> = {},
  platform: Partial<ExchangeResult['platform']> = {},
): ExchangeResult => ({
  outcome: {
    ...{ status: 'completed', error: null, attempts: [attemptRecord()], usage: null, estimated: false },
    ...{ charged: 0, saved: 0, firstPartMs: 20, totalMs: 100, cappedBy: null, usageReplaced: false },
    ...outcome,
  },
  platform: {
    ...{ routed_model: 'a', route_reason: 'test', credits_consumed: 0, cost_saved_credits: 0, decision_id: 'dec_1' },
    ...{ policy_revision: 'r', estimated: false, dropped: [], attempts: [] },
    ...platform,
  },
});
