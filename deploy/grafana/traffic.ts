import { AT, bars, CHAT, CREDITS, curves, ENDPOINT, figure, quantiles, row, timeline } from './panels.ts';

const COUNTED = `${CHAT}, outcome=~"completed|failed|broken|abandoned|unavailable"`;
const FAILED = `${CHAT}, outcome=~"failed|broken|unavailable"`;

export const overview = [
  row('Overview'),
  figure({
    title: 'Chats',
    description: 'Finished chats a second, with any outcome.',
    unit: 'reqps',
    width: 3,
    queries: [[`sum(rate(signalbox_chats_total{${CHAT}}[$__rate_interval]))`, 'chats']],
  }),
  figure({
    title: 'Answered',
    description: 'Share of chats that did not fail, over the range shown. Refused requests do not count.',
    unit: 'percentunit',
    decimals: 3,
    width: 3,
    steps: [
      [null, 'red'],
      [0.99, 'orange'],
      [0.999, 'green'],
    ],
    queries: [
      [
        `1 - (sum(increase(signalbox_chats_total{${FAILED}}[$__range])) or vector(0)) / sum(increase(signalbox_chats_total{${COUNTED}}[$__range]))`,
        'answered',
      ],
    ],
  }),
  figure({
    title: 'Burn rate',
    description:
      'Failures over the last hour, as a multiple of the objective. 1 is exactly the objective. Needs the recording rules.',
    unit: 'suffix:×',
    decimals: 1,
    width: 3,
    steps: [
      [null, 'green'],
      [1, 'orange'],
      [6, 'red'],
    ],
    queries: [['max(signalbox:availability:burn_rate1h{job=~"$job"})', 'burn rate']],
  }),
  figure({
    title: 'First token, p95',
    description: '95 % of streams had their first content within this time, over the range shown.',
    unit: 's',
    decimals: 2,
    width: 3,
    steps: [
      [null, 'green'],
      [2.5, 'orange'],
      [5, 'red'],
    ],
    queries: [
      [
        `histogram_quantile(0.95, sum by (le) (increase(signalbox_chat_ttft_seconds_bucket{${CHAT}}[$__range])))`,
        'p95',
      ],
    ],
  }),
  figure({
    title: 'Spent',
    description: 'Credits charged over the range shown.',
    unit: CREDITS,
    decimals: 2,
    width: 3,
    queries: [[`sum(increase(signalbox_credits_spent_total{${CHAT}}[$__range]))`, 'spent']],
  }),
  figure({
    title: 'Saved',
    description: 'Cost with the baseline minus the charges.',
    unit: CREDITS,
    decimals: 2,
    width: 3,
    queries: [
      [
        `(sum(increase(signalbox_credits_saved_total{${CHAT}}[$__range])) or vector(0)) - (sum(increase(signalbox_credits_overspent_total{${CHAT}}[$__range])) or vector(0))`,
        'saved',
      ],
    ],
  }),
  figure({
    title: 'Alarms',
    description: 'Firing alarms of deploy/alerts.yaml. The pages incidents in docs/operate say what to do.',
    unit: 'short',
    width: 2,
    steps: [
      [null, 'green'],
      [1, 'red'],
    ],
    queries: [['count(ALERTS{alertname=~"Signalbox.*", alertstate="firing"}) or vector(0)', 'firing']],
  }),
  figure({
    title: 'Servers',
    description: 'Servers that answer Prometheus.',
    unit: 'short',
    width: 2,
    queries: [[`count(signalbox_build_info{${AT}})`, 'servers']],
  }),
  figure({
    title: 'Revisions',
    description: 'Revisions of the active policies. More than one is normal only during an update.',
    unit: 'short',
    width: 2,
    steps: [
      [null, 'green'],
      [2, 'orange'],
    ],
    queries: [[`count(count by (revision) (signalbox_policy_info{${AT}}))`, 'revisions']],
  }),
  curves({
    title: 'Chats by outcome',
    description: 'refused: 4xx. quoted: 402 with a price. unavailable: a 5xx before Signalbox called a provider.',
    unit: 'reqps',
    width: 12,
    min: 0,
    stacked: true,
    queries: [[`sum by (outcome) (rate(signalbox_chats_total{${CHAT}}[$__rate_interval]))`, '{{outcome}}']],
  }),
  curves({
    title: 'Errors by code',
    description: 'Error answers of all routes, by the codes of docs/operate/errors.md.',
    unit: 'reqps',
    width: 12,
    min: 0,
    stacked: true,
    queries: [[`sum by (code) (rate(signalbox_http_errors_total{${AT}}[$__rate_interval]))`, '{{code}}']],
  }),
  curves({
    title: 'Time to first token',
    description: 'Time from admission to the first content, for streams with content.',
    unit: 's',
    width: 12,
    min: 0,
    queries: quantiles('signalbox_chat_ttft_seconds', CHAT),
  }),
  curves({
    title: 'Time to the last byte',
    description: 'Duration of chats that ran; for streams, to the last byte.',
    unit: 's',
    width: 12,
    min: 0,
    queries: quantiles('signalbox_chat_duration_seconds', CHAT),
  }),
];

