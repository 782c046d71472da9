import { HEALTH } from '../../core/decision/readings.ts';
import { toCredits } from '../../core/money/credits.ts';
import { oncePerTurn } from '../../host/telemetry/counts.ts';
import type { Family, FamilySample, Labels } from '../../host/telemetry/families.ts';
import type { EndpointSample, Quantiles } from './types.ts';

const STATES = Object.keys(HEALTH);
/** The endpoints of a provider with several keys also have the label `key`. */
const ENDPOINT = ['provider', 'model', 'upstream'];

type SamplesOf = (one: EndpointSample, labels: Labels) => readonly FamilySample[];

/** Creates metric families from the samples of endpoints. `more` contains labels in addition to the labels of the endpoint. */
const familiesOf =
  (all: () => readonly EndpointSample[]) =>
  (type: Family['type'], name: string, help: string, more: readonly string[], samplesOf: SamplesOf): Family => ({
    name,
    help,
    labels: [...ENDPOINT, ...more],
    type,
    samples: () =>
      all().flatMap((one) => {
        const { provider, model, upstream, key } = one;
        return samplesOf(one, { provider, model, upstream, ...(key !== undefined && { key }) });
      }),
  });

/** Returns the metrics of the endpoints in the active policy. Labels are the policy's names of providers and models, never an address. */
export function endpointFamilies(samples: () => Iterable<EndpointSample>): readonly Family[] {
  const of = familiesOf(oncePerTurn(() => [...samples()]));
  const plain = (type: Family['type']) => (name: string, help: string, figure: (one: EndpointSample) => number) =>
    of(type, name, help, [], (one, labels) => [[labels, figure(one)]]);
  const [count, now] = [plain('counter'), plain('gauge')];
  const late = (name: string, help: string, figures: (one: EndpointSample) => Quantiles | null, per = 1) =>
    of('gauge', name, help, ['percentile'], (one, labels) => quantiles(labels, figures(one), per));
  return [
    of('gauge', 'signalbox_endpoint_state', '1 for the current state, 0 for others.', ['state'], ({ state }, labels) =>
      STATES.map((name) => [{ ...labels, state: name }, name === state ? 1 : 0]),
    ),
    late('signalbox_endpoint_ttft_seconds', 'Recent time to the first content of streams.', (one) => one.ttftMs, 1000),
    late(
      'signalbox_endpoint_warm_ttft_seconds',
      'Recent time to the first content when the provider had the prompt in its cache.',
      (one) => one.warmTtftMs,
      1000,
    ),
    late(
      'signalbox_endpoint_output_tokens_per_second',
      'Recent output tokens a second, counted from the first token.',
      (one) => one.tokensPerSecond,
    ),
    of('counter', 'signalbox_attempts_total', 'Finished attempts at providers, by outcome.', ['outcome'], attemptsOf),
    count(
      'signalbox_retries_total',
      'Attempts of requests that had tried the same provider before.',
      (one) => one.retries,
    ),
    count(
      'signalbox_retries_denied_total',
      'Repeated attempts that the retry budget refused.',
      (one) => one.retriesDenied,
    ),
    of(
      'gauge',
      'signalbox_endpoint_limit_used',
      'The used share of each limit of the endpoint, 0 to 1.',
      ['limit'],
      ({ limits }, labels) => limits.map(({ limit, used }) => [{ ...labels, limit }, rounded(used)]),
    ),
    count('signalbox_ejections_total', 'Times that a circuit breaker opened.', (one) => one.ejections),
    now(
      'signalbox_endpoint_declaration_broken',
      '1 while every request to the endpoint holds its full worst case, because the provider billed more than after_abort allows.',
      (one) => (one.broken === null ? 0 : 1),
    ),
    now(
      'signalbox_endpoint_declaration_excess_credits',
      'Credits that the provider billed beyond the holds because it broke its after_abort.',
      (one) => toCredits(one.broken?.excess ?? 0),
    ),
  ];
}

const attemptsOf: SamplesOf = ({ attempts }, labels) =>
  [...attempts].map(([outcome, n]) => [{ ...labels, outcome }, n]);

/** Returns samples of the quantiles, divided by `per`. */
const quantiles = (labels: Labels, figures: Quantiles | null, per: number): FamilySample[] =>
  figures === null
    ? []
    : [
        [{ ...labels, percentile: '50' }, rounded(figures.p50 / per)],
        [{ ...labels, percentile: '90' }, rounded(figures.p90 / per)],
      ];

/** Rounds a measured figure to 3 digits, because more digits would suggest a precision that the measurement lacks. */
export const rounded = (value: number): number => Number(value.toPrecision(3));
