import { useState } from 'preact/hooks';
import type { Reach } from '../../../admin/use-cases/roles.ts';
import { Explained } from '../../design/explained.tsx';
import { Field } from '../../design/field.tsx';
import { figure, percent, usd } from '../../design/format.ts';
import { Empty, Loaded } from '../../design/states.tsx';
import { creditsText } from '../../design/written.tsx';
import { Figures, type ViewFigure } from '../../kit/figures.tsx';
import { compared, periodBefore } from '../../shell/compared.ts';
import { range } from '../../shell/range.ts';
import { hrefWith, param } from '../../shell/router.ts';
import { type TrafficReport, useTraffic } from '../../shell/traffic.ts';
import { savedFigure, savedLabel } from '../overview/saved.ts';
import { Course, LINES, wholeDays } from './course.tsx';
import { ChargesLink, DimensionField, ExportLink, NoLabel } from './dimension-field.tsx';
import { riseSentence } from './rise.ts';
import {
  daysOf,
  hasCourse,
  nameOf,
  nounOf,
  openText,
  type SpendDimension,
  type SpendReport,
  type Sums,
  useSpend,
} from './spend.ts';
import { SpendTable } from './spend-table.tsx';
import { Spender } from './spender.tsx';
import { StatedCosts } from './stated-costs.tsx';

/** Spend in the selected range: its sum, its course, and its change by any dimension. */
export function Usage({ by, reach }: { readonly by: SpendDimension; readonly reach: Reach }) {
  const total = useTraffic({ by: hasCourse(by) ? by : null, limit: LINES, isCompared: true });
  const spend = useSpend(by);
  const open = param('open');
  return (
    <div class="stack">
      <Figures of={total} figures={FIGURES} />
      <section class="card money-plot" aria-label="Spend over time">
        <Loaded what="Spend figures" of={total}>
          {(report) => <Course report={report} />}
        </Loaded>
      </section>
      <section class="card" aria-labelledby="spenders">
        {by === 'label:' ? (
          <Unnamed by={by} />
        ) : (
          <Loaded what="Charges" of={spend}>
            {(report) => <Spenders {...{ by, report, open }} />}
          </Loaded>
        )}
      </section>
      <StatedCosts reach={reach} />
      {open !== '' && (
        <Spender
          key={open}
          holder={{ by, id: open === '~' ? '' : open }}
          row={spend.data?.rows.find(({ id }) => id !== null && openText(id) === open) ?? null}
        />
      )}
    </div>
  );
}

/** The average USD per request; null if there is no request. */
const eachOf = (sums: Pick<Sums, 'usd' | 'requests'> | null): number | null =>
  sums && sums.requests > 0 ? Number(sums.usd) / sums.requests : null;

const FIGURES: readonly ViewFigure<TrafficReport>[] = [
  {
    label: 'Spend',
    value: ({ total: { whole } }) => usd(whole.usd),
    notes: ({ total: { whole, before } }) => [
      creditsText(whole.credits),
      compared(whole.credits, before?.credits ?? null),
    ],
  },
  {
    label: (report) => savedLabel(report?.total.whole.saved_credits ?? 0),
    term: 'saved',
    value: ({ total: { whole } }) => savedFigure(whole.saved_usd),
    notes: ({ total: { whole } }) => savedNotes(whole),
  },
  {
    label: 'A request, on average',
    value: ({ total: { whole } }) => usd(eachOf(whole)),
    notes: ({ total: { whole, before } }) => [
      `${figure(whole.requests).short} requests`,
      compared(eachOf(whole) ?? 0, eachOf(before)),
    ],
  },
  {
    label: 'Tokens',
    value: ({ total: { whole } }) => figure(whole.input_tokens + whole.output_tokens),
    notes: ({ total: { whole } }) => [
      `${figure(whole.input_tokens).short} in, ${figure(whole.output_tokens).short} out`,
      whole.input_tokens > 0 && `${percent(whole.cached_input_tokens / whole.input_tokens).short} of input from caches`,
    ],
  },
];

function savedNotes({ saved_credits, baseline_credits: baseline, baseline_usd }: TrafficReport['total']['whole']) {
  if (baseline <= 0) return ['no baseline yet'];
  return [
    creditsText(Math.abs(saved_credits)),
    <Explained key="part" term="baseline">
      {percent(Math.abs(saved_credits) / baseline).short} of the baseline, {usd(baseline_usd).short}
    </Explained>,
  ];
}

interface SpendersProps {
  readonly by: SpendDimension;
  readonly report: SpendReport;
  readonly open: string;
}

/** The table by key, team, model …. The largest rise comes first. */
function Spenders({ by, report, open }: SpendersProps) {
  const { rows } = report;
  const [find, setFind] = useState('');
  const wanted = find.trim().toLowerCase();
  const shown =
    wanted === '' ? rows : rows.filter((row) => `${nameOf(row, by)} ${row.id}`.toLowerCase().includes(wanted));
  return (
    <>
      <div class="card-head">
        <h2 id="spenders">
          {riseSentence(
            nounOf(by),
            rows.map((row) => ({ ...row, name: nameOf(row, by) })),
          )}
        </h2>
        {rows.length > 0 && (
          <div class="row">
            <ExportLink by={by} period={daysOf(range.value, Date.now())} />
            <ChargesLink period={daysOf(range.value, Date.now())} />
          </div>
        )}
      </div>
      <div class="money-choice">
        <DimensionField by={by} />
        <Field isBare type="search" label="Find" placeholder="Find by name" value={find} onValue={setFind} />
      </div>
      {rows.length === 0 ? (
        <Empty title={`No spend by ${nounOf(by).toLowerCase()} yet`}>
          Nothing was charged in {range.value.phrase} or in the {periodBefore()}.
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
      {report.source === 'ledger' && <p class="table-foot">{wholeDays(report)}</p>}
    </>
  );
}

/** The text that is shown until the viewer names a label. */
const Unnamed = ({ by }: Pick<SpendersProps, 'by'>) => (
  <>
    <div class="card-head">
      <h2 id="spenders">Spend by label</h2>
    </div>
    <div class="money-choice">
      <DimensionField by={by} />
    </div>
    <NoLabel />
  </>
);
