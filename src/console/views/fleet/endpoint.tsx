import { Lines } from '../../charts/lines.tsx';
import { FigureTable } from '../../design/figure-table.tsx';
import { duration, figure, percent, plural, type WrittenFigure } from '../../design/format.ts';
import { markOf } from '../../design/marks.ts';
import { Panel } from '../../design/panel.tsx';
import { Empty, Loaded } from '../../design/states.tsx';
import { creditsText, When } from '../../design/written.tsx';
import { Facts } from '../../kit/show.tsx';
import { axisOf } from '../../shell/axis.ts';
import { range } from '../../shell/range.ts';
import { hrefOf, hrefWith } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { type TrafficReport, useTraffic } from '../../shell/traffic.ts';
import { attemptsOf, type EndpointLine, EndpointState, slownessOf } from './endpoint-words.tsx';

interface EndpointPanelProps {
  readonly endpoint: EndpointLine;
  /** Whether the provider of the endpoint is degraded. */
  readonly isDegraded: boolean;
}

/** Shows an endpoint: its measured and declared speed, its breaker, and its provider over time. */
export function EndpointPanel({ endpoint, isDegraded }: EndpointPanelProps) {
  const { provider, model, key, broken_declaration: broken } = endpoint;
  const traffic = useTraffic({ only: { provider } });
  return (
    <Panel title={`${model} at ${provider}${key === null ? '' : `, ${key}`}`} closeHref={hrefWith({ open: null })}>
      <div class="stack">
        <Facts
          of={endpoint}
          facts={[
            ['State', () => <StateSince endpoint={endpoint} isDegraded={isDegraded} />],
            ['Upstream model', 'upstream'],
            ...(endpoint.key === null ? [] : [['Key', 'key'] as const]),
            ['Breaker', breakerText],
            [
              'Share',
              ({ recent_share: share }) =>
                `${share === null ? 'no' : `${percent(share).short} of the`} attempts at ${model} in the last 15 minutes`,
            ],
            ['From cache', cachedText],
            ['Retries', retriesText],
            ...endpoint.limits.map(limitFact),
          ]}
        />
        <Readings endpoint={endpoint} />
        {broken && (
          <p class="notice">
            For aborted answers, this endpoint has billed more than <code>after_abort</code> declares, first{' '}
            <When at={broken.since} />: {creditsText(broken.excess_credits)} that no key was charged. Until the policy
            changes this setting, each request reserves its full worst case.
          </p>
        )}
        <Outcomes endpoint={endpoint} />
        <Loaded what="Traffic figures" of={traffic}>
          {(report) => <Hours provider={provider} report={report} />}
        </Loaded>
        {reachOfViewer('decisions.list') !== null && (
          <p>
            <a href={hrefOf('/requests', { model })}>Requests of {model}</a>
          </p>
        )}
      </div>
    </Panel>
  );
}

const StateSince = ({ endpoint: { state, since, why, retry_at }, isDegraded }: EndpointPanelProps) => (
  <>
    <EndpointState state={state} isDegraded={isDegraded} />
    {since && (
      <>
        {' '}
        since <When at={since} />
      </>
    )}
    {why && <div class="dim">{why}</div>}
    {retry_at && (
      <>
        {' '}
        tried again <When at={retry_at} />
      </>
    )}
  </>
);

const cachedText = ({ cached_share: share }: EndpointLine): string =>
  share === null
    ? 'no prompt in the last 15 minutes'
    : `${percent(share).short} of the input tokens in the last 15 minutes`;

const LIMITS = {
  requests_per_minute: 'Requests a minute',
  tokens_per_minute: 'Tokens a minute',
  concurrent_requests: 'Requests at the same time',
} as const;

const limitFact = ({ limit, most, used }: EndpointLine['limits'][number]) =>
  [LIMITS[limit], () => `${percent(used).short} of ${figure(most).short} used`] as const;

