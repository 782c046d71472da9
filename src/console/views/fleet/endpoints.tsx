import type { ReadOf } from '../../api/reads.ts';
import type { Resource } from '../../api/resource.ts';
import { ShareBar } from '../../charts/bars.tsx';
import { LoadedCard } from '../../design/card.tsx';
import { Select } from '../../design/field.tsx';
import { duration, figure, listText, percent, plural, timesText } from '../../design/format.ts';
import { markOf } from '../../design/marks.ts';
import { Empty, Skeleton } from '../../design/states.tsx';
import { Table, type TableColumn } from '../../design/table.tsx';
import { When, Written } from '../../design/written.tsx';
import { periodBefore } from '../../shell/compared.ts';
import {
  type DegradedProvider,
  degradedProviders,
  degradedText,
  slowProviders,
  timesSlower,
} from '../../shell/providers.ts';
import { range } from '../../shell/range.ts';
import { hrefWith, param, setParams } from '../../shell/router.ts';
import type { TrafficReport } from '../../shell/traffic.ts';
import {
  attemptsOf,
  type EndpointLine,
  EndpointState,
  endpointId,
  failedOf,
  isSick,
  slownessOf,
} from './endpoint-words.tsx';

interface EndpointsProps {
  readonly endpoints: Resource<ReadOf<'/admin/endpoints'>>;
  readonly traffic: Resource<TrafficReport>;
  readonly before: Resource<TrafficReport>;
  readonly open: string;
}

type Grouping = 'provider' | 'model';

/** How many rows of a group to show until the viewer asks for all. */
const ROWS_SHOWN = 8;

/** Lists all endpoints, one in each row, grouped by provider or by model. */
export function Endpoints({ endpoints, traffic, before, open }: EndpointsProps) {
  const by: Grouping = param('group') === 'model' ? 'model' : 'provider';
  const degraded = new Map(degradedProviders(traffic.data).map((provider) => [provider.name, provider]));
  return (
    <LoadedCard
      id="endpoints"
      what="Endpoints"
      of={endpoints}
      skeleton={<Skeleton rows={8} />}
      heading={({ data }) => sentenceOf(data, [...degraded.values()], traffic.data, before.data)}
      aside={() => (
        <Select
          isBare
          label="Grouped by"
          value={by}
          onValue={(value) => setParams({ group: value === 'provider' ? null : value })}
          options={[
            { value: 'provider' as const, label: 'By provider' },
            { value: 'model' as const, label: 'By model' },
          ]}
        />
      )}
    >
      {({ data }) =>
        data.length === 0 ? (
          <Empty title="The policy declares no endpoint">
            Add one under <code>providers</code> and <code>models</code> in the policy.
          </Empty>
        ) : (
          <>
            <p class="fleet-note small dim">
              Each row shows the attempts and speeds that this server has measured since it started. A provider is
              degraded if it failed at least 10 % of at least 20 attempts in {range.value.phrase}, on all servers.
              {moreColumns(data).includes(FROM_CACHE) &&
                ' “From cache” is the share of the input tokens of the last 15 minutes that the provider had in its prompt cache.'}
            </p>
            {[...Map.groupBy(data, (line) => line[by])]
              .sort(([one], [other]) => one.localeCompare(other))
              .map(([name, lines]) => (
                <section key={name} class="fleet-group" aria-label={`${by} ${name}`}>
                  <h3>
                    {name} <span class="dim">{groupText(lines, by, degraded.get(name))}</span>
                  </h3>
                  <Table
                    label={`Endpoints of ${by} ${name}`}
                    rows={sickFirst(lines)}
                    first={ROWS_SHOWN}
                    keyOf={endpointId}
                    hrefOf={(line) => hrefWith({ open: endpointId(line) })}
                    current={open}
                    columns={columnsOf(by, by === 'model' ? lines : data, degraded, moreColumns(data))}
                  />
                </section>
              ))}
          </>
        )
      }
    </LoadedCard>
  );
}

/** Endpoints with a problem come first, then endpoints with traffic. */
const sickFirst = (lines: readonly EndpointLine[]): readonly EndpointLine[] =>
  lines.toSorted((one, other) => Number(isSick(other)) - Number(isSick(one)) || attemptsOf(other) - attemptsOf(one));

function groupText(lines: readonly EndpointLine[], by: Grouping, degraded: DegradedProvider | undefined): string {
  const sick = lines.filter(isSick).length;
  const models = new Set(lines.map(({ model }) => model)).size;
  const keys = new Set(lines.flatMap(({ key }) => key ?? [])).size;
  const count = by === 'provider' ? plural(models, 'model') : plural(lines.length, 'endpoint');
  const parts = [
    count,
    by === 'provider' && keys > 0 && plural(keys, 'key'),
    sick > 0 && `${sick} not healthy`,
    by === 'provider' && degraded !== undefined && degradedText(degraded),
  ];
  return parts.filter(Boolean).join(', ');
}

/** From this ratio on, an endpoint is marked as slower than the policy declares. */
const SLOWER_MIN = 1.5;

/** The mark of an endpoint that is slower than the policy declares: `1.9 ×`. */
const SlowerMark = ({ times }: { readonly times: number | null }) =>
  times === null || times < SLOWER_MIN ? null : (
    <span class="fleet-slow" title={`${timesText(times)} times as long as the policy declares`}>
      {timesText(times)} ×
    </span>
  );

