import { NoPermission } from '../../design/states.tsx';
import { Tabs } from '../../design/tabs.tsx';
import { range, viewerZone } from '../../shell/range.ts';
import { param, setParams } from '../../shell/router.ts';
import { mayView, reachOfViewer } from '../../shell/session.ts';
import { ViewHead } from '../../shell/view-head.tsx';
import { zoneIn } from './dimension-field.tsx';
import { Funds } from './funds.tsx';
import { Months } from './months.tsx';
import { Payments } from './payments.tsx';
import { dimensionOf, dimensionsOfViewer, hasCharges, type MoneyTab, TAB_ACTIONS } from './spend.ts';
import { Usage } from './usage.tsx';

const PANEL = 'money';
const TABS: readonly { readonly id: MoneyTab; readonly label: string }[] = [
  { id: 'usage', label: 'Spend' },
  { id: 'months', label: 'Months' },
  { id: 'budgets', label: 'Budgets' },
  { id: 'payments', label: 'Payments' },
];

/** Spend compared with the period before and the baseline; budgets, payments and the ledger. */
export default function Money() {
  const reach = reachOfViewer('traffic.read') ?? 'own';
  const tab = TABS.find(({ id }) => id === param('tab'))?.id ?? 'usage';
  const by = dimensionOf(param('by'), dimensionsOfViewer());
  const whose = { all: 'all teams', team: 'your team', own: 'your requests' }[reach];
  const hasRange = tab === 'usage';
  const summaries: Readonly<Record<MoneyTab, string>> = {
    usage: `${range.value.label}${range.value.days ? ` in ${viewerZone()}` : ''}, ${whose}`,
    months: `Six calendar months in ${hasCharges(by) ? zoneIn() : 'UTC'}, ${whose}`,
    budgets: 'Current budgets and balances of the ledger',
    payments: 'All x402 payments, the newest first',
  };
  return (
    <div class="stack">
      <ViewHead title="Money" summary={summaries[tab]} hasRange={hasRange} />
      <Tabs
        label="Money"
        panel={PANEL}
        value={tab}
        onValue={(id) => setParams({ tab: id === 'usage' ? null : id, open: null, wallet: null }, false)}
        tabs={TABS.filter(({ id }) => mayView(TAB_ACTIONS[id]))}
      />
      <div id={PANEL} role="tabpanel" aria-labelledby={`${PANEL}-${tab}`} class="stack">
        {!mayView(TAB_ACTIONS[tab]) ? (
          <NoPermission what={tab === 'payments' ? 'Payments' : 'Budgets'} />
        ) : tab === 'months' ? (
          <Months by={by} />
        ) : tab === 'budgets' ? (
          <Funds />
        ) : tab === 'payments' ? (
          <Payments />
        ) : (
          <Usage by={by} reach={reach} />
        )}
      </div>
    </div>
  );
}
