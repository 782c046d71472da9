import { RENEWAL_MS, useResource } from '../../api/resource.ts';
import { Below } from '../../design/states.tsx';
import { range } from '../../shell/range.ts';
import { param } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { useTraffic } from '../../shell/traffic.ts';
import { ViewHead } from '../../shell/view-head.tsx';
import { Alerts } from './alerts.tsx';
import { EndpointPanel } from './endpoint.tsx';
import { endpointId } from './endpoint-words.tsx';
import { Endpoints } from './endpoints.tsx';
import { FleetFigures } from './figures.tsx';
import { Server } from './server.tsx';

/** Where requests go: endpoints with their health and speed, the server, and the alerts that it sends. */
export default function Fleet() {
  const often = { every: RENEWAL_MS };
  const seesAlerts = reachOfViewer('alerts.read') !== null;
  const endpoints = useResource('/admin/endpoints', {}, often);
  const traffic = useTraffic({ by: 'provider', limit: 50 });
  const before = useTraffic({ by: 'provider', limit: 50, isBefore: true });
  const status = useResource('/admin/status', {}, often);
  const policy = useResource('/admin/policy', {}, often);
  const cluster = useResource('/admin/cluster', {}, often);
  const alerts = useResource('/admin/alerts', { limit: 20 }, { ...often, isWanted: seesAlerts });
  const open = param('open');
  const chosen = endpoints.data?.data.find((endpoint) => endpointId(endpoint) === open);
  return (
    <div class="stack">
      <ViewHead title="Fleet" summary={`Health now, traffic of the ${range.value.label.toLowerCase()}`} />
      <FleetFigures endpoints={endpoints} traffic={traffic} status={status} alerts={seesAlerts ? alerts : null} />
      <Endpoints endpoints={endpoints} traffic={traffic} before={before} open={open} />
      <Below of={[endpoints, status, policy]}>
        <Server status={status} policy={policy} cluster={cluster} />
        {seesAlerts && <Alerts alerts={alerts} />}
      </Below>
      {chosen && <EndpointPanel key={open} endpoint={chosen} />}
    </div>
  );
}