export const routing = [
  row('Routing'),
  curves({
    title: 'Chats by selector',
    description: 'pinned: the request named a model. Empty: the request ended before its selector was read.',
    unit: 'reqps',
    width: 8,
    min: 0,
    stacked: true,
    queries: [[`sum by (selector) (rate(signalbox_chats_total{${CHAT}}[$__rate_interval]))`, '{{selector}}']],
  }),
  curves({
    title: 'Chats by model',
    description: 'The model that answered. Empty: none answered.',
    unit: 'reqps',
    width: 8,
    min: 0,
    stacked: true,
    queries: [[`sum by (model) (rate(signalbox_chats_total{${CHAT}}[$__rate_interval]))`, '{{model}}']],
  }),
  curves({
    title: 'Chats by endpoint',
    description: 'Chats by provider and by the provider’s name for the model.',
    unit: 'reqps',
    width: 8,
    min: 0,
    stacked: true,
    queries: [
      [
        `sum by (provider, upstream) (rate(signalbox_chats_total{${CHAT}, provider!=""}[$__rate_interval]))`,
        '{{provider}} {{upstream}}',
      ],
    ],
  }),
  curves({
    title: 'Tokens by kind',
    description: 'Kinds do not overlap: input excludes cached and cache-written input, output excludes reasoning.',
    unit: 'suffix: /s',
    width: 8,
    min: 0,
    stacked: true,
    queries: [[`sum by (kind) (rate(signalbox_tokens_total{${CHAT}}[$__rate_interval]))`, '{{kind}}']],
  }),
  bars({
    title: 'Rejected models by reason',
    description: 'How often a model could not serve a request, by reason and, for constraints, by rule.',
    unit: 'short',
    width: 8,
    min: 0,
    decimals: 0,
    queries: [
      [
        `topk(15, sum by (kind, rule) (increase(signalbox_rejections_total{${AT}}[$__range])) > 0)`,
        '{{kind}} {{rule}}',
      ],
    ],
  }),
  curves({
    title: 'Failovers',
    description: 'Failed attempts that moved on to another endpoint or another model.',
    unit: 'suffix: /s',
    width: 8,
    min: 0,
    queries: [
      [
        `sum by (provider, upstream, to) (rate(signalbox_failovers_total{${ENDPOINT}}[$__rate_interval]))`,
        '{{provider}} {{upstream}} → another {{to}}',
      ],
    ],
  }),
];

const STATE = 'signalbox_endpoint_state';

