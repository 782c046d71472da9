import type { ReadOf } from '../../api/reads.ts';
import { NamedState, State, type StateWords } from '../../design/tag.tsx';

export type EndpointLine = ReadOf<'/admin/endpoints'>['data'][number];

export const ENDPOINT_STATES: StateWords = {
  healthy: ['good', 'Healthy'],
  ejected: ['bad', 'Breaker open'],
  cooling: ['warn', 'Cooling after a 429'],
  misconfigured: ['bad', 'Key refused'],
  out_of_credit: ['bad', 'Out of credit'],
  absent: ['warn', 'Model missing'],
};

/** Whether an endpoint receives fewer requests than usual because of its state. */
export const isSick = ({ state }: EndpointLine): boolean => state !== 'healthy';

interface EndpointStateProps extends Pick<EndpointLine, 'state'> {
  /** Whether the provider of the endpoint is degraded. If the endpoint itself is not healthy, that state is shown instead. */
  readonly isDegraded?: boolean;
}

/** The mark of a provider that fails many attempts. */
export const Degraded = () => <State tone="warn">Degraded</State>;

export const EndpointState = ({ state, isDegraded = false }: EndpointStateProps) =>
  state === 'healthy' && isDegraded ? <Degraded /> : <NamedState name={state} of={ENDPOINT_STATES} />;

/** The name of an endpoint in the address. */
export const endpointId = ({ provider, model, upstream, key }: EndpointLine): string =>
  [provider, model, upstream, ...(key === null ? [] : [key])].map(encodeURIComponent).join('/');

export const attemptsOf = ({ attempts }: EndpointLine): number =>
  Object.values(attempts).reduce((sum, count) => sum + count, 0);

/** The number of attempts that ended without an answer. Attempts that the caller cancelled are not counted. */
export const failedOf = (line: EndpointLine): number =>
  attemptsOf(line) - (line.attempts.ok ?? 0) - (line.attempts.dropped ?? 0);

/** The ratio of the measured to the declared time to the first token; null if either is unknown. */
export const slownessOf = ({ ttft_ms, declared }: EndpointLine): number | null =>
  ttft_ms === null || declared === null || declared.ttft_ms <= 0 ? null : ttft_ms.p50 / declared.ttft_ms;
