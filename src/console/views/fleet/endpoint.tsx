import { Lines } from '../../charts/lines.tsx';
import { duration, figure, percent, type WrittenFigure } from '../../design/format.ts';
import { markOf } from '../../design/marks.ts';
import { Panel } from '../../design/panel.tsx';
import { Empty, Loaded } from '../../design/states.tsx';
import { creditsText, When, Written } from '../../design/written.tsx';
import { range } from '../../shell/range.ts';
import { hrefOf, hrefWith } from '../../shell/router.ts';
import { reachOfViewer } from '../../shell/session.ts';
import { knownFrom, pendingFrom, type TrafficReport, useTraffic } from '../../shell/traffic.ts';
import { attemptsOf, type EndpointLine, EndpointState, slownessOf } from './endpoint-words.tsx';

/** One endpoint: its readings beside what the policy declares, its breaker, and its provider over time. */
export function EndpointPanel({ endpoint }: { readonly endpoint: EndpointLine }) {
  const { provider, model, upstream, broken_declaration: broken } = endpoint;
  const traffic = useTraffic({ only: { provider } });
  return (
    <Panel title={`${model} at ${provider}`} closeHref={hrefWith({ open: null })}>
      <div class="stack">
        <dl class="facts">
          <dt>State</dt>
          <dd>
            <EndpointState state={endpoint.state} />
            {endpoint.since && (
              <>
                {' '}
                since <When at={endpoint.since} />
              </>
            )}
            {endpoint.why && <div class="dim">{endpoint.why}</div>}
            {endpoint.retry_at && (
              <>
                {' '}
                tried again <When at={endpoint.retry_at} />
              </>
            )}
          </dd>
          <dt>Upstream model</dt>
          <dd>{upstream}</dd>
          <dt>Breaker</dt>
          <dd>{breakerText(endpoint)}</dd>
          <dt>Share</dt>
          <dd>
            {endpoint.recent_share === null
              ? `no attempts at ${model} in 15 minutes`
              : `${percent(endpoint.recent_share).short} of the attempts at ${model} in 15 minutes`}
          </dd>
          <dt>Retries</dt>
          <dd>
            {figure(endpoint.retries).short}
            {endpoint.retries_denied > 0 && `, ${figure(endpoint.retries_denied).short} denied by the retry budget`}
          </dd>
        </dl>
        <Readings endpoint={endpoint} />
        {broken && (
          <p class="notice">
            It has billed more of aborted answers than <code>after_abort</code> declares, first{' '}
            <When at={broken.since} />: {creditsText(broken.excess_credits)} that no key was charged. Answers are held
            whole until the policy says otherwise.
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

/** How near the breaker is to opening, and how often it did. */
function breakerText({ breaker, ejections }: EndpointLine): string {
  const words = { closed: 'closed', open: 'open', half_open: 'half open: one attempt may try' };
  const near = `${breaker.faults_in_a_row} of ${breaker.opens_at_faults_in_a_row} faults in a row`;
  const times =
    ejections === 0 ? 'never opened' : `opened ${figure(ejections).short} ${ejections === 1 ? 'time' : 'times'}`;
  return `${words[breaker.state]}, ${near}, ${times}`;
}

/** Median and 90th percentile of what is measured here, beside what the policy declares. */
function Readings({ endpoint }: { readonly endpoint: EndpointLine }) {
  const { ttft_ms, warm_ttft_ms, tokens_per_second, declared } = endpoint;
  const rows: readonly (readonly [
    string,
    { p50: number; p90: number } | null,
    WrittenFigure,
    (value: number | null) => WrittenFigure,
  ])[] = [
    ['First token', ttft_ms, duration(declared?.ttft_ms ?? null), duration],
    ['The same from a cache', warm_ttft_ms, duration(declared?.warm_ttft_ms ?? null), duration],
    ['Tokens a second', tokens_per_second, figure(declared?.tokens_per_second ?? null), figure],
  ];
  const times = slownessOf(endpoint);
  return (
    <section aria-labelledby="readings">
      <h3 id="readings">
        {times === null
          ? 'Nothing was measured yet.'
          : times > 1.1
            ? `The first token takes ${figure(times).short} times what the policy declares.`
            : 'It is as fast as the policy declares.'}
      </h3>
      <table class="table" aria-label="Readings">
        <thead>
          <tr>
            <th scope="col">Reading</th>
            <th scope="col" class="is-figure">
              Median
            </th>
            <th scope="col" class="is-figure">
              90 % within
            </th>
            <th scope="col" class="is-figure">
              Declared
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, reading, stated, write]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="is-figure">
                <Written value={write(reading?.p50 ?? null)} />
              </td>
              <td class="is-figure">
                <Written value={write(reading?.p90 ?? null)} />
              </td>
              <td class="is-figure">
                <Written value={stated} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {declared && <p class="table-foot">Declared figures are {BASES[declared.basis]}.</p>}
    </section>
  );
}

const BASES = {
  stated: 'those that the policy states',
  estimated: 'the median of models of the same kind',
  neutral: 'the same for all models, as the policy states none',
} as const;

function Outcomes({ endpoint }: { readonly endpoint: EndpointLine }) {
  const outcomes = Object.entries(endpoint.attempts).filter(([, count]) => count > 0);
  if (outcomes.length === 0) return null;
  return (
    <section aria-labelledby="outcomes">
      <h3 id="outcomes">{figure(attemptsOf(endpoint)).short} attempts since the start</h3>
      <dl class="facts">
        {outcomes.map(([outcome, count]) => [
          <dt key={outcome}>{outcome}</dt>,
          <dd key={`${outcome} count`}>
            <Written value={figure(count)} />
          </dd>,
        ])}
      </dl>
    </section>
  );
}

function Hours({ provider, report }: { readonly provider: string; readonly report: TrafficReport }) {
  const { whole, buckets } = report.total;
  if (whole.requests === 0) {
    return (
      <Empty title={`${provider} had no requests`}>
        Choose a longer time than the {range.value.label.toLowerCase()}.
      </Empty>
    );
  }
  if (whole.ttft_ms.p50 === null) {
    return <Empty title={`No answer of ${provider} began`}>Times to the first token appear here once one does.</Empty>;
  }
  return (
    <Lines
      heading={`Half of the answers of ${provider} begin within ${duration(whole.ttft_ms.p50).short}, 95 % within ${duration(whole.ttft_ms.p95).short}.`}
      label="Time to first token"
      times={report.times.map((time) => Date.parse(time))}
      lines={[
        { name: 'Median', mark: markOf(provider), values: buckets.ttft_p50_ms },
        { name: '95th percentile', mark: 'mark-other', values: buckets.ttft_p95_ms },
      ]}
      write={duration}
      pendingFrom={pendingFrom(report)}
      knownFrom={knownFrom(report)}
    />
  );
}
