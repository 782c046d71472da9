import type { Resource } from '../../api/resource.ts';
import { type ChartLine, Lines } from '../../charts/lines.tsx';
import { Select } from '../../design/field.tsx';
import { figure } from '../../design/format.ts';
import { marksOf } from '../../design/marks.ts';
import { Empty, Loaded } from '../../design/states.tsx';
import { Tabs } from '../../design/tabs.tsx';
import { axisOf } from '../../shell/axis.ts';
import { range } from '../../shell/range.ts';
import { hrefOf, param, setParams } from '../../shell/router.ts';
import { mayGroup, reachOfViewer } from '../../shell/session.ts';
import type { TrafficReport } from '../../shell/traffic.ts';
import { SendOne } from '../requests/list.tsx';
import { type ChartDimension, headingOf, MEASURE_NAMES, MEASURES, type Measure, measureOf } from './measures.ts';

const DIMENSIONS = [
  { value: '', label: 'All together' },
  { value: 'model', label: 'By model' },
  { value: 'provider', label: 'By provider' },
] as const;

const PANEL = 'course';

/** Shows a figure over time, for all requests or by model or provider. */
export function Course({ traffic, by }: { readonly traffic: Resource<TrafficReport>; readonly by: ChartDimension }) {
  const measure = measureOf(param('measure'));
  const of: Measure = MEASURES[measure];
  return (
    <section class="card overview-course" aria-label="Over time">
      <div class="overview-choice">
        <Tabs
          label="Figure"
          panel={PANEL}
          value={measure}
          onValue={(name) => setParams({ measure: name === 'spend' ? null : name })}
          tabs={MEASURE_NAMES.map((id) => ({ id, label: MEASURES[id].label }))}
        />
        <Select
          isBare
          label="Lines"
          value={by ?? ''}
          onValue={(value) => setParams({ by: value })}
          options={DIMENSIONS.filter(({ value }) => value === '' || mayGroup('traffic', value))}
        />
      </div>
      <div id={PANEL} role="tabpanel" aria-labelledby={`${PANEL}-${measure}`} class="overview-plot">
        <Loaded what="Traffic figures" of={traffic}>
          {(report) =>
            report.total.whole.requests === 0 ? (
              <NoRequests refused={report.total.whole.refused} />
            ) : (
              <Lines
                heading={headingOf(of, report)}
                label={of.label}
                {...axisOf(report)}
                lines={linesOf(of, report)}
                write={of.write}
              />
            )
          }
        </Loaded>
      </div>
    </section>
  );
}

const NoRequests = ({ refused }: { readonly refused: number }) =>
  refused > 0 ? (
    <Empty title={`Every request in ${range.value.phrase} was refused`}>
      No model ran. The list shows the reason of each one: <Refused count={refused} />
    </Empty>
  ) : (
    <Empty title={`No requests in ${range.value.phrase}`}>
      Send a request to <code>/v1/chat/completions</code> with a key, or choose a longer time.
      <SendOne />
    </Empty>
  );

/** The number of refused requests, which are part of neither the requests nor the errors, with a link to their list. */
export function Refused({ count }: { readonly count: number }) {
  const text = `${figure(count).short} refused`;
  if (reachOfViewer('decisions.list') === null) return <>{text}</>;
  return <a href={hrefOf('/requests', { status: 'refused' })}>{text}</a>;
}

function linesOf(of: Measure, report: TrafficReport): readonly ChartLine[] {
  const { total, series, other } = report;
  if (report.by === null) {
    const { second } = of;
    const line = { name: of.label, mark: 'accent', values: of.values(total.buckets) };
    return second ? [{ ...second, mark: 'mark-other', values: second.values(total.buckets) }, line] : [line];
  }
  const markIn = marksOf(series.map(({ value }) => value));
  return [
    ...series
      .map(({ name, value, buckets }) => ({
        name: name || 'none',
        mark: markIn(value),
        values: of.values(buckets),
      }))
      // Refused requests have no provider and no times.
      .filter(({ values }) => values.some((value) => value !== null)),
    ...(other && of.hasOther ? [{ name: 'other', mark: 'mark-other', values: of.values(other.buckets) }] : []),
  ];
}
