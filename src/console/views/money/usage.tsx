import { useState } from 'preact/hooks';
import type { Reach } from '../../../operate/roles.ts';
import { Explained } from '../../design/explained.tsx';
import { Field } from '../../design/field.tsx';
import { figure, percent, usd } from '../../design/format.ts';
import { Hero, Heroes } from '../../design/hero.tsx';
import { Empty, Loaded } from '../../design/states.tsx';
import { creditsText } from '../../design/written.tsx';
import { compared, periodBefore } from '../../shell/compared.ts';
import { range } from '../../shell/range.ts';
import { hrefWith, param } from '../../shell/router.ts';
import { useTraffic } from '../../shell/traffic.ts';
import { Course, LINES, wholeDays } from './course.tsx';
import { DimensionField } from './dimension-field.tsx';
import { ExportLink } from './export-link.tsx';
import {
  daysOf,
  isCounted,
  nounOf,
  openText,
  riseOf,
  type SpendDimension,
  type SpenderRow,
  useSpend,
} from './spend.ts';
import { riseText, SpendTable } from './spend-table.tsx';
import { Spender } from './spender.tsx';

/** Spend in the range of the page: its sum, its course, and by anything against the period before. */
export function Usage({ by, reach }: { readonly by: SpendDimension; readonly reach: Reach }) {
  const total = useTraffic({ by: isCounted(by, reach) ? by : null, limit: LINES, isCompared: true });
  const spend = useSpend(by, reach);
  const open = param('open');
  return (
    <div class="stack">
      <UsageFigures of={total} />
      <section class="card money-plot" aria-label="Spend over time">
        <Loaded what="Spend figures" of={total}>
          {(report) => <Course report={report} />}
        </Loaded>
      </section>
      <section class="card" aria-labelledby="spenders">
        {by === 'label:' ? (
          <Unnamed by={by} reach={reach} />
        ) : (
          <Loaded what="Charges" of={spend}>
            {({ rows, days }) => <Spenders by={by} reach={reach} rows={rows} days={days} open={open} />}
          </Loaded>
        )}
      </section>
      {open !== '' && (
        <Spender
          key={open}
          holder={{ by, id: open === '~' ? '' : open }}
          reach={reach}
          row={spend.data?.rows.find(({ id }) => id !== null && openText(id) === open) ?? null}
        />
      )}
    </div>
  );
}

function UsageFigures({ of }: { readonly of: ReturnType<typeof useTraffic> }) {
  const { whole, before } = of.data?.total ?? { whole: null, before: null };
  const baseline = whole ? whole.credits + whole.saved_credits : 0;
  const each = (of: { readonly usd: string; readonly requests: number } | null) =>
    of && of.requests > 0 ? Number(of.usd) / of.requests : null;
  return (
    <Heroes>
      <Hero
        label="Spend"
        failure={of.failure}
        value={whole && usd(whole.usd)}
        notes={whole && [creditsText(whole.credits), compared(whole.credits, before?.credits ?? null)]}
      />
      <Hero
        label="Saved"
        term="saved"
        failure={of.failure}
        value={whole && usd(whole.saved_usd)}
        notes={
          whole &&
          (baseline > 0
            ? [
                creditsText(whole.saved_credits),
                <Explained key="part" term="baseline">
                  {percent(whole.saved_credits / baseline).short} of the baseline,{' '}
                  {usd(Number(whole.usd) + Number(whole.saved_usd)).short}
                </Explained>,
              ]
            : ['no baseline yet'])
        }
      />
      <Hero
        label="A request, on average"
        failure={of.failure}
        value={whole && usd(each(whole))}
        notes={whole && [`${figure(whole.requests).short} requests`, compared(each(whole) ?? 0, each(before))]}
      />
      <Hero
        label="Tokens"
        failure={of.failure}
        value={whole && figure(whole.input_tokens + whole.output_tokens)}
        notes={
          whole && [
            `${figure(whole.input_tokens).short} in, ${figure(whole.output_tokens).short} out`,
            whole.input_tokens > 0
              ? `${percent(whole.cached_input_tokens / whole.input_tokens).short} of input from caches`
              : '',
          ]
        }
      />
    </Heroes>
  );
}

interface SpendersProps {
  readonly by: SpendDimension;
  readonly reach: Reach;
  readonly rows: readonly SpenderRow[];
  readonly days: { readonly from: string; readonly to: string } | null;
  readonly open: string;
}

/** The table by key, team, model …: the greatest rise first. */
function Spenders({ by, reach, rows, days, open }: SpendersProps) {
  const [find, setFind] = useState('');
  const wanted = find.trim().toLowerCase();
  const shown = wanted === '' ? rows : rows.filter(({ id, name }) => `${name} ${id}`.toLowerCase().includes(wanted));
  return (
    <>
      <div class="card-head">
        <h2 id="spenders">{riseSentence(by, rows)}</h2>
        {rows.length > 0 && <ExportLink by={by} period={daysOf(range.value, Date.now())} />}
      </div>
      <div class="money-choice">
        <DimensionField by={by} reach={reach} />
        <Field isBare type="search" label="Find" placeholder="Find by name" value={find} onValue={setFind} />
      </div>
      {rows.length === 0 ? (
        <Empty title={`No spend by ${nounOf(by).toLowerCase()} yet`}>
          Nothing was charged in the {range.value.label.toLowerCase()} or in the {periodBefore()}.
        </Empty>
      ) : shown.length === 0 ? (
        <Empty title="No name matches">Clear the field to see all {rows.length}.</Empty>
      ) : (
        <SpendTable
          label={`Spend by ${nounOf(by).toLowerCase()}`}
          by={by}
          rows={shown}
          current={open === '' ? undefined : open === '~' ? '' : open}
          hrefOf={({ id }) => (id === null ? undefined : hrefWith({ open: openText(id) }))}
        />
      )}
      {days && <p class="table-foot">{wholeDays(days)}</p>}
    </>
  );
}

/** Before a label is named. */
const Unnamed = ({ by, reach }: Pick<SpendersProps, 'by' | 'reach'>) => (
  <>
    <div class="card-head">
      <h2 id="spenders">Spend by label</h2>
    </div>
    <div class="money-choice">
      <DimensionField by={by} reach={reach} />
    </div>
    <Empty title="Name a label">
      Keys have labels, such as <code>app</code> or <code>env</code>. Each value of the label gets a row here.
    </Empty>
  </>
);

function riseSentence(by: SpendDimension, rows: readonly SpenderRow[]): string {
  const noun = nounOf(by);
  const [most] = rows;
  if (rows.length === 0) return `Spend by ${noun.toLowerCase()}`;
  if (!most || most.id === null || (riseOf(most) ?? 0) <= 0) return `No ${noun.toLowerCase()} spends more than before.`;
  return `${noun} ${most.name} ${riseText(most)}.`;
}
