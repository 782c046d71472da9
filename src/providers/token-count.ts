import type { ProviderFailure, StreamPart } from '../contract/parts.ts';
import type { ProviderCall, TokenCountAdapter, WireAdapter } from '../contract/provider.ts';
import { isPlausible, plainUsage } from '../core/usage.ts';
import { openCall } from './call.ts';
import type { CountPause, EndpointHealth } from './health/types.ts';
import type { CallTerms, UpstreamTarget } from './upstream-call.ts';

/** The longest time of a count that a client asks for before it sends its request, ms. */
export const ASKED_COUNT_MS = 5_000;
/** An endpoint whose service fails is not asked again for this time, ms: at first, and at most after failures in a row. */
const PAUSE_MS = 2_000;
const PAUSE_MS_MAX = 60_000;
/** The time after which a count that failed without a pause may be asked for again, ms. */
const RETRY_MS = 1_000;

/** What an endpoint says of the length of a prompt. */
export type TokenCount =
  | { readonly tokens: number }
  /** Not now, and perhaps after so many ms; null where it does not count such a prompt at all. */
  | { readonly tokens: null; readonly retryAfterMs: number | null };

/** An endpoint that a prompt may be sent to. */
interface CountingEndpoint extends Pick<CallTerms, 'deadlines' | 'alarms'> {
  readonly target: UpstreamTarget;
  readonly health: EndpointHealth;
}

/**
 * The pause after a failure of the service.
 * @param last the one before; null since the last count that succeeded
 * @param askedMs the time that the service asks for
 */
export function pauseAfter(last: CountPause | null, now: number, askedMs: number): CountPause {
  // A count that began before the pause says nothing new.
  if (last && now < last.until) return last;
  const ms = last ? Math.min(PAUSE_MS_MAX, 2 * last.ms) : PAUSE_MS;
  return { ms, until: now + Math.max(ms, askedMs) };
}

/**
 * Has an endpoint count the input tokens of a call, where its adapter has an operation for it. Services limit counts apart
 * from answers, and some have none, so a failed count says nothing of an endpoint's health; health says where not to ask.
 * Never rejects.
 * @param withinMs the longest time that it may take
 * @param signal ends the count when its caller leaves
 */
export async function countAt(
  { target, health, deadlines, alarms }: CountingEndpoint,
  call: ProviderCall,
  withinMs: number,
  signal: AbortSignal,
): Promise<TokenCount> {
  const { adapter } = target;
  const now = performance.now();
  if (adapter.kind !== 'wire' || !adapter.tokenCount || signal.aborted) return NO_COUNT;
  const pausedMs = (health.countPause?.until ?? now) - now;
  if (pausedMs > 0) return { tokens: null, retryAfterMs: Math.round(pausedMs) };
  if (health.state !== 'healthy') return { tokens: null, retryAfterMs: RETRY_MS };
  const counting = { ...target, adapter: countingAdapter(adapter, adapter.tokenCount) };
  const asked = openCall(counting, { ...call, stream: false }, { deadlines, totalBy: now + withinMs, alarms });
  const leave = () => asked.abort();
  signal.addEventListener('abort', leave);
  const parts: StreamPart[] = [];
  for (let batch = asked.read(); batch !== null; batch = asked.read()) {
    if (batch instanceof Promise) await batch;
    else parts.push(...batch);
  }
  signal.removeEventListener('abort', leave);
  const usage = parts.find((part) => part.type === 'usage')?.usage;
  if (usage) {
    health.countPause = null;
    return { tokens: usage.inputTokens };
  }
  const failure = parts.find((part) => part.type === 'failure')?.failure;
  return failure === undefined || OF_PROMPT.has(failure.kind) ? NO_COUNT : failedCount(health, failure);
}

const NO_COUNT = { tokens: null, retryAfterMs: null } as const;

/** A service that says so of one prompt may count the next one; one without counts says it of every prompt. */
const OF_PROMPT: ReadonlySet<ProviderFailure['kind']> = new Set(['rejected', 'context', 'not_found']);

/** What no prompt brings about: a long one may be late, and a strange one lack a permission. */
const OF_SERVICE: ReadonlySet<ProviderFailure['kind']> = new Set([
  'rate_limited',
  'overloaded',
  'server',
  'connect',
  'credit',
]);

function failedCount(health: EndpointHealth, { kind, retryAfterMs = 0 }: ProviderFailure): TokenCount {
  if (!OF_SERVICE.has(kind)) return { tokens: null, retryAfterMs: RETRY_MS };
  const now = performance.now();
  const pause = pauseAfter(health.countPause, now, retryAfterMs);
  health.countPause = pause;
  return { tokens: null, retryAfterMs: Math.round(pause.until - now) };
}

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
