import { HEALTH } from '../core/readings.ts';
import type { EndpointSample, Quantiles } from '../upstream/health/health.ts';
import { family, type Labels, rounded, type Sample } from './exposition.ts';

const STATES = Object.keys(HEALTH);

/** A metric of endpoints, with its samples of one. */
type Metric = readonly [
  name: string,
  type: 'counter' | 'gauge',
  help: string,
  samplesOf: (one: EndpointSample, labels: Labels) => readonly Sample[],
];

const count = (name: string, help: string, of: (one: EndpointSample) => number): Metric => [
  name,
  'counter',
  help,
  (one, labels) => [[labels, of(one)]],
];

const METRICS: readonly Metric[] = [
  [
    'signalbox_endpoint_state',
    'gauge',
    '1 for the state that an endpoint is in, 0 for the others.',
    ({ state }, labels) => STATES.map((name) => [{ ...labels, state: name }, name === state ? 1 : 0]),
  ],
  [
    'signalbox_endpoint_ttft_ms',
    'gauge',
    'Milliseconds to the first content of streams, of late.',
    ({ ttftMs }, labels) => quantiles(labels, ttftMs),
  ],
  [
    'signalbox_endpoint_warm_ttft_ms',
    'gauge',
    'The same where most of the prompt was in the provider’s cache.',
    ({ warmTtftMs }, labels) => quantiles(labels, warmTtftMs),
  ],
  [
    'signalbox_endpoint_output_tokens_per_second',
    'gauge',
    'Rate of output once it has begun, of late.',
    ({ tokensPerSecond }, labels) => quantiles(labels, tokensPerSecond),
  ],
  [
    'signalbox_attempts_total',
    'counter',
    'Attempts at upstreams that are over, by how they ended.',
    ({ attempts }, labels) => [...attempts].map(([outcome, n]) => [{ ...labels, outcome }, n]),
  ],
  count('signalbox_retries_total', 'Attempts at a provider that the request had asked before.', (one) => one.retries),
  count(
    'signalbox_retries_denied_total',
    'Such attempts that the provider’s retry budget did not allow.',
    (one) => one.retriesDenied,
  ),
  count('signalbox_ejections_total', 'How often a circuit breaker opened.', (one) => one.ejections),
];

/** What is known of the endpoints of the policy in force. Names providers and models as the policy does, no address. */
export function endpointMetrics(samples: Iterable<EndpointSample>): string {
  const endpoints = [...samples];
  const all = (samplesOf: Metric[3]): Sample[] =>
    endpoints.flatMap((one) => {
      const { provider, model, upstream } = one;
      return samplesOf(one, { provider, model, upstream });
    });
  return METRICS.map(([name, type, help, samplesOf]) => family(name, type, help, all(samplesOf))).join('');
}

const quantiles = (labels: Labels, figures: Quantiles | null): Sample[] =>
  figures === null
    ? []
    : [
        [{ ...labels, quantile: '0.5' }, rounded(figures.p50)],
        [{ ...labels, quantile: '0.9' }, rounded(figures.p90)],
      ];
