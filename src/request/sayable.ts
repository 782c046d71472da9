import type { Decision, RankedModel } from '../core/decision.ts';
import { callFor } from '../exchange/endpoint-request.ts';
import { type FailedAttempt, failedError } from '../exchange/failure.ts';
import type { RunnableRequest } from '../exchange/runnable-request.ts';

type DecidedRequest = Pick<RunnableRequest, 'request' | 'history' | 'decision' | 'runtime'>;

/**
 * The models of a decision from the first on that its request can be put into words for: a chat that fails at those before it
 * goes on to it before anything is sent.
 * @throws SignalboxError where there is none, as of that chat
 */
export function sayableModels(decided: DecidedRequest): Decision['ranked'] {
  const { ranked, lastResorts } = decided.decision;
  // A query without messages is no request that could be sent.
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

/** Why an endpoint's adapter has no words for a request; null where it has. */
function refusalAt(decided: DecidedRequest, ranked: RankedModel, at: number): FailedAttempt | null {
  const { runtime, request } = decided;
  const { adapter } = runtime.targets[ranked.model]![at]!;
  if (adapter.kind !== 'wire') return null;
  const model = runtime.snapshot.models[ranked.model]!;
  const { provider, upstream } = model.endpoints[at]!;
  const { call } = callFor(decided, { ranked, at }, request.stream, adapter);
  let made: ReturnType<typeof adapter.request>;
  try {
    made = adapter.request(call);
  } catch {
    // A defect of a plugin says nothing about the request.
    return null;
  }
  if (!('kind' in made) || made.kind !== 'rejected') return null;
  return { model: model.id, provider, upstream, failure: made, requestId: null, sent: false };
}
