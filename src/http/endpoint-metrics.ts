import { HEALTH } from '../core/readings.ts';
import type { EndpointSample, Quantiles } from '../upstream/health/health.ts';
import { family, type Labels, type Sample } from './exposition.ts';

const STATES = Object.keys(HEALTH);

/** What is known of the endpoints of the policy in force. Names providers and models as the policy does, no address. */
export function endpointMetrics(samples: Iterable<EndpointSample>): string {
  const endpoints = [...samples].map((sample) => {
    const { provider, model, upstream } = sample;
    return { ...sample, labels: { provider, model, upstream } };
  });
  type Shown = (typeof endpoints)[number];
  const each = (samplesOf: (one: Shown) => readonly Sample[]): Sample[] => endpoints.flatMap(samplesOf);
  const count = (name: string, help: string, of: (one: Shown) => number): string =>
    family(
      name,
      'counter',
      help,
      each((one) => [[one.labels, of(one)]]),
    );
  return [
    family(
      'signalbox_endpoint_state',
      'gauge',
      '1 for the state that an endpoint is in, 0 for the others.',
      each(({ labels, state }) => STATES.map((name) => [{ ...labels, state: name }, name === state ? 1 : 0])),
    ),
    family(
      'signalbox_endpoint_ttft_ms',
      'gauge',
      'Milliseconds to the first content of streams, of late.',
      each(({ labels, ttftMs }) => quantiles(labels, ttftMs)),
    ),
    family(
      'signalbox_endpoint_output_tokens_per_second',
      'gauge',
      'Rate of output once it has begun, of late.',
      each(({ labels, tokensPerSecond }) => quantiles(labels, tokensPerSecond)),
    ),
    family(
      'signalbox_attempts_total',
      'counter',
      'Attempts at upstreams that are over, by how they ended.',
      each(({ labels, attempts }) => [...attempts].map(([outcome, n]) => [{ ...labels, outcome }, n])),
    ),
    count('signalbox_retries_total', 'Attempts at a provider that the request had asked before.', (one) => one.retries),
    count(
      'signalbox_retries_denied_total',
      'Such attempts that the provider’s retry budget did not allow.',
      (one) => one.retriesDenied,
    ),
    count('signalbox_ejections_total', 'How often a circuit breaker opened.', (one) => one.ejections),
  ].join('');
}

const quantiles = (labels: Labels, figures: Quantiles | null): Sample[] =>
  figures === null
    ? []
    : [
        [{ ...labels, quantile: '0.5' }, rounded(figures.p50)],
        [{ ...labels, quantile: '0.9' }, rounded(figures.p90)],
      ];

/** More digits would claim more than is known. */
const rounded = (value: number): number => Number(value.toPrecision(3));
