import type { ReadOf } from '../../api/reads.ts';
import type { Resource } from '../../api/resource.ts';
import { ShareBar } from '../../charts/bars.tsx';
import { Select } from '../../design/field.tsx';
import { duration, figure, NONE, percent, percentInColumn } from '../../design/format.ts';
import { markOf } from '../../design/marks.ts';
import { Empty, Loaded, Skeleton } from '../../design/states.tsx';
import { Table, type TableColumn } from '../../design/table.tsx';
import { Written } from '../../design/written.tsx';
import { periodBefore } from '../../shell/compared.ts';
import { type DegradedProvider, degradedProviders, degradedText } from '../../shell/degraded.ts';
import { range } from '../../shell/range.ts';
import { hrefWith, param, setParams } from '../../shell/router.ts';
import { slowProviders, timesSlower } from '../../shell/slow.ts';
import type { TrafficReport } from '../../shell/traffic.ts';
import {
  attemptsOf,
  Degraded,
  type EndpointLine,
  EndpointState,
  endpointId,
  failedOf,
  longestOf,
  SLOWER_MIN,
  slownessOf,
} from './endpoint-words.tsx';

interface EndpointsProps {
  readonly endpoints: Resource<ReadOf<'/admin/endpoints'>>;
  readonly traffic: Resource<TrafficReport>;
  readonly before: Resource<TrafficReport>;
  readonly open: string;
}

type Grouping = 'provider' | 'model';

/** Every endpoint in a lane of its own, by provider or by model. */
export function Endpoints({ endpoints, traffic, before, open }: EndpointsProps) {
  const by: Grouping = param('group') === 'model' ? 'model' : 'provider';
  const degraded = new Map(degradedProviders(traffic.data).map((provider) => [provider.name, provider]));
  return (
    <section class="card" aria-labelledby="endpoints">
      <Loaded what="Endpoints" of={endpoints} skeleton={<Skeleton rows={8} />}>
        {({ data }) => (
          <>
            <div class="card-head">
              <h2 id="endpoints">{sentenceOf(data, [...degraded.values()], traffic.data, before.data)}</h2>
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
            </div>
            {data.length > 0 && (
              <p class="fleet-note small dim">
                Rows show attempts and readings of this server since it started. A provider is degraded if it failed at
                least 10 % of at least 20 attempts in the {range.value.label.toLowerCase()}, on all servers.
              </p>
            )}
            {data.length === 0 ? (
              <Empty title="No endpoint is declared">
                Add one under <code>providers</code> and <code>models</code> in the policy.
              </Empty>
            ) : (
              groupsOf(data, by).map(([name, lines]) => (
                <section key={name} class="fleet-group" aria-label={`${by} ${name}`}>
                  <h3>
                    {name} <span class="dim">{groupText(lines, by)}</span>
                    <GroupState degraded={by === 'provider' ? degraded.get(name) : undefined} />
                  </h3>
                  <Table
                    label={`Endpoints of ${by} ${name}`}
                    rows={sickFirst(lines)}
                    first={ROWS_SHOWN}
                    keyOf={endpointId}
                    hrefOf={(line) => hrefWith({ open: endpointId(line) })}
                    current={open}
                    columns={columnsOf(by, data, degraded)}
                  />
                </section>
              ))
            )}
          </>
        )}
      </Loaded>
    </section>
  );
}

/** Rows of a group before it is asked for all. */
const ROWS_SHOWN = 8;

/** What needs an eye stands first, then what has traffic. */
const sickFirst = (lines: readonly EndpointLine[]): readonly EndpointLine[] =>
  lines.toSorted(
    (one, other) =>
      Number(one.state === 'healthy') - Number(other.state === 'healthy') || attemptsOf(other) - attemptsOf(one),
  );

const groupsOf = (
  lines: readonly EndpointLine[],
  by: Grouping,
): readonly (readonly [string, readonly EndpointLine[]])[] =>
  [...Map.groupBy(lines, (line) => line[by])].sort(([one], [other]) => one.localeCompare(other));

function groupText(lines: readonly EndpointLine[], by: Grouping): string {
  const sick = lines.filter(({ state }) => state !== 'healthy').length;
  const noun = by === 'provider' ? 'model' : 'endpoint';
  const count = `${lines.length} ${noun}${lines.length === 1 ? '' : 's'}`;
  return sick === 0 ? count : `${count}, ${sick} not healthy`;
}