/** The used share of the limit that is used most. */
const LIMITS_USED: TableColumn<EndpointLine> = {
  id: 'limits',
  head: 'Limits used',
  phone: 'more',
  figure: ({ limits }) => percent(limits.length === 0 ? null : Math.max(...limits.map(({ used }) => used))),
};

/** The share of recent prompts that the provider had in its cache. */
const FROM_CACHE: TableColumn<EndpointLine> = {
  id: 'cached',
  head: 'From cache',
  phone: 'more',
  figure: ({ cached_share: share }) => percent(share),
};

/** The columns that only some policies need. */
const moreColumns = (all: readonly EndpointLine[]): readonly TableColumn<EndpointLine>[] => [
  ...(all.some(({ limits }) => limits.length > 0) ? [LIMITS_USED] : []),
  ...(all.some(({ cached_share: share }) => share !== null && share > 0) ? [FROM_CACHE] : []),
];

/** Columns that make room for the columns that only some policies need. The panel of an endpoint has their figures, too. */
const SPEEDS: readonly TableColumn<EndpointLine>[] = [
  {
    id: 'declared',
    head: 'Declared',
    figure: (line) => duration(line.declared?.ttft_ms ?? null),
    cell: (_, declared) => (
      <span class="dim">
        <Written value={declared} />
      </span>
    ),
  },
  { id: 'speed', head: 'Speed', unit: 'tokens/s', figure: (line) => figure(line.tokens_per_second?.p50 ?? null) },
];

/**
 * The columns of an endpoint: its name, its state, its share of the attempts, and its speed compared with the policy.
 * @param counted the endpoints whose attempts are the whole
 */
const columnsOf = (
  by: Grouping,
  counted: readonly EndpointLine[],
  degraded: ReadonlyMap<string, DegradedProvider>,
  more: readonly TableColumn<EndpointLine>[],
): readonly TableColumn<EndpointLine>[] => {
  const total = counted.reduce((sum, line) => sum + attemptsOf(line), 0);
  const of = by === 'provider' ? 'model' : 'provider';
  return [
    {
      id: 'name',
      head: of === 'model' ? 'Model' : 'Provider',
      cell: (line) => (
        <span class="table-name" title={[line.provider, line.upstream, line.key].filter(Boolean).join(', ')}>
          {line[of]}
          {line.key !== null && <span class="dim"> {line.key}</span>}
        </span>
      ),
    },
    {
      id: 'state',
      head: 'State',
      phone: 'more',
      cell: ({ state, provider, retry_at: retryAt }) => (
        <>
          <EndpointState state={state} isDegraded={degraded.has(provider)} />
          {retryAt && (
            <span class="fleet-again small dim">
              {' '}
              again <When at={retryAt} />
            </span>
          )}
        </>
      ),
    },
    {
      id: 'share',
      head: by === 'model' ? 'Share of its attempts' : 'Share of attempts',
      phone: 'more',
      figure: (line) => percent(attemptsOf(line) === 0 ? null : attemptsOf(line) / total),
      cell: (line, share) =>
        attemptsOf(line) === 0 ? (
          <span class="dim">none</span>
        ) : (
          <span class="fleet-lane">
            <ShareBar mark={markOf(line[of])} share={attemptsOf(line) / total} />
            <Written value={share} />
          </span>
        ),
    },
    ...more,
    {
      id: 'failed',
      head: 'Failed',
      figure: (line) => percent(attemptsOf(line) === 0 ? null : failedOf(line) / attemptsOf(line)),
    },
    {
      id: 'ttft',
      head: 'First token, median',
      phone: 'more',
      figure: (line) => duration(line.ttft_ms?.p50 ?? null),
      cell: (line, measured) => (
        <>
          <SlowerMark times={slownessOf(line)} />
          <Written value={measured} />
        </>
      ),
    },
    ...(more.length === 0 ? SPEEDS : []),
  ];
};

/** With fewer requests than this number, a provider's speed is not meaningful. */
const REQUESTS_MIN = 5;

/** The provider with the longest time to the first token; undefined if no request was streamed. */
const longestOf = ({ series }: TrafficReport) =>
  series
    .flatMap(({ value, whole: { requests, ttft_ms } }) =>
      ttft_ms.p50 === null || requests < REQUESTS_MIN ? [] : [{ name: value || 'no provider', ttftMs: ttft_ms.p50 }],
    )
    .toSorted((one, other) => other.ttftMs - one.ttftMs)[0];

/** A sentence that names the providers that fail attempts or are slow. */
function sentenceOf(
  lines: readonly EndpointLine[],
  degraded: readonly DegradedProvider[],
  traffic: TrafficReport | null,
  before: TrafficReport | null,
): string {
  const sick = [...new Set(lines.filter(isSick).map(({ provider }) => provider))];
  const failing = degraded.map((provider) => `${provider.name} is degraded: ${degradedText(provider)}. `).join('');
  const health = `${sick.length === 0 ? '' : `${listText(sick)} ${sick.length === 1 ? 'is' : 'are'} not healthy. `}${failing}`;
  const [slow] = slowProviders(traffic, before);
  if (slow) {
    const { name, ttftMs } = slow;
    return `${health}${name} is slow: half of its answers start within ${duration(ttftMs).short}, ${figure(timesSlower(slow)).short} times as long as in the ${periodBefore()}.`;
  }
  const longest = degraded.length === 0 && traffic && longestOf(traffic);
  return longest
    ? `${health}No provider is slower than before. ${longest.name} takes longest, with ${duration(longest.ttftMs).short} to the first token.`
    : health.trim() || 'All endpoints are healthy.';
}
