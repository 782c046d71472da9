import type { ReadOf } from '../../api/reads.ts';
import type { Resource } from '../../api/resource.ts';
import { duration, figure } from '../../design/format.ts';
import { Empty, Loaded } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { State, type Tone } from '../../design/tag.tsx';
import { type DegradedProvider, degradedProviders, degradedText } from '../../shell/degraded.ts';
import { hrefOf } from '../../shell/router.ts';
import type { SlowProvider } from '../../shell/slow.ts';
import type { TrafficReport } from '../../shell/traffic.ts';

type Endpoint = ReadOf<'/admin/endpoints'>['data'][number];

const STATES: Readonly<Record<string, { readonly tone: Tone; readonly word: string }>> = {
  healthy: { tone: 'good', word: 'Healthy' },
  ejected: { tone: 'bad', word: 'Breaker open' },
  cooling: { tone: 'warn', word: 'Cooling' },
  misconfigured: { tone: 'bad', word: 'Key refused' },
  out_of_credit: { tone: 'bad', word: 'Out of credit' },
};

interface ProviderRow {
  readonly name: string;
  readonly endpoints: readonly Endpoint[];
  /** The median of the period; without one, that of its slowest model by the readings of this server. Ms. */
  readonly ttftMs: number | null;
  readonly tokensPerSecond: number | null;
  /** Of the period, by its last attempt; null where they are not known. */
  readonly requests: number | null;
  /** Attempts of the period, also where another provider answered. */
  readonly failed: number | null;
  readonly sick: readonly Endpoint[];
  /** Null where it does not fail many attempts. */
  readonly degraded: DegradedProvider | null;
}

interface ProvidersProps {
  readonly endpoints: Resource<ReadOf<'/admin/endpoints'>>;
  /** By provider, in the range of the page; null while it is not known. */
  readonly traffic: TrafficReport | null;
  readonly slow: readonly SlowProvider[];
}

/** Health of each provider, as this server sees it now, and its speed in the range of the page. */
export function Providers({ endpoints, traffic, slow }: ProvidersProps) {
  return (
    <section class="card" aria-labelledby="providers">
      <Loaded what="Providers" of={endpoints}>
        {({ data }) => {
          const rows = rowsOf(data, traffic);
          return (
            <>
              <div class="card-head">
                <h2 id="providers">{headingOf(rows, slow)}</h2>
                <a href={hrefOf('/fleet')}>All endpoints</a>
              </div>
              {rows.length === 0 ? (
                <Empty title="No provider is declared">
                  Add one under <code>providers</code> in the policy.
                </Empty>
              ) : (
                <ProviderTable rows={rows} />
              )}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

const ProviderTable = ({ rows }: { readonly rows: readonly ProviderRow[] }) => (
  <Table
    label="Providers"
    rows={rows}
    keyOf={({ name }) => name}
    columns={[
      { id: 'name', head: 'Provider', cell: ({ name }) => name, sort: ({ name }) => name },
      { id: 'state', head: 'State', phone: 'fact', cell: (row) => <ProviderState row={row} /> },
      {
        id: 'endpoints',
        head: 'Endpoints',
        isFigure: true,
        figures: ({ endpoints }) => [figure(endpoints.length)],
        sort: ({ endpoints }) => endpoints.length,
      },
      {
        id: 'requests',
        head: 'Requests',
        isFigure: true,
        figures: ({ requests }) => [figure(requests)],
        sort: ({ requests }) => requests,
      },
      {
        id: 'failed',
        head: 'Failed attempts',
        isFigure: true,
        figures: ({ failed }) => [figure(failed)],
        sort: ({ failed }) => failed,
      },
      {
        id: 'ttft',
        head: 'First token, median',
        isFigure: true,
        phone: 'second',
        figures: ({ ttftMs }) => [duration(ttftMs)],
        sort: ({ ttftMs }) => ttftMs,
      },
      {
        id: 'speed',
        head: 'Speed',
        unit: 'tokens/s',
        isFigure: true,
        figures: ({ tokensPerSecond }) => [figure(tokensPerSecond)],
        sort: ({ tokensPerSecond }) => tokensPerSecond,
      },
    ]}
  />
);

function ProviderState({ row: { sick, endpoints, degraded } }: { readonly row: ProviderRow }) {
  const [worst] = sick;
  if (!worst && degraded) {
    return (
      <span title={degradedText(degraded)}>
        <State tone="warn">Degraded</State>
      </span>
    );
  }
  if (!worst) return <State tone="good">Healthy</State>;
  const { tone, word } = STATES[worst.state] ?? { tone: 'warn', word: worst.state };
  const isAll = sick.length === endpoints.length;
  return <State tone={isAll ? tone : 'warn'}>{isAll ? word : `${word}: ${sick.length} of ${endpoints.length}`}</State>;
}

function rowsOf(data: readonly Endpoint[], traffic: TrafficReport | null): readonly ProviderRow[] {
  const degraded = degradedProviders(traffic);
  const byName = Map.groupBy(data, ({ provider }) => provider);
  return [...byName].map(([name, endpoints]) => {
    const counted = traffic?.series.find(({ value }) => value === name)?.whole;
    return {
      name,
      endpoints,
      ttftMs: counted?.ttft_ms.p50 ?? greatest(endpoints.map(({ ttft_ms }) => ttft_ms?.p50 ?? null)),
      tokensPerSecond:
        counted?.tokens_per_second ?? middle(endpoints.map(({ tokens_per_second }) => tokens_per_second?.p50 ?? null)),
      requests: traffic && (counted?.requests ?? 0),
      failed: traffic && (counted?.failed_attempts ?? 0),
      sick: endpoints.filter(isSick),
      degraded: degraded.find((provider) => provider.name === name) ?? null,
    };
  });
}

export const isSick = ({ state }: Endpoint): boolean => state !== 'healthy';

function greatest(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

function middle(values: readonly (number | null)[]): number | null {
  const known = values.filter((value) => value !== null).toSorted((one, other) => one - other);
  return known[Math.floor(known.length / 2)] ?? null;
}

function headingOf(rows: readonly ProviderRow[], [slow]: readonly SlowProvider[]): string {
  const sick = rows.filter((row) => row.sick.length > 0);
  if (sick.length > 0) {
    const names = sick.map(({ name }) => name);
    return names.length === 1
      ? `${names[0]} is not healthy.`
      : `${names.length} providers are not healthy: ${names.join(', ')}.`;
  }
  const failing = rows.flatMap(({ degraded }) => degraded ?? []);
  const [most] = failing;
  if (most) {
    return failing.length === 1
      ? `${most.name} is degraded: ${degradedText(most)}.`
      : `${failing.length} providers are degraded: ${failing.map(({ name }) => name).join(', ')}.`;
  }
  if (slow)
    return `All providers are healthy; ${slow.name} is slow, with ${duration(slow.ttftMs).short} to the first token.`;
  const slowest = rows.toSorted((one, other) => (other.ttftMs ?? -1) - (one.ttftMs ?? -1))[0];
  if (rows.length > 1 && slowest && slowest.ttftMs !== null) {
    return `All providers are healthy; ${slowest.name} is the slowest with ${duration(slowest.ttftMs).short}.`;
  }
  return rows.length === 0 ? 'Providers' : 'All providers are healthy.';
}