const GroupState = ({ degraded }: { readonly degraded: DegradedProvider | undefined }) =>
  degraded === undefined ? null : (
    <span class="fleet-degraded">
      <Degraded /> <span class="dim">{degradedText(degraded)}</span>
    </span>
  );

/** A row is a lane: who, its state, its share of all attempts, and how it keeps what the policy declares. */
const columnsOf = (
  by: Grouping,
  all: readonly EndpointLine[],
  degraded: ReadonlyMap<string, DegradedProvider>,
): readonly TableColumn<EndpointLine>[] => {
  const total = all.reduce((sum, line) => sum + attemptsOf(line), 0);
  const shareOf = (line: EndpointLine) => (total === 0 ? 0 : attemptsOf(line) / total);
  return [
    {
      id: 'name',
      head: by === 'provider' ? 'Model' : 'Provider',
      cell: ({ provider, model, upstream }) => (
        <span class="table-name" title={`${provider}, ${upstream}`}>
          {by === 'provider' ? model : provider}
        </span>
      ),
    },
    {
      id: 'state',
      head: 'State',
      phone: 'fact',
      cell: ({ state, provider }) => (
        // By provider, the heading of the group says so.
        <EndpointState state={state} isDegraded={by === 'model' && degraded.has(provider)} />
      ),
    },
    {
      id: 'share',
      head: 'Share of attempts',
      cell: (line) =>
        attemptsOf(line) === 0 ? (
          <span class="dim">none</span>
        ) : (
          <span class="fleet-lane">
            <ShareBar className={markOf(by === 'provider' ? line.model : line.provider)} share={shareOf(line)} />
            <span class="figure">{percentInColumn(shareOf(line)).short}</span>
          </span>
        ),
    },
    {
      id: 'failed',
      head: 'Failed',
      isFigure: true,
      figures: (line) => [percent(attemptsOf(line) === 0 ? null : failedOf(line) / attemptsOf(line))],
    },
    {
      id: 'ttft',
      head: 'First token, median',
      isFigure: true,
      phone: 'second',
      figures: (line) => [duration(line.ttft_ms?.p50 ?? null)],
    },
    {
      id: 'declared',
      head: 'Declared',
      isFigure: true,
      figures: (line) => [duration(line.declared?.ttft_ms ?? null)],
      cell: (line, [declared = NONE]) => {
        const times = slownessOf(line);
        return (
          <>
            <span class="dim">
              <Written value={declared} />
            </span>
            {times !== null && times >= SLOWER_MIN && <span class="fleet-slow">{figure(times).short} ×</span>}
          </>
        );
      },
    },
    {
      id: 'speed',
      head: 'Speed',
      unit: 'tokens/s',
      isFigure: true,
      figures: ({ tokens_per_second: speed }) => [figure(speed?.p50 ?? null)],
    },
  ];
};

/** Which provider fails attempts or is slow. */
function sentenceOf(
  lines: readonly EndpointLine[],
  degraded: readonly DegradedProvider[],
  traffic: TrafficReport | null,
  before: TrafficReport | null,
): string {
  const sick = [...new Set(lines.filter(({ state }) => state !== 'healthy').map(({ provider }) => provider))];
  const failing = degraded.map((provider) => `${provider.name} is degraded: ${degradedText(provider)}. `).join('');
  const health = `${sick.length === 0 ? '' : `${sick.join(', ')} ${sick.length === 1 ? 'is' : 'are'} not healthy. `}${failing}`;
  const [slow] = slowProviders(traffic, before);
  if (slow) {
    const { name, ttftMs } = slow;
    return `${health}${name} is slow: half of its answers begin within ${duration(ttftMs).short}, ${figure(timesSlower(slow)).short} times the ${periodBefore()}.`;
  }
  if (degraded.length > 0) return health.trim();
  const longest = traffic && longestOf(traffic);
  return longest
    ? `${health}No provider is slower than before; ${longest.name} takes longest, ${duration(longest.ttftMs).short} to the first token.`
    : health.trim() || 'All endpoints are healthy.';
}
