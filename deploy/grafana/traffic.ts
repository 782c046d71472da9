import { AT, bars, CHAT, CREDITS, curves, ENDPOINT, figure, quantiles, row, timeline } from './panels.ts';

const COUNTED = `${CHAT}, outcome=~"completed|failed|broken|abandoned|unavailable"`;
const FAILED = `${CHAT}, outcome=~"failed|broken|unavailable"`;

export const overview = [
  row('Overview'),
  figure({
    title: 'Chats',
    description: 'Chats that are over, of whatever outcome, a second.',
    unit: 'reqps',
    width: 3,
    queries: [[`sum(rate(signalbox_chats_total{${CHAT}}[$__rate_interval]))`, 'chats']],
  }),
  figure({
    title: 'Answered',
    description: 'Of the chats that were ours to answer, in the range that is shown, the part that did not fail.',
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
    title: 'Error budget burns',
    description:
      'How many times faster than the objective allows, over the last hour. 1 is just so. Wants the recording rules.',
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
    description: 'One stream in twenty took longer to its first content, in the range that is shown.',
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
    description: 'Credits that were charged in the range that is shown.',
    unit: CREDITS,
    decimals: 2,
    width: 3,
    queries: [[`sum(increase(signalbox_credits_spent_total{${CHAT}}[$__range]))`, 'spent']],
  }),
  figure({
    title: 'Saved',
    description:
      'What the reference price would have cost beyond what was charged, less where it would have cost less.',
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
    description: 'Alarms of deploy/alerts.yaml that are firing; docs/operate/incidents.md tells what to do.',
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
    description: 'Revisions of the policy that are in force; more than one only while servers follow each other.',
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
    description:
      'refused: 4xx, quoted: 402 with a price, unavailable: turned away by a fault, before anything was carried out.',
    unit: 'reqps',
    width: 12,
    min: 0,
    stacked: true,
    queries: [[`sum by (outcome) (rate(signalbox_chats_total{${CHAT}}[$__rate_interval]))`, '{{outcome}}']],
  }),
  curves({
    title: 'Errors by code',
    description: 'What callers of any route were told, by the codes of docs/operate/errors.md.',
    unit: 'reqps',
    width: 12,
    min: 0,
    stacked: true,
    queries: [[`sum by (code) (rate(signalbox_http_errors_total{${AT}}[$__rate_interval]))`, '{{code}}']],
  }),
  curves({
    title: 'Time to first token',
    description: 'Time from admission to the first content part, of streams with content.',
    unit: 's',
    width: 12,
    min: 0,
    queries: quantiles('signalbox_chat_ttft_seconds', CHAT),
  }),
  curves({
    title: 'Time to the end',
    description: 'Of chats that were carried out, streams to their last byte.',
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
    description: 'pinned: the request named a model. Empty: it was over before that was known.',
    unit: 'reqps',
    width: 8,
    min: 0,
    stacked: true,
    queries: [[`sum by (selector) (rate(signalbox_chats_total{${CHAT}}[$__rate_interval]))`, '{{selector}}']],
  }),
  curves({
    title: 'Chats by model',
    description: 'The model that answered. Empty: none did.',
    unit: 'reqps',
    width: 8,
    min: 0,
    stacked: true,
    queries: [[`sum by (model) (rate(signalbox_chats_total{${CHAT}}[$__rate_interval]))`, '{{model}}']],
  }),
  curves({
    title: 'Chats by endpoint',
    description: 'The same by provider and the name that the model has there.',
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
    description: 'Kinds do not overlap: cached and written input is not in input, reasoning not in output.',
    unit: 'suffix: /s',
    width: 8,
    min: 0,
    stacked: true,
    queries: [[`sum by (kind) (rate(signalbox_tokens_total{${CHAT}}[$__rate_interval]))`, '{{kind}}']],
  }),
  bars({
    title: 'What is against models',
    description: 'How often a model was left out, by the reason; constraints of the policy with the name of the rule.',
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
    description: 'Attempts that failed and were followed by one at another endpoint of the model, or another model.',
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
    title: 'States of endpoints',
    description:
      'The worst over all servers. Ejected is shown until an answer comes, so long after its time where nobody asks.',
    unit: 'short',
    width: 24,
    states: {
      0: ['healthy', 'green'],
      1: ['ejected', 'orange'],
      2: ['cooling', 'blue'],
      3: ['misconfigured', 'red'],
    },
    queries: [
      [
        `max by (provider, model, upstream) (0 * ${STATE}{${ENDPOINT}, state="healthy"} + ignoring (state) ${STATE}{${ENDPOINT}, state="ejected"} + ignoring (state) 2 * ${STATE}{${ENDPOINT}, state="cooling"} + ignoring (state) 3 * ${STATE}{${ENDPOINT}, state="misconfigured"})`,
        '{{model}} at {{provider}} ({{upstream}})',
      ],
    ],
  }),
  curves({
    title: 'Attempts by outcome',
    description:
      'dropped: the caller left, or there was no money. The rest but ok are kinds of failure, see docs/route/failover.md.',
    unit: 'suffix: /s',
    width: 8,
    min: 0,
    stacked: true,
    queries: [[`sum by (outcome) (rate(signalbox_attempts_total{${ENDPOINT}}[$__rate_interval]))`, '{{outcome}}']],
  }),
  curves({
    title: 'Failing attempts by provider',
    description: 'The part of the attempts that did not end well, those that were dropped left aside.',
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
    title: 'Retries, and what of them was denied',
    description:
      'Further attempts at a provider that the request had asked before. Denied: its retry budget was empty.',
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
    description: 'The medians that decisions go by, of late; the worst over all servers.',
    unit: 's',
    width: 8,
    min: 0,
    queries: [
      [
        `max by (provider, upstream) (signalbox_endpoint_ttft_seconds{${ENDPOINT}, quantile="0.5"})`,
        '{{provider}} {{upstream}}',
      ],
      [
        `max by (provider, upstream) (signalbox_endpoint_warm_ttft_seconds{${ENDPOINT}, quantile="0.5"})`,
        '{{provider}} {{upstream}}, prompt in its cache',
      ],
    ],
  }),
  curves({
    title: 'Output rate by endpoint',
    description: 'Tokens a second once the output has begun: the medians that decisions go by.',
    unit: 'suffix: tok/s',
    width: 8,
    min: 0,
    queries: [
      [
        `min by (provider, upstream) (signalbox_endpoint_output_tokens_per_second{${ENDPOINT}, quantile="0.5"})`,
        '{{provider}} {{upstream}}',
      ],
    ],
  }),
  curves({
    title: 'Ejections',
    description: 'How often circuit breakers opened, failed probes included.',
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
