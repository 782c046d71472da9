import type { Resource } from '../../api/resource.ts';
import { Bars } from '../../charts/bars.tsx';
import { percent, usd } from '../../design/format.ts';
import { Empty, Loaded } from '../../design/states.tsx';
import type { TrafficReport } from '../../shell/traffic.ts';
import { usdPerCredit } from './measures.ts';

/** How the spend divides over models. */
export const Shares = ({ traffic }: { readonly traffic: Resource<TrafficReport> }) => (
  <section class="card" aria-label="Models">
    <Loaded what="Models" of={traffic}>
      {(report) => {
        const perCredit = usdPerCredit(report);
        const bars = report.series.map(({ name, value, whole }) => ({
          name: name || 'none',
          markedBy: value,
          value: whole.credits * perCredit,
        }));
        if (report.other) bars.push({ name: 'other', markedBy: '', value: report.other.whole.credits * perCredit });
        const shown = bars.filter(({ value }) => value > 0);
        const [most] = shown;
        const total = shown.reduce((sum, { value }) => sum + value, 0);
        if (!most) return <Empty title="No spend by model yet">Each model that answers gets a bar here.</Empty>;
        const part = percent(Math.round((most.value / total) * 100) / 100).short;
        return <Bars heading={`${most.name} takes ${part} of the spend.`} label="Spend" bars={shown} write={usd} />;
      }}
    </Loaded>
  </section>
);
