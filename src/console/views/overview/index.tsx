import { RENEWAL_MS, useResource } from '../../api/resource.ts';
import { Below } from '../../design/states.tsx';
import { degradedProviders } from '../../shell/degraded.ts';
import { range } from '../../shell/range.ts';
import { param } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { slowProviders } from '../../shell/slow.ts';
import { isToldApart, useTraffic } from '../../shell/traffic.ts';
import { ViewHead } from '../../shell/view-head.tsx';
import { Attention } from './attention.tsx';
import { Budgets } from './budgets.tsx';
import { Course } from './course.tsx';
import { OverviewFigures } from './figures.tsx';
import { dimensionOf } from './measures.ts';
import { Providers } from './providers.tsx';
import { Shares } from './shares.tsx';

/** The gateway at a glance: money, speed and health now, and what somebody has to do. */
export default function Overview() {
  const seesTraffic = reachOfViewer('traffic.read') !== null;
  const seesLedger = reachOfViewer('ledger.read') !== null;
  const seesEndpoints = reachOfViewer('endpoints.read') !== null;
  const seesProviders = seesTraffic && isToldApart('provider', reachOfViewer('traffic.read'));
  const asked = dimensionOf(param('by'));
  const by = asked === 'provider' && !seesProviders ? null : asked;
  const traffic = useTraffic({ by, isWanted: seesTraffic });
  const models = useTraffic({ by: 'model', isWanted: seesTraffic });
  const before = useTraffic({ isBefore: true, isWanted: seesTraffic });
  const providers = useTraffic({ by: 'provider', limit: 50, isWanted: seesProviders });
  const providersBefore = useTraffic({ by: 'provider', limit: 50, isBefore: true, isWanted: seesProviders });
  const degraded = degradedProviders(providers.data);
  const slow = slowProviders(providers.data, providersBefore.data);
  const often = { every: RENEWAL_MS };
  const ledger = useResource('/admin/ledger', {}, { ...often, isWanted: seesLedger });
  const endpoints = useResource('/admin/endpoints', {}, { ...often, isWanted: seesEndpoints });
  const seesPolicy = reachOfViewer('policy.read') !== null;
  const seesAlerts = reachOfViewer('alerts.read') !== null;
  const policy = useResource('/admin/policy', {}, { ...often, isWanted: seesPolicy });
  const alerts = useResource('/admin/alerts', { limit: 20 }, { ...often, isWanted: seesAlerts });
  const above = [
    ...(seesLedger ? [ledger] : []),
    ...(seesEndpoints ? [endpoints] : []),
    ...(seesPolicy ? [policy] : []),
    ...(seesAlerts ? [alerts] : []),
    ...(seesProviders ? [providers, providersBefore] : []),
  ];
  const reach = { all: 'all teams', team: 'your team', own: 'your requests' }[reachOfViewer('traffic.read') ?? 'own'];
  return (
    <div class="stack">
      <ViewHead title="Overview" summary={`${range.value.label}, ${reach}`} />
      {seesTraffic && <OverviewFigures traffic={traffic} before={before} />}
      <Attention
        ledger={ledger}
        endpoints={endpoints}
        policy={policy}
        alerts={alerts}
        slow={slow}
        degraded={degraded}
      />
      <Below of={above}>
        {seesTraffic && <Course traffic={traffic} by={by} />}
        <div class={seesTraffic && seesLedger ? 'overview-columns' : 'stack'}>
          {seesTraffic && <Shares traffic={models} />}
          {seesLedger && <Budgets ledger={ledger} />}
        </div>
        {seesEndpoints && <Providers endpoints={endpoints} traffic={providers.data} slow={slow} />}
      </Below>
    </div>
  );
}
