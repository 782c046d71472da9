import type { ReadOf } from '../../api/reads.ts';
import { State, type Tone } from '../../design/tag.tsx';
import type { TrafficReport } from '../../shell/traffic.ts';

export type EndpointLine = ReadOf<'/admin/endpoints'>['data'][number];

const STATES: Readonly<Record<string, { readonly tone: Tone; readonly word: string }>> = {
  healthy: { tone: 'good', word: 'Healthy' },
  ejected: { tone: 'bad', word: 'Breaker open' },
  cooling: { tone: 'warn', word: 'Cooling after a 429' },
  misconfigured: { tone: 'bad', word: 'Key refused' },
  out_of_credit: { tone: 'bad', word: 'Out of credit' },
};

interface EndpointStateProps extends Pick<EndpointLine, 'state'> {
  /** Whether its provider is degraded. The state of its breaker is worse, and is shown instead. */
  readonly isDegraded?: boolean;
}

/** A provider that fails many attempts. */
export const Degraded = () => <State tone="warn">Degraded</State>;

export const EndpointState = ({ state, isDegraded = false }: EndpointStateProps) => {
  if (state === 'healthy' && isDegraded) return <Degraded />;
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

/** From here on an endpoint is marked as slower than the policy declares. */
export const SLOWER_MIN = 1.5;

/** Fewer requests tell nothing of a provider's speed. */
const REQUESTS_MIN = 5;

/** The provider that takes longest to its first token; null without streams. */
export function longestOf({ series }: TrafficReport): { readonly name: string; readonly ttftMs: number } | null {
  const known = series.flatMap(({ value, whole }) => {
    const ttftMs = whole.ttft_ms.p50;
    return ttftMs === null || whole.requests < REQUESTS_MIN ? [] : [{ name: value || 'no provider', ttftMs }];
  });
  return known.toSorted((one, other) => other.ttftMs - one.ttftMs)[0] ?? null;
}
