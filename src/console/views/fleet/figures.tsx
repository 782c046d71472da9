import type { ReadOf } from '../../api/reads.ts';
import type { Resource } from '../../api/resource.ts';
import { duration, figure, percent, plural } from '../../design/format.ts';
import { Hero, Heroes } from '../../design/hero.tsx';
import { attemptsIn, degradedProviders } from '../../shell/providers.ts';
import type { TrafficReport } from '../../shell/traffic.ts';
import { isSick } from './endpoint-words.tsx';

interface FleetFiguresProps {
  readonly endpoints: Resource<ReadOf<'/admin/endpoints'>>;
  readonly traffic: Resource<TrafficReport>;
  readonly status: Resource<ReadOf<'/admin/status'>>;
  /** The alerts are null if the role may not see alerts. */
  readonly alerts: Resource<ReadOf<'/admin/alerts'>> | null;
}

/** Four figures: health, failures, speed, and whether alerts arrive. */
export function FleetFigures({ endpoints, traffic, status, alerts }: FleetFiguresProps) {
  const lines = endpoints.data?.data;
  const whole = traffic.data?.total.whole;
  const tried = whole ? attemptsIn(whole) : 0;
  const failed = whole?.failed_attempts ?? 0;
  const degraded = new Set(degradedProviders(traffic.data).map(({ name }) => name));
  const healthy = lines?.filter((line) => !isSick(line) && !degraded.has(line.provider)).length;
  const webhooks = alerts?.data?.webhooks;
  const server = status.data && {
    short: status.data.is_current ? 'Writes' : 'Refuses',
    exact: status.data.problem ?? '',
  };
  return (
    <Heroes>
      <Hero
        label="Healthy endpoints"
        failure={endpoints.failure}
        value={healthy === undefined ? null : figure(healthy)}
        notes={
          lines && [`of ${figure(lines.length).short}`, degraded.size > 0 && plural(degraded.size, 'degraded provider')]
        }
      />
      <Hero
        label="Failed attempts"
        failure={traffic.failure}
        value={whole ? figure(failed) : null}
        notes={whole && [tried === 0 ? 'no attempts' : `${percent(failed / tried).short} of attempts`]}
      />
      <SpeedHero traffic={traffic} />
      {alerts ? (
        <Hero
          label="Webhooks that fail"
          failure={alerts.failure}
          value={webhooks ? figure(webhooks.filter(({ state }) => state === 'failing').length) : null}
          notes={webhooks && [webhooks.length === 0 ? 'no webhook is set' : `of ${webhooks.length}`]}
        />
      ) : (
        <Hero label="This server" failure={status.failure} value={server} />
      )}
    </Heroes>
  );
}

/** The time to the first token and the streaming speed. */
export function SpeedHero({ traffic: { data, failure } }: { readonly traffic: Resource<TrafficReport> }) {
  const { ttft_ms, tokens_per_second: speed } = data?.total.whole ?? { ttft_ms: null, tokens_per_second: null };
  const notes =
    ttft_ms?.p50 === null
      ? ['no streams yet']
      : [
          `median; 95 % within ${duration(ttft_ms?.p95 ?? null).short}`,
          speed && `${figure(speed).short} tokens a second`,
        ];
  return (
    <Hero
      label="Time to first token"
      failure={failure}
      value={ttft_ms && duration(ttft_ms.p50)}
      notes={ttft_ms && notes}
    />
  );
}
