import type { ReadOf } from '../../api/reads.ts';
import { State, type Tone } from '../../design/tag.tsx';
import type { TrafficReport } from '../../shell/traffic.ts';

export type EndpointLine = ReadOf<'/admin/endpoints'>['data'][number];

const STATES: Readonly<Record<string, { readonly tone: Tone; readonly word: string }>> = {
  healthy: { tone: 'good', word: 'Healthy' },
  ejected: { tone: 'bad', word: 'Breaker open' },
  cooling: { tone: 'warn', word: 'Cooling after a 429' },
  misconfigured: { tone: 'bad', word: 'Key refused' },
};

export const EndpointState = ({ state }: Pick<EndpointLine, 'state'>) => {
  const { tone, word } = STATES[state] ?? { tone: 'warn', word: state };
  return <State tone={tone}>{word}</State>;
};

/** Names an endpoint in the address. */
export const endpointId = ({ provider, model, upstream }: EndpointLine): string =>
  [provider, model, upstream].map(encodeURIComponent).join('/');

export const attemptsOf = ({ attempts }: EndpointLine): number =>
  Object.values(attempts).reduce((sum, count) => sum + count, 0);

/** Attempts that ended in no answer; those that the caller dropped are not among them. */
export const failedOf = ({ attempts }: EndpointLine): number =>
  Object.entries(attempts).reduce(
    (sum, [outcome, count]) => sum + (outcome === 'ok' || outcome === 'dropped' ? 0 : count),
    0,
  );

/** How many times what the policy declares an endpoint takes to its first token; null where either is not known. */
export const slownessOf = ({ ttft_ms, declared }: EndpointLine): number | null =>
  ttft_ms === null || declared === null || declared.ttft_ms <= 0 ? null : ttft_ms.p50 / declared.ttft_ms;

interface SlowProvider {
  readonly name: string;
  readonly ttftMs: number;
  /** How many times what it was in the period before; null where nothing is known of that. */
  readonly times: number | null;
}

/** Fewer requests tell nothing of a provider's speed. */
const REQUESTS_MIN = 5;

/**
 * The provider that is slower than it was, the most of all; else the slowest. Null without streams.
 * @param now traffic by provider @param before the same of the period before
 */
export function slowestOf(now: TrafficReport, before: TrafficReport | null): SlowProvider | null {
  const slow = now.series.flatMap(({ value, whole }): SlowProvider[] => {
    const ttftMs = whole.ttft_ms.p50;
    if (ttftMs === null || whole.requests < REQUESTS_MIN) return [];
    const then = before?.series.find((line) => line.value === value)?.whole.ttft_ms.p50 ?? null;
    return [{ name: value || 'no provider', ttftMs, times: then === null || then <= 0 ? null : ttftMs / then }];
  });
  const isSlower = ({ times }: SlowProvider) => (times ?? 0) >= SLOWER_MIN;
  return (
    slow.toSorted(
      (one, other) =>
        Number(isSlower(other)) - Number(isSlower(one)) ||
        (isSlower(one) ? (other.times ?? 0) - (one.times ?? 0) : other.ttftMs - one.ttftMs),
    )[0] ?? null
  );
}

/** From here on a provider is slow: percentiles alone differ by 5 %, and days by more. */
export const SLOWER_MIN = 1.5;
