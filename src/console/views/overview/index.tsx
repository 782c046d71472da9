import { RENEWAL_MS, useResource } from '../../api/resource.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { ViewHead } from '../../shell/view-head.tsx';
import { Attention } from './attention.tsx';
import { Budgets } from './budgets.tsx';
import { Providers } from './providers.tsx';

/** The gateway at a glance: money, speed and health now, and what somebody has to do. */
export default function Overview() {
  const seesLedger = reachOfViewer('ledger.read') !== null;
  const seesEndpoints = reachOfViewer('endpoints.read') !== null;
  const often = { every: RENEWAL_MS };
  const ledger = useResource('/admin/ledger', {}, { ...often, isWanted: seesLedger });
  const endpoints = useResource('/admin/endpoints', {}, { ...often, isWanted: seesEndpoints });
  const policy = useResource('/admin/policy', {}, { ...often, isWanted: reachOfViewer('policy.read') !== null });
  const alerts = useResource(
    '/admin/alerts',
    { limit: 20 },
    { ...often, isWanted: reachOfViewer('alerts.read') !== null },
  );
  return (
    <div class="stack">
      <ViewHead title="Overview" summary="Now" hasRange={false} />
      <Attention ledger={ledger} endpoints={endpoints} policy={policy} alerts={alerts} />
      {seesLedger && <Budgets ledger={ledger} />}
      {seesEndpoints && <Providers endpoints={endpoints} />}
    </div>
  );
}
