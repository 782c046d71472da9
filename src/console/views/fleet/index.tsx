import { useState } from 'preact/hooks';
import { RENEWAL_MS, useResource } from '../../api/resource.ts';
import { Below, NoPermission } from '../../design/states.tsx';
import { Tabs } from '../../design/tabs.tsx';
import { degradedProviders } from '../../shell/providers.ts';
import { range } from '../../shell/range.ts';
import { param, setParams } from '../../shell/router.ts';
import { mayView, reachOfViewer } from '../../shell/session.ts';
import { useTraffic } from '../../shell/traffic.ts';
import { ViewHead } from '../../shell/view-head.tsx';
import { Alerts } from './alerts.tsx';
import { Checks, type Checkup } from './checks.tsx';
import { EndpointPanel } from './endpoint.tsx';
import { endpointId } from './endpoint-words.tsx';
import { Endpoints } from './endpoints.tsx';
import { FleetFigures } from './figures.tsx';
import { Models } from './models.tsx';
import { Server } from './server.tsx';

const TABS = [
  { id: 'endpoints', label: 'Endpoints', action: 'endpoints.read' },
  { id: 'models', label: 'Models', action: 'models.list' },
  { id: 'checks', label: 'Checks', action: 'status.read' },
] as const;
const PANEL = 'fleet';

/** The endpoints with their health and speed, and the models that they serve. */
export default function Fleet() {
  const tabs = TABS.filter(({ action }) => mayView(action));
  const first = tabs[0]?.id ?? 'models';
  const tab = TABS.find(({ id }) => id === param('tab'))?.id ?? first;
  const [checkup, setCheckup] = useState<Checkup | null>(null);
  const summaries = {
    endpoints: `Health now, and traffic of ${range.value.phrase}`,
    models: 'The models of the policy that you may use',
    checks: 'What can go wrong around this server, and what to do',
  };
  return (
    <div class="stack">
      <ViewHead title="Fleet" summary={summaries[tab]} hasRange={tab === 'endpoints'} />
      <Tabs
        label="Fleet"
        panel={PANEL}
        value={tab}
        onValue={(id) => setParams({ tab: id === first ? null : id, open: null }, false)}
        tabs={tabs}
      />
      <div id={PANEL} role="tabpanel" aria-labelledby={`${PANEL}-${tab}`} class="stack">
        {tab === 'models' ? (
          <Models />
        ) : !tabs.some(({ id }) => id === tab) ? (
          <NoPermission what={tab === 'checks' ? 'Checks' : 'Endpoints'} />
        ) : tab === 'checks' ? (
          <Checks checkup={checkup} onCheckup={setCheckup} />
        ) : (
          <EndpointsTab />
        )}
      </div>
    </div>
  );
}

/** Endpoints, the server, and the alerts that it sends. */
function EndpointsTab() {
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
    <>
      <FleetFigures endpoints={endpoints} traffic={traffic} status={status} alerts={seesAlerts ? alerts : null} />
      <Endpoints endpoints={endpoints} traffic={traffic} before={before} open={open} />
      <Below of={[endpoints, status, policy]}>
        <Server status={status} policy={policy} cluster={cluster} />
        {seesAlerts && <Alerts alerts={alerts} />}
      </Below>
      {chosen && (
        <EndpointPanel
          key={open}
          endpoint={chosen}
          isDegraded={degradedProviders(traffic.data).some(({ name }) => name === chosen.provider)}
        />
      )}
    </>
  );
}
