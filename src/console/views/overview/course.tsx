import type { Resource } from '../../api/resource.ts';
import { type ChartLine, Lines } from '../../charts/lines.tsx';
import { Select } from '../../design/field.tsx';
import { duration, figure, percent, usd } from '../../design/format.ts';
import { markOf, marksOf } from '../../design/marks.ts';
import { Empty, Loaded } from '../../design/states.tsx';
import { Tabs } from '../../design/tabs.tsx';
import { TERMS } from '../../design/terms.ts';
import { range } from '../../shell/range.ts';
import { hrefOf, param, setParams } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { isToldApart, knownFrom, pendingFrom, type TrafficReport } from '../../shell/traffic.ts';
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
                {reachOfViewer('playground.send') !== null && (
                  <>
                    {' '}
                    <a href={hrefOf('/playground')}>Send one in the playground</a>
                  </>
                )}
              </Empty>
            ) : (
              <Lines
                heading={headingOf(measure, report)}
                label={MEASURES[measure].label}
                times={report.times.map((time) => Date.parse(time))}
                lines={linesOf(measure, report)}
                write={MEASURES[measure].write}
                pendingFrom={pendingFrom(report)}
                knownFrom={knownFrom(report)}
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
    const line = {
      name: label,
      mark: 'mark-accent',
      values: bucketsOf(measure, report.total, perCredit),
    };
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
  const hasOther = report.other !== null && (measure === 'spend' || measure === 'requests' || measure === 'errors');
  if (!hasOther || report.other === null) return lines;
  return [...lines, { name: 'other', mark: markOf(''), values: bucketsOf(measure, report.other, perCredit) }];
}

/** The sentence with the answer. */
function headingOf(measure: MeasureName, report: TrafficReport): string {
  const { whole } = report.total;
  const named = report.series.filter(({ whole: part }) => part.requests > 0);
  const most = named.toSorted((one, other) => other.whole.credits - one.whole.credits)[0];
  switch (measure) {
    case 'spend': {
      const mostly =
        most && whole.credits > 0
          ? `, ${percent(Math.round((most.whole.credits / whole.credits) * 100) / 100).short} of it ${most.name}`
          : '';
      const saved = whole.saved_credits > 0 ? `, ${usd(whole.saved_usd).short} below the baseline` : '';
      return `${usd(whole.usd).short} were spent${mostly || saved}.`;
    }
    case 'requests':
      return `${figure(whole.requests).short} requests were made.`;
    case 'errors': {
      const worst = named.toSorted(
        (one, other) =>
          (ratio(other.whole.errors, other.whole.requests) ?? 0) - (ratio(one.whole.errors, one.whole.requests) ?? 0),
      )[0];
      if (whole.errors === 0) return 'No request failed.';
      const where = worst ? `, most often with ${worst.name}` : '';
      return `${figure(whole.errors).short} of ${figure(whole.requests).short} requests failed, ${percent(ratio(whole.errors, whole.requests)).short}${where}.`;
    }
    case 'ttft': {
      const slowest = named.toSorted((one, other) => (other.whole.ttft_ms.p50 ?? 0) - (one.whole.ttft_ms.p50 ?? 0))[0];
      const what = `Half of the answers begin within ${duration(whole.ttft_ms.p50).short}`;
      return slowest && named.length > 1
        ? `${what}; ${slowest.name} is the slowest with ${duration(slowest.whole.ttft_ms.p50).short}.`
        : `${what}.`;
    }
    case 'speed': {
      const fastest = named.toSorted(
        (one, other) => (other.whole.tokens_per_second ?? 0) - (one.whole.tokens_per_second ?? 0),
      )[0];
      const what = `Answers stream ${figure(whole.tokens_per_second).short} tokens a second`;
      return fastest && named.length > 1
        ? `${what}; ${fastest.name} is the fastest with ${figure(fastest.whole.tokens_per_second).short}.`
        : `${what}.`;
    }
  }
}
