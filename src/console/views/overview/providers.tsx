import type { ReadOf } from '../../api/reads.ts';
import type { Resource } from '../../api/resource.ts';
import { LoadedCard } from '../../design/card.tsx';
import { duration, figure } from '../../design/format.ts';
import { Empty } from '../../design/states.tsx';
import { Table } from '../../design/table.tsx';
import { NamedState, State } from '../../design/tag.tsx';
import { type DegradedProvider, degradedProviders, degradedText, type SlowProvider } from '../../shell/providers.ts';
import { hrefOf } from '../../shell/router.ts';
import type { TrafficReport } from '../../shell/traffic.ts';
import { Degraded, ENDPOINT_STATES, type EndpointLine, isSick } from '../fleet/endpoint-words.tsx';

interface ProvidersProps {
  readonly endpoints: Resource<ReadOf<'/admin/endpoints'>>;
  /** Traffic by provider in the selected range; null while it loads. */
  readonly traffic: TrafficReport | null;
  readonly slow: readonly SlowProvider[];
}

/** The current health of each provider as this server sees it, and its speed in the selected range. */
export const Providers = ({ endpoints, traffic, slow }: ProvidersProps) => (
  <LoadedCard
    id="providers"
    what="Providers"
    of={endpoints}
    heading={({ data }) => headingOf(rowsOf(data, traffic), slow)}
    aside={() => <a href={hrefOf('/fleet')}>All endpoints</a>}
  >
    {({ data }) =>
      data.length === 0 ? (
        <Empty title="The policy declares no provider">
          Add one under <code>providers</code> in the policy.
        </Empty>
      ) : (
        <Table
          label="Providers"
          rows={rowsOf(data, traffic)}
          keyOf={({ name }) => name}
          columns={[
            { id: 'name', head: 'Provider', cell: ({ name }) => name, sort: true },
            { id: 'state', head: 'State', phone: 'fact', cell: stateOf },
            { id: 'endpoints', head: 'Endpoints', figure: ({ endpoints: own }) => figure(own.length), sort: true },
            { id: 'requests', head: 'Requests', figure: ({ requests }) => figure(requests), sort: true },
            { id: 'failed', head: 'Failed attempts', figure: ({ failed }) => figure(failed), sort: true },
            {
              id: 'ttft',
              head: 'First token, median',
              phone: 'second',
              sort: true,
              figure: ({ ttftMs }) => duration(ttftMs),
            },
            {
              id: 'speed',
              head: 'Speed',
              unit: 'tokens/s',
              sort: true,
              figure: ({ tokensPerSecond }) => figure(tokensPerSecond),
            },
          ]}
        />
      )
    }
  </LoadedCard>
);

interface ProviderRow {
  readonly name: string;
  readonly endpoints: readonly EndpointLine[];
  /**
   * The median time to the first token in the period, ms. If the period has no such time, the figure is the time of the provider's slowest
   * model as this server measures it.
   */
  readonly ttftMs: number | null;
  readonly tokensPerSecond: number | null;
  /** Requests in the period whose last attempt was at this provider; null if the number is not known. */
  readonly requests: number | null;
  /** Failed attempts in the period, including attempts after which another provider answered. */
  readonly failed: number | null;
  readonly sick: readonly EndpointLine[];
  /** The mark is undefined if the provider does not fail many attempts. */
  readonly degraded: DegradedProvider | undefined;
}

function rowsOf(data: readonly EndpointLine[], traffic: TrafficReport | null): readonly ProviderRow[] {
  const degraded = degradedProviders(traffic);
  return [...Map.groupBy(data, ({ provider }) => provider)].map(([name, endpoints]) => {
    const counted = traffic?.series.find(({ value }) => value === name)?.whole;
    const ttfts = sorted(endpoints.map(({ ttft_ms }) => ttft_ms?.p50));
    const speeds = sorted(endpoints.map(({ tokens_per_second }) => tokens_per_second?.p50));
    return {
      name,
      endpoints,
      ttftMs: counted?.ttft_ms.p50 ?? ttfts.at(-1) ?? null,
      tokensPerSecond: counted?.tokens_per_second ?? speeds[Math.floor(speeds.length / 2)] ?? null,
      requests: traffic && (counted?.requests ?? 0),
      failed: traffic && (counted?.failed_attempts ?? 0),
      sick: endpoints.filter(isSick),
      degraded: degraded.find((provider) => provider.name === name),
    };
  });
}

const sorted = (values: readonly (number | undefined)[]): readonly number[] =>
  values.filter((value) => value !== undefined).toSorted((one, other) => one - other);

function stateOf({ sick, endpoints, degraded }: ProviderRow) {
  const [worst] = sick;
  if (!worst && degraded) {
    return (
      <span title={degradedText(degraded)}>
        <Degraded />
      </span>
    );
  }
  if (!worst || sick.length === endpoints.length) {
    return <NamedState name={worst?.state ?? 'healthy'} of={ENDPOINT_STATES} />;
  }
  const word = ENDPOINT_STATES[worst.state]?.[1] ?? worst.state;
  return (
    <State tone="warn">
      {word}: {sick.length} of {endpoints.length}
    </State>
  );
}

function headingOf(rows: readonly ProviderRow[], [slow]: readonly SlowProvider[]): string {
  const several = (providers: readonly { readonly name: string }[], state: string) =>
    `${providers.length} providers are ${state}: ${providers.map(({ name }) => name).join(', ')}.`;
  const sick = rows.filter((row) => row.sick.length > 0);
  if (sick.length > 1) return several(sick, 'not healthy');
  if (sick[0]) return `${sick[0].name} is not healthy.`;
  const failing = rows.flatMap(({ degraded }) => degraded ?? []);
  if (failing.length > 1) return several(failing, 'degraded');
  if (failing[0]) return `${failing[0].name} is degraded: ${degradedText(failing[0])}.`;
  if (slow)
    return `All providers are healthy. ${slow.name} is slow, with ${duration(slow.ttftMs).short} to the first token.`;
  const slowest = rows.toSorted((one, other) => (other.ttftMs ?? -1) - (one.ttftMs ?? -1))[0];
  if (rows.length > 1 && slowest && slowest.ttftMs !== null) {
    return `All providers are healthy. ${slowest.name} is the slowest, with ${duration(slowest.ttftMs).short} to the first token.`;
  }
  return rows.length === 0 ? 'Providers' : 'All providers are healthy.';
}