export const providers = [
  row('Providers'),
  timeline({
    title: 'Endpoint states',
    description:
      'The worst state over all servers. Ejected lasts until the next answer, however long no request comes.',
    unit: 'short',
    width: 24,
    states: {
      0: ['healthy', 'green'],
      1: ['ejected', 'orange'],
      2: ['cooling', 'blue'],
      3: ['misconfigured', 'red'],
      4: ['out of credit', 'dark-red'],
      5: ['absent', 'purple'],
    },
    queries: [
      [
        `max by (provider, model, upstream) (0 * ${STATE}{${ENDPOINT}, state="healthy"} + ignoring (state) ${STATE}{${ENDPOINT}, state="ejected"} + ignoring (state) 2 * ${STATE}{${ENDPOINT}, state="cooling"} + ignoring (state) 3 * ${STATE}{${ENDPOINT}, state="misconfigured"} + ignoring (state) 4 * ${STATE}{${ENDPOINT}, state="out_of_credit"} + ignoring (state) 5 * ${STATE}{${ENDPOINT}, state="absent"})`,
        '{{model}} at {{provider}} ({{upstream}})',
      ],
    ],
  }),
  curves({
    title: 'Attempts by outcome',
    description:
      'dropped: the caller disconnected, or the money ran out. Other outcomes except ok are failures: docs/route/failover.md.',
    unit: 'suffix: /s',
    width: 8,
    min: 0,
    stacked: true,
    queries: [[`sum by (outcome) (rate(signalbox_attempts_total{${ENDPOINT}}[$__rate_interval]))`, '{{outcome}}']],
  }),
  curves({
    title: 'Failed attempts by provider',
    description: 'Share of attempts that failed; dropped attempts do not count.',
    unit: 'percentunit',
    width: 8,
    min: 0,
    max: 1,
    queries: [
      [
        `sum by (provider) (rate(signalbox_attempts_total{${ENDPOINT}, outcome!~"ok|dropped"}[$__rate_interval])) / sum by (provider) (rate(signalbox_attempts_total{${ENDPOINT}, outcome!="dropped"}[$__rate_interval]))`,
        '{{provider}}',
      ],
    ],
  }),
  curves({
    title: 'Retries and denied retries',
    description: 'Further attempts at the same provider. Denied: the retry budget of the provider was empty.',
    unit: 'suffix: /s',
    width: 8,
    min: 0,
    queries: [
      [`sum by (provider) (rate(signalbox_retries_total{${ENDPOINT}}[$__rate_interval]))`, '{{provider}}'],
      [
        `sum by (provider) (rate(signalbox_retries_denied_total{${ENDPOINT}}[$__rate_interval]))`,
        '{{provider}}, denied',
      ],
    ],
  }),
  curves({
    title: 'Time to first token by endpoint',
    description: 'Recent medians, as decisions use them; the worst over all servers.',
    unit: 's',
    width: 8,
    min: 0,
    queries: [
      [
        `max by (provider, upstream) (signalbox_endpoint_ttft_seconds{${ENDPOINT}, percentile="50"})`,
        '{{provider}} {{upstream}}',
      ],
      [
        `max by (provider, upstream) (signalbox_endpoint_warm_ttft_seconds{${ENDPOINT}, percentile="50"})`,
        '{{provider}} {{upstream}}, prompt in its cache',
      ],
    ],
  }),
  curves({
    title: 'Output rate by endpoint',
    description: 'Recent medians of output tokens a second, as decisions use them.',
    unit: 'suffix: tok/s',
    width: 8,
    min: 0,
    queries: [
      [
        `min by (provider, upstream) (signalbox_endpoint_output_tokens_per_second{${ENDPOINT}, percentile="50"})`,
        '{{provider}} {{upstream}}',
      ],
    ],
  }),
  curves({
    title: 'Ejections',
    description: 'How often circuit breakers opened, including failed probes.',
    unit: 'suffix: /s',
    width: 8,
    min: 0,
    queries: [
      [
        `sum by (provider, upstream) (rate(signalbox_ejections_total{${ENDPOINT}}[$__rate_interval]))`,
        '{{provider}} {{upstream}}',
      ],
    ],
  }),
];