const retriesText = ({ retries, retries_denied: denied }: EndpointLine): string =>
  figure(retries).short + (denied > 0 ? `, ${figure(denied).short} denied by the retry budget` : '');

/** How many faults the breaker has counted, and how often it has opened. */
function breakerText({ breaker, ejections }: EndpointLine): string {
  const words = { closed: 'closed', open: 'open', half_open: 'half open: one attempt tests the endpoint' };
  const near = `${breaker.faults_in_a_row} of ${breaker.opens_at_faults_in_a_row} faults in a row that open it`;
  return `${words[breaker.state]}, ${near}, ${ejections === 0 ? 'never opened' : `opened ${plural(ejections, 'time')}`}`;
}

const BASES = {
  stated: 'stated in the policy',
  estimated: 'the median of similar models',
  neutral: 'the same for all models, because the policy states none',
  slow: 'slow, because the policy states none',
} as const;

/** Median and 90th percentile of the measured speed, with the declared speed. */
function Readings({ endpoint }: { readonly endpoint: EndpointLine }) {
  const { ttft_ms, warm_ttft_ms, tokens_per_second, declared } = endpoint;
  const times = slownessOf(endpoint);
  const slow = times !== null && times > 1.1;
  const row = (
    name: string,
    reading: { readonly p50: number; readonly p90: number } | null,
    stated: number | undefined,
    write: (value: number | null) => WrittenFigure,
  ) => {
    const figures = [reading?.p50, reading?.p90, stated].map((value) => write(value ?? null));
    // Each row of the table has its own unit.
    return { name, cells: figures.map(({ short, exact }) => ({ short, exact })) };
  };
  return (
    <section aria-labelledby="readings">
      <h3 id="readings">
        {times === null && 'Nothing has been measured yet.'}
        {slow && `The first token takes ${figure(times).short} times as long as the policy declares.`}
        {times !== null && !slow && 'The endpoint is as fast as the policy declares.'}
      </h3>
      <FigureTable
        label="Readings"
        heads={['Reading', 'Median', '90 % within', 'Declared']}
        rows={[
          row('First token', ttft_ms, declared?.ttft_ms, duration),
          row('First token, prompt in cache', warm_ttft_ms, declared?.warm_ttft_ms, duration),
          row('Tokens a second', tokens_per_second, declared?.tokens_per_second, figure),
        ]}
      />
      {declared && <p class="table-foot">Declared figures are {BASES[declared.basis]}.</p>}
    </section>
  );
}

function Outcomes({ endpoint }: { readonly endpoint: EndpointLine }) {
  const outcomes = Object.entries(endpoint.attempts).filter(([, count]) => count > 0);
  if (outcomes.length === 0) return null;
  return (
    <section aria-labelledby="outcomes">
      <h3 id="outcomes">{plural(attemptsOf(endpoint), 'attempt')} since the server started</h3>
      <Facts of={endpoint} facts={outcomes.map(([outcome, count]) => [outcome, () => figure(count).exact])} />
    </section>
  );
}

function Hours({ provider, report }: { readonly provider: string; readonly report: TrafficReport }) {
  const { whole, buckets } = report.total;
  const { p50, p95 } = whole.ttft_ms;
  if (whole.requests === 0) {
    return <Empty title={`${provider} had no requests`}>Choose a longer time than {range.value.phrase}.</Empty>;
  }
  if (p50 === null) {
    return (
      <Empty title={`No answer of ${provider} has started`}>Times to the first token appear here once one does.</Empty>
    );
  }
  return (
    <Lines
      heading={`At ${provider}, half of the answers start within ${duration(p50).short}, 95 % within ${duration(p95).short}.`}
      label="Time to first token"
      {...axisOf(report)}
      lines={[
        { name: 'Median', mark: markOf(provider), values: buckets.ttft_p50_ms },
        { name: '95th percentile', mark: 'mark-other', values: buckets.ttft_p95_ms },
      ]}
      write={duration}
    />
  );
}
