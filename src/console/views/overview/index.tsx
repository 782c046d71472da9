import { RENEWAL_MS, type Resource, useResource } from '../../api/resource.ts';
import { Bars } from '../../charts/bars.tsx';
import { Explained } from '../../design/explained.tsx';
import { figure, percent, usd } from '../../design/format.ts';
import { Hero, Heroes } from '../../design/hero.tsx';
import { Below, Empty, Loaded } from '../../design/states.tsx';
import { creditsText } from '../../design/written.tsx';
import { compared } from '../../shell/compared.ts';
import { isKnownFrom } from '../../shell/known-before.ts';
import { degradedProviders, slowProviders } from '../../shell/providers.ts';
import { range } from '../../shell/range.ts';
import { param } from '../../shell/router.ts';
import { mayGroup, reachOfViewer } from '../../shell/session.ts';
import { type TrafficReport, useTraffic } from '../../shell/traffic.ts';
import { ViewHead } from '../../shell/view-head.tsx';
import { SpeedHero } from '../fleet/figures.tsx';
import { Attention } from './attention.tsx';
import { Budgets } from './budgets.tsx';
import { Course, Refused } from './course.tsx';
import { dimensionOf, ratio } from './measures.ts';
import { Providers } from './providers.tsx';
import { savedFigure, savedLabel } from './saved.ts';

/** The state of the gateway at a glance: money, speed, health, and what the viewer should do. */
export default function Overview() {
  const reach = reachOfViewer('traffic.read');
  const seesTraffic = reach !== null;
  const seesProviders = mayGroup('traffic', 'provider');
  const wanted = dimensionOf(param('by'));
  const by = wanted === 'provider' && !seesProviders ? null : wanted;
  const traffic = useTraffic({ by, isWanted: seesTraffic });
  const models = useTraffic({ by: 'model', isWanted: seesTraffic });
  const before = useTraffic({ isBefore: true, isWanted: seesTraffic });
  const providers = useTraffic({ by: 'provider', limit: 50, isWanted: seesProviders });
  const providersBefore = useTraffic({ by: 'provider', limit: 50, isBefore: true, isWanted: seesProviders });
  const slow = slowProviders(providers.data, providersBefore.data);
  const often = (isWanted: boolean) => ({ every: RENEWAL_MS, isWanted });
  const [seesLedger, seesEndpoints] = [reachOfViewer('ledger.read') !== null, reachOfViewer('endpoints.read') !== null];
  const [seesPolicy, seesAlerts] = [reachOfViewer('policy.read') !== null, reachOfViewer('alerts.read') !== null];
  const seesStatus = reachOfViewer('status.read') !== null;
  const ledger = useResource('/admin/ledger', {}, often(seesLedger));
  const endpoints = useResource('/admin/endpoints', {}, often(seesEndpoints));
  const status = useResource('/admin/status', {}, often(seesStatus));
  const policy = useResource('/admin/policy', {}, often(seesPolicy));
  const alerts = useResource('/admin/alerts', { limit: 20 }, often(seesAlerts));
  const above = [
    ...(seesLedger ? [ledger] : []),
    ...(seesEndpoints ? [endpoints] : []),
    ...(seesPolicy ? [policy] : []),
    ...(seesAlerts ? [alerts] : []),
    ...(seesStatus ? [status] : []),
    ...(seesProviders ? [providers, providersBefore] : []),
  ];
  const whose = { all: 'all teams', team: 'your team', own: 'your requests' }[reach ?? 'own'];
  return (
    <div class="stack">
      <ViewHead title="Overview" summary={`${range.value.label}, ${whose}`} />
      {seesTraffic && <Figures traffic={traffic} before={before} />}
      <Attention
        {...{ ledger, endpoints, policy, alerts, status, slow }}
        degraded={degradedProviders(providers.data)}
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

interface FiguresProps {
  readonly traffic: Resource<TrafficReport>;
  readonly before: Resource<TrafficReport>;
}

/** Four figures, each compared with the period of the same length before. */
function Figures({ traffic, before }: FiguresProps) {
  const { data, failure } = traffic;
  const now = data?.total.whole ?? null;
  const isKnown = before.data !== null && isKnownFrom(Date.parse(before.data.from), before.data.first_at);
  const then = isKnown ? before.data.total.whole : null;
  const baseline = now?.baseline_credits ?? 0;
  return (
    <Heroes>
      <Hero
        label="Spend"
        failure={failure}
        value={now && usd(now.usd)}
        notes={now && [creditsText(now.credits), compared(now.credits, then?.credits ?? null)]}
      />
      <Hero
        label={savedLabel(now?.saved_credits ?? 0)}
        term="saved"
        failure={failure}
        value={now && savedFigure(now.saved_usd)}
        notes={
          now &&
          (baseline > 0
            ? [
                <Explained key="part" term="baseline">
                  {percent(Math.abs(now.saved_credits) / baseline).short} of the baseline
                </Explained>,
                `the baseline is ${usd(now.baseline_usd).short}`,
              ]
            : ['no baseline yet'])
        }
      />
      <Hero
        label="Requests"
        failure={failure}
        value={now && figure(now.requests)}
        notes={
          now && [
            <>
              {now.errors === 0 ? 'no errors' : `${percent(ratio(now.errors, now.requests)).short} errors`}
              {now.refused > 0 && (
                <>
                  , <Refused count={now.refused} />
                </>
              )}
            </>,
            compared(now.requests, then?.requests ?? null),
          ]
        }
      />
      <SpeedHero traffic={traffic} />
    </Heroes>
  );
}

/** The shares of models in the spend. */
const Shares = ({ traffic }: { readonly traffic: Resource<TrafficReport> }) => (
  <section class="card" aria-label="Models">
    <Loaded what="Models" of={traffic}>
      {(report) => {
        const bars = [...report.series, ...(report.other ? [{ ...report.other, name: 'other', value: '' }] : [])]
          .map(({ name, value, whole }) => ({
            name: name || 'none',
            markedBy: value,
            value: Number(whole.usd),
          }))
          .filter(({ value }) => value > 0);
        const [most] = bars;
        const total = bars.reduce((sum, { value }) => sum + value, 0);
        if (!most) return <Empty title="No spend yet">Each model that answers gets a bar here.</Empty>;
        const part = percent(Math.round((most.value / total) * 100) / 100).short;
        return <Bars heading={`${most.name} has ${part} of the spend.`} label="Spend" bars={bars} write={usd} />;
      }}
    </Loaded>
  </section>
);
