import type { ProviderFailure, StreamPart } from '../contract/parts.ts';
import type { ProviderCall, TokenCountAdapter, WireAdapter } from '../contract/provider.ts';
import { isPlausible, plainUsage } from '../core/money/usage.ts';
import { openCall } from './call.ts';
import type { CountPause, EndpointHealth } from './health/types.ts';
import type { CallTerms, UpstreamTarget } from './upstream-call.ts';

/** The maximum time of a count that a client requests before it sends its actual request, in ms. */
export const ASKED_COUNT_MS = 5_000;
/**
 * The pause before an endpoint receives another count request after a failure, in ms: at first, and at most after several failures in a
 * row.
 */
const PAUSE_MS = 2_000;
const PAUSE_MS_MAX = 60_000;
/** The time after which a count that failed without a pause may be requested again, in ms. */
const RETRY_MS = 1_000;

/** An endpoint's answer about the length of a prompt. */
export type TokenCount =
  | { readonly tokens: number }
  /** The endpoint returned no count, and may return one after this many ms; null if it cannot count this prompt at all. */
  | { readonly tokens: null; readonly retryAfterMs: number | null };

/** An endpoint that can count the tokens of a prompt. */
interface CountingEndpoint extends Pick<CallTerms, 'deadlines' | 'alarms'> {
  readonly target: UpstreamTarget;
  readonly health: EndpointHealth;
}

/**
 * Returns the pause after a failure of the provider.
 * @param last the previous pause; null if a count has succeeded since
 * @param askedMs the time that the provider requests
 */
export function pauseAfter(last: CountPause | null, now: number, askedMs: number): CountPause {
  // The failed count began before the pause, so its failure is nothing new.
  if (last && now < last.until) return last;
  const ms = last ? Math.min(PAUSE_MS_MAX, 2 * last.ms) : PAUSE_MS;
  return { ms, until: now + Math.max(ms, askedMs) };
}

/**
 * Requests the number of input tokens of a call from an endpoint whose adapter supports counting. Providers limit counts separately from
 * answers, and some providers cannot count, so a failed count does not affect an endpoint's health. Signalbox requests no count from an
 * unhealthy endpoint. `countAt` never rejects.
 * @param withinMs the maximum time of the count
 * @param signal ends the count when its caller disconnects
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

/**
 * With these failures a provider may reject one prompt and still count the tokens of the next prompt. A provider that cannot count tokens
 * returns these failures for every prompt.
 */
const OF_PROMPT: ReadonlySet<ProviderFailure['kind']> = new Set(['rejected', 'context', 'not_found']);

/**
 * Failures that no prompt causes. Failures of other kinds may have their cause in the prompt: a long prompt may time out, an unusual prompt
 * may lack a permission.
 */
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

/** Returns an adapter that requests a count and reads the result as an answer with nothing but its usage. */
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
  failure: { kind: 'malformed', message: 'the answer has no token count' },
} as const satisfies StreamPart;
