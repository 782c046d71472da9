import type { ReadOf } from '../../api/reads.ts';
import type { Resource } from '../../api/resource.ts';
import { duration, figure, percent } from '../../design/format.ts';
import { Hero, Heroes } from '../../design/hero.tsx';
import { attemptsIn, degradedProviders } from '../../shell/degraded.ts';
import type { TrafficReport } from '../../shell/traffic.ts';

interface FleetFiguresProps {
  readonly endpoints: Resource<ReadOf<'/admin/endpoints'>>;
  readonly traffic: Resource<TrafficReport>;
  readonly status: Resource<ReadOf<'/admin/status'>>;
  /** Null for a role that sees none. */
  readonly alerts: Resource<ReadOf<'/admin/alerts'>> | null;
}

/** Four figures: health, failures, speed, and whether alerts arrive. */
export function FleetFigures({ endpoints, traffic, status, alerts }: FleetFiguresProps) {
  const lines = endpoints.data?.data;
  const whole = traffic.data?.total.whole;
  const healthy = lines?.filter(({ state }) => state === 'healthy').length ?? 0;
  const failing = alerts?.data?.webhooks.filter(({ state }) => state === 'failing').length ?? 0;
  const tried = whole ? attemptsIn(whole) : 0;
  const degraded = degradedProviders(traffic.data).length;
  return (
    <Heroes>
      <Hero
        label="Healthy endpoints"
        failure={endpoints.failure}
        value={lines ? figure(healthy) : null}
        notes={
          lines
            ? [
                `of ${figure(lines.length).short}`,
                degraded === 0 ? '' : `${degraded} degraded ${degraded === 1 ? 'provider' : 'providers'}`,
              ]
            : null
        }
      />
      <Hero
        label="Failed attempts"
        failure={traffic.failure}
        value={whole ? figure(whole.failed_attempts) : null}
        notes={
          whole ? [tried === 0 ? 'no attempts' : `${percent(whole.failed_attempts / tried).short} of attempts`] : null
        }
      />
      <Hero
        label="Time to first token"
        failure={traffic.failure}
        value={whole ? duration(whole.ttft_ms.p50) : null}
        notes={
          whole
            ? whole.ttft_ms.p50 === null
              ? ['no streams yet']
              : [
                  `median; 95 % within ${duration(whole.ttft_ms.p95).short}`,
                  whole.tokens_per_second === null ? '' : `${figure(whole.tokens_per_second).short} tokens a second`,
                ]
            : null
        }
      />
      {alerts ? (
        <Hero
          label="Webhooks that fail"
          failure={alerts.failure}
          value={alerts.data ? figure(failing) : null}
          notes={
            alerts.data
              ? [alerts.data.webhooks.length === 0 ? 'no webhook is set' : `of ${alerts.data.webhooks.length}`]
              : null
          }
        />
      ) : (
        <Hero
          label="This server"
          failure={status.failure}
          value={
            status.data
              ? { short: status.data.is_current ? 'Writes' : 'Refuses', exact: status.data.problem ?? '' }
              : null
          }
        />
      )}
    </Heroes>
  );
}
