import type { Resource } from '../../api/resource.ts';
import { type ChartLine, Lines } from '../../charts/lines.tsx';
import { Select } from '../../design/field.tsx';
import { duration, figure, percent, usd } from '../../design/format.ts';
import { markOf, marksOf } from '../../design/marks.ts';
import { Empty, Loaded } from '../../design/states.tsx';
import { Tabs } from '../../design/tabs.tsx';
import { TERMS } from '../../design/terms.ts';
import { range } from '../../shell/range.ts';
import { param, setParams } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { axisOf, isToldApart, type TrafficReport } from '../../shell/traffic.ts';
import { SendOne } from '../requests/list.tsx';
import {
  bucketsOf,
  type ChartDimension,
  MEASURE_NAMES,
  MEASURES,
  type MeasureName,
  measureOf,
  ratio,
  usdPerCredit,
} from './measures.ts';

const DIMENSIONS = [
  { value: '', label: 'All together' },
  { value: 'model', label: 'By model' },
  { value: 'provider', label: 'By provider' },
] as const;

const PANEL = 'course';

/** One figure over time, of all requests or by model or provider. */
export function Course({ traffic, by }: { readonly traffic: Resource<TrafficReport>; readonly by: ChartDimension }) {
  const measure = measureOf(param('measure'));
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
          options={DIMENSIONS.filter(({ value }) => value === '' || isToldApart(value, reachOfViewer('traffic.read')))}
        />
      </div>
      <div id={PANEL} role="tabpanel" aria-labelledby={`${PANEL}-${measure}`} class="overview-plot">
        <Loaded what="Traffic figures" of={traffic}>
          {(report) =>
            report.total.whole.requests === 0 ? (
              <Empty title={`No requests in the ${range.value.label.toLowerCase()}`}>
                Send a request to <code>/v1/chat/completions</code> with a key, or choose a longer time.
                <SendOne />
              </Empty>
            ) : (
              <Lines
                heading={headingOf(measure, report)}
                label={MEASURES[measure].label}
                {...axisOf(report)}
                lines={linesOf(measure, report)}
                write={MEASURES[measure].write}
              />
            )
          }
        </Loaded>
      </div>
    </section>
  );
}

function linesOf(measure: MeasureName, report: TrafficReport): readonly ChartLine[] {
  const perCredit = usdPerCredit(report);
  if (report.by === null) {
    const { label } = MEASURES[measure];
    const line = { name: label, mark: 'accent', values: bucketsOf(measure, report.total, perCredit) };
    if (measure !== 'spend') return [line];
    const { credits, saved_credits: saved } = report.total.buckets;
    const baseline = credits.map((spent, at) => (spent + (saved[at] ?? 0)) * perCredit);
    return [{ name: TERMS.baseline.word, term: 'baseline', mark: 'mark-other', values: baseline }, line];
  }
  const colourOf = marksOf(report.series.map(({ value }) => value));
  const lines = report.series.map((series) => ({
    name: series.name || 'none',
    mark: colourOf(series.value),
    values: bucketsOf(measure, series, perCredit),
  }));
  // Medians and speeds of "other" cannot be told from sums.
  if (!report.other || measure === 'ttft' || measure === 'speed') return lines;
  return [...lines, { name: 'other', mark: markOf(''), values: bucketsOf(measure, report.other, perCredit) }];
}

/** The sentence with the answer. */
function headingOf(measure: MeasureName, report: TrafficReport): string {
  const { whole } = report.total;
  const named = report.series.filter(({ whole: part }) => part.requests > 0);
  const most = (of: (line: typeof whole) => number | null) =>
    named.toSorted((one, other) => (of(other.whole) ?? 0) - (of(one.whole) ?? 0))[0];
  const isSeveral = named.length > 1;
  switch (measure) {
    case 'spend': {
      const first = most(({ credits }) => credits);
      const saved = whole.saved_credits > 0 ? `, ${usd(whole.saved_usd).short} below the baseline` : '';
      const share = first && whole.credits > 0 && Math.round((first.whole.credits / whole.credits) * 100) / 100;
      return `${usd(whole.usd).short} were spent${first && share ? `, ${percent(share).short} of it ${first.name}` : saved}.`;
    }
    case 'requests':
      return `${figure(whole.requests).short} requests were made.`;
    case 'errors': {
      const worst = most(({ errors, requests }) => ratio(errors, requests));
      if (whole.errors === 0) return 'No request failed.';
      const where = worst ? `, most often with ${worst.name}` : '';
      return `${figure(whole.errors).short} of ${figure(whole.requests).short} requests failed, ${percent(ratio(whole.errors, whole.requests)).short}${where}.`;
    }
    case 'ttft': {
      const slowest = most(({ ttft_ms }) => ttft_ms.p50);
      const more =
        isSeveral && `; ${slowest?.name} is the slowest with ${duration(slowest?.whole.ttft_ms.p50 ?? null).short}`;
      return `Half of the answers begin within ${duration(whole.ttft_ms.p50).short}${more || ''}.`;
    }
    case 'speed': {
      const fastest = most(({ tokens_per_second }) => tokens_per_second);
      const more =
        isSeveral && `; ${fastest?.name} is the fastest with ${figure(fastest?.whole.tokens_per_second ?? null).short}`;
      return `Answers stream ${figure(whole.tokens_per_second).short} tokens a second${more || ''}.`;
    }
  }
}
