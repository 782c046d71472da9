import type { AttemptRecord, DecisionOutcome } from '../../src/core/decision/record.ts';
import { type Caller, holderCaller } from '../../src/core/people/caller.ts';
import { createCompletion } from '../../src/dialects/openai-chat/surface.ts';
import { type ExchangeResult, RequestContext } from '../../src/gateway/request/request-context.ts';
import type { Trace } from '../../src/host/telemetry/trace.ts';

type NotedFact =
  | 'caller'
  | 'status'
  | 'code'
  | 'routing'
  | 'decisionId'
  | 'result'
  | 'failedUsage'
  | 'hasReachedCap'
  | 'isReplayed'
  | 'isStream'
  | 'startedAt'
  | 'dispatchedAt';

export interface ContextFacts extends Partial<Pick<RequestContext, NotedFact>> {
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
  const { id = 1, at = 0, method = 'POST', route = 'other', trace = null } = facts;
  const { signal = new AbortController().signal, onEnd } = facts;
  const { keyId = null, ...rest } = facts;
  const context = new RequestContext({ method, signal }, id, at, route, trace, onEnd);
  if (keyId !== null) context.caller = callerNamed(keyId);
  const {
    id: _id,
    route: _route,
    at: _at,
    method: _method,
    trace: _trace,
    signal: _signal,
    onEnd: _onEnd,
    ...noted
  } = rest;
  if (route === createCompletion.path && method === 'POST') context.operation = 'chat';
  return Object.assign(context, noted);
}

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
