import type { ProviderFailure, StreamPart } from '../contract/parts.ts';
import type { ProviderCall, TokenCountAdapter, WireAdapter } from '../contract/provider.ts';
import type { Deadlines } from '../core/snapshot.ts';
import { isPlausible, plainUsage } from '../core/usage.ts';
import { openCall } from './call.ts';
import type { EndpointHealth } from './health/types.ts';
import type { UpstreamTarget } from './upstream-call.ts';

/** The longest time of a count that a client asks for before it sends its request, ms. */
export const ASKED_COUNT_MS = 5_000;
/** An endpoint that did not count is not asked again for this time, ms: it may be down, or have no counts at all. */
const PAUSE_MS = 60_000;

/** An endpoint that a prompt may be sent to. */
export interface CountingEndpoint {
  readonly target: UpstreamTarget;
  readonly health: EndpointHealth;
  readonly deadlines: Deadlines;
}

/** When an endpoint may be asked again, ms of performance.now. Its health stands for it: that outlives policies. */
const pausedUntil = new WeakMap<EndpointHealth, number>();

/**
 * Has an endpoint count the input tokens of a call, where its adapter has an operation for it. Services limit counts apart
 * from answers, and some have none, so a failed count says nothing of an endpoint's health; health says where not to ask.
 * Never rejects.
 * @param withinMs the longest time that it may take; shorter than `ASKED_COUNT_MS`, a late count says nothing of the endpoint
 * @param signal ends the count when its caller leaves
 * @returns null where the endpoint does not count now
 */
export async function countAt(
  { target, health, deadlines }: CountingEndpoint,
  call: ProviderCall,
  withinMs: number,
  signal: AbortSignal,
): Promise<number | null> {
  const { adapter } = target;
  const now = performance.now();
  if (adapter.kind !== 'wire' || !adapter.tokenCount || signal.aborted) return null;
  if (health.state !== 'healthy' || now < (pausedUntil.get(health) ?? 0)) return null;
  const counting = { ...target, adapter: countingAdapter(adapter, adapter.tokenCount) };
  const asked = openCall(counting, { ...call, stream: false }, deadlines, now + withinMs);
  const leave = () => asked.abort();
  signal.addEventListener('abort', leave);
  const parts: StreamPart[] = [];
  for (let batch = asked.read(); batch !== null; batch = asked.read()) {
    if (batch instanceof Promise) await batch;
    else parts.push(...batch);
  }
  signal.removeEventListener('abort', leave);
  const failure = parts.find((part) => part.type === 'failure')?.failure;
  if (failure && isOfEndpoint(failure, withinMs))
    pausedUntil.set(health, performance.now() + Math.max(PAUSE_MS, failure.retryAfterMs ?? 0));
  return parts.find((part) => part.type === 'usage')?.usage.inputTokens ?? null;
}

/** Whether the endpoint is at fault: not for a prompt that it refuses, nor for a long one that takes its time. */
const isOfEndpoint = ({ kind }: ProviderFailure, withinMs: number): boolean =>
  kind !== 'rejected' && kind !== 'context' && (kind !== 'timeout' || withinMs >= ASKED_COUNT_MS);

/** The adapter that asks for a count, and reads it as an answer that has nothing but its usage. */
function countingAdapter(adapter: WireAdapter, { request, reply }: TokenCountAdapter): WireAdapter {
  return {
    ...adapter,
    request,
    reply(body) {
      const usage = plainUsage(reply(body) ?? Number.NaN, 0);
      if (!isPlausible(usage) || usage.inputTokens === 0) return [UNREADABLE];
      return [
        { type: 'finish', choice: 0, reason: 'stop', raw: 'stop' },
        { type: 'usage', usage },
      ];
    },
  };
}

const UNREADABLE = {
  type: 'failure',
  failure: { kind: 'malformed', message: 'the answer states no count of tokens' },
} as const satisfies StreamPart;
