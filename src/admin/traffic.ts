import { Type } from '@sinclair/typebox';
import * as f from '../core/define/fields.ts';
import { operationsOn } from './kit/operation.ts';
import type { ReportServices } from './usage.ts';
import { TRAFFIC_GROUPINGS } from './use-cases/report/grouping.ts';
import { ANSWER_STEPS } from './use-cases/traffic/periods.ts';
import { TRAFFIC_LIMIT, TRAFFIC_LIMIT_MAX, type TrafficSources, trafficOf } from './use-cases/traffic/traffic.ts';

/** The services that a traffic report needs. */
export type TrafficServices = ReportServices & Pick<TrafficSources, 'store'>;

const percentiles = (description: string, p50: number, p95: number) =>
  f.shape(`${description} Each value is accurate to 5 %; null if there are no values, and with \`points=false\`.`, {
    p50: f.figureOrNull('The median: half of the values are at most this. In ms.', p50),
    p95: f.figureOrNull('The 95th percentile: 95 of 100 values are at most this. In ms.', p95),
  });

const spend = (credits: number, dollars: string) => ({
  credits: f.as('microcredits', f.credits('Charges, less refunds.', credits)),
  usd: f.as('microcredits', f.usd('The same as `credits`.', dollars)),
});

const Whole = f.named('TrafficWhole', 'The figures of the whole period.', {
  requests: f.count('Requests that began in the period, without recommendations.', 1_204),
  errors: f.count('Requests of the period that ended with the status `failed` or `broken`.', 3),
  failed_attempts: f.count(
    'Attempts that failed at a provider, even if another attempt answered the request. Attempts that the provider refused because of the content or the length of the request are not counted.',
    17,
  ),
  refused: f.count(
    'Requests of the period that were answered with a status from 400 up and did not run. They are not part of `requests` and `errors`.',
    12,
  ),
  ...spend(61.75, '0.06175'),
  saved_credits: f.as(
    'saved',
    f.credits('Savings compared with the baseline; negative if the baseline would have cost less.', 12.5),
  ),
  saved_usd: f.as('saved', f.usd('The same as `saved_credits`.', '0.0125')),
  baseline_credits: f.as(
    'baseline',
    f.credits('The cost on the baseline model: `credits` and `saved_credits`.', 74.25),
  ),
  baseline_usd: f.as('baseline', f.usd('The same as `baseline_credits`.', '0.07425')),
  input_tokens: f.as('input', f.count('Input tokens of answers, including cached tokens.', 120_400)),
  cached_input_tokens: f.as('cached', f.count('Input tokens that were read from a provider’s cache.', 40_200)),
  output_tokens: f.as('output', f.count('Output tokens of answers, including hidden reasoning.', 31_250)),
  ttft_ms: percentiles('Time to the first token, ms.', 420, 1_380),
  duration_ms: percentiles('Time to the end of the answer, ms.', 2_400, 9_100),
  tokens_per_second: f.figureOrNull(
    'Visible output tokens per second while streaming; null if there are none, and with `points=false`.',
    82.4,
  ),
});

/** A list that has a number for each bucket. */
const counts = (description: string, ...example: number[]) =>
  f.list(Type.Number(), `For each bucket: ${description}`, example);
const amounts = (description: string, ...examples: number[]) =>
  f.list(f.credits('The amount of one bucket.', examples[0] ?? 0), `For each bucket: ${description}`, examples);
const inUsd = (description: string, ...examples: string[]) =>
  f.list(f.usd('The amount of one bucket.', examples[0] ?? '0'), `For each bucket: ${description}`, examples);
const figures = (description: string, ...example: (number | null)[]) =>
  f.list(
    Type.Union([Type.Number(), Type.Null()]),
    `For each bucket: ${description} Null if there are no values.`,
    example,
  );

const Buckets = f.named(
  'TrafficBuckets',
  'The same figures for each bucket, in the order of `times`; empty with `points=false`.',
  {
    requests: counts('requests.', 12, 0),
    errors: counts('failed or broken requests.', 1, 0),
    failed_attempts: counts('attempts that a provider failed.', 2, 0),
    refused: counts('refused requests.', 4, 0),
    credits: f.as('microcredits', amounts('Credits charged, minus refunds.', 0.61, 0)),
    usd: f.as('microcredits', inUsd('the same as `credits`, in USD.', '0.00061', '0')),
    saved_credits: f.as('saved', amounts('Credits saved compared with the baseline.', 0.12, 0)),
    baseline_usd: f.as('baseline', inUsd('the cost on the baseline model, in USD.', '0.00073', '0')),
    input_tokens: f.as('input', counts('input tokens.', 1_204, 0)),
    cached_input_tokens: f.as('cached', counts('cached input tokens.', 402, 0)),
    output_tokens: f.as('output', counts('output tokens.', 312, 0)),
    ttft_p50_ms: figures('median time to the first token, ms.', 420, null),
    ttft_p95_ms: figures('95th percentile of the time to the first token, ms.', 1_380, null),
    duration_p50_ms: figures('median time to the end, ms.', 2_400, null),
    duration_p95_ms: figures('95th percentile of the time to the end, ms.', 9_100, null),
    tokens_per_second: figures('visible output tokens per second.', 82.4, null),
  },
);

const line = {
  whole: Whole,
  buckets: Buckets,
  before: f.orNull(
    f.shape('The sums of the preceding period of the same length. Null without `compare=before`.', {
      requests: f.count('Requests that began in the preceding period.', 902),
      ...spend(48.5, '0.0485'),
    }),
  ),
};
const Line = f.named('TrafficLine', 'Figures of a period: for the whole period and for each bucket.', line);
const Series = f.named(
  'TrafficSeries',
  'The figures of one model, provider, key, team, user, task, status or value of a label.',
  {
    value: f.text(
      'The ID of the model, provider, key, team or user, or the value; empty for requests without one, for example of keys without a team or without the label. With a key with the scope `report`, keys are shown by name.',
      'gpt-6-luna',
    ),
    name: f.text('The name of the key, team or user; otherwise the same as `value`.', 'gpt-6-luna'),
    ...line,
  },
);

export const Traffic = f.named('Traffic', 'Requests, money, tokens and times for each bucket.', {
  object: f.always('traffic'),
  from: f.moment('The beginning of the first bucket.'),
  to: f.moment('The end of the last bucket.', '2026-11-20T10:30:00.000Z'),
  step: f.word(ANSWER_STEPS, 'The length of a bucket.', 'hour'),
  time_zone: f.text('IANA name of the time zone in which days begin.', 'UTC'),
  by: f.orNull(f.text('The dimension of the series. Null without `by`.', 'model')),
  counted_until: f.moment(
    'Everything that was stored before this moment is counted. Later buckets still grow, and so do buckets with running requests.',
  ),
  first_at: f.orNull(
    f.moment(
      'When the first request of this installation was counted, to the minute, hour or day, depending on what is still stored; null if nothing was counted. Nothing is known about earlier buckets.',
      '2026-11-02T09:14:00.000Z',
    ),
  ),
  counting_since: f.orNull(
    f.moment(
      'If older requests are still being counted, newest first, the moment up to which they are missing; null if everything is counted.',
    ),
    undefined,
    null,
  ),
  times: f.list(f.moment('A beginning.'), 'The beginning of a bucket.', {
    examples: [['2026-11-20T09:00:00.000Z', '2026-11-20T10:00:00.000Z']],
  }),
  total: Line,
  series: f.list(Series, 'With `by`, the series with the greatest spend come first; at most `limit`.'),
  other: f.orNull(
    Line,
    'The total minus `series`. Its percentiles and tokens per second are null. Null if nothing is left.',
  ),
});

const MOMENT = { pattern: '^\\d{4}-\\d{2}-\\d{2}' };
const only = (description: string, form: string) => f.optional(f.inCommand(f.text(description), { form }));

interface Report extends Readonly<Record<'from' | 'to' | 'counted_until', string>> {
  readonly counting_since: string | null;
  readonly total: object;
  readonly series: readonly object[];
  readonly other: object | null;
}

export const showTraffic = operationsOn<TrafficServices>()({
  name: 'traffic show',
  use: 'to see how many requests arrive, how many fail and how long they take.',
  example: 'traffic show --step hour --by model',
  http: 'GET /admin/traffic',
  action: 'traffic.read',
  summary: 'Show traffic over time',
  details:
    'Returns requests, errors, money, savings, tokens and times by minute, hour, day or month: in total, and optionally by one dimension. A request counts in the bucket in which it began. Money comes from the ledger, minus refunds. All other figures come from decision records, never from prompts. A lead sees its team and the keys that the team has now. A member sees its own keys. /docs/guide/operate/traffic.md explains the figures.',
  input: f.closed('Which traffic.', {
    from: f.optional(
      f.inCommand(
        f.formed(
          'The beginning of the period, such as `2026-11-20` or `2026-11-20T08:00Z`. By default 24 hours before `to`, or 30 days with the step `day`, or 180 days with the step `month`.',
          MOMENT,
        ),
        { form: 'TIME' },
      ),
    ),
    to: f.optional(
      f.inCommand(f.formed('The end of the period, which is not included; by default now.', MOMENT), { form: 'TIME' }),
    ),
    step: f.optional(
      f.word(
        ANSWER_STEPS,
        `The length of a bucket: ${ANSWER_STEPS.join(', ')}; by default \`hour\`. Minutes are kept for 2 days, hours for 93 days, days for 1,098 days. Months are computed from days, so they have no percentiles and no tokens per second.`,
      ),
    ),
    time_zone: only(
      'IANA name of the time zone in which days and months begin; by default UTC. For other time zones, days are computed from hours.',
      'ZONE',
    ),
    by: f.optional(
      f.inCommand(
        f.formed(
          `The dimension of \`series\`: ${TRAFFIC_GROUPINGS.join(', ')}, or \`label:NAME\` for the values of one label of keys. Without it, the answer has only the total.`,
          { pattern: `^(?:${TRAFFIC_GROUPINGS.join('|')}|label:.+)$` },
        ),
        { form: `${TRAFFIC_GROUPINGS.join('|')}|label:NAME` },
      ),
    ),
    model: only('Only this model (ID). Affects the total, and series of models and keys.', 'ID'),
    provider: only('Only this provider (ID). Affects the total, and series of providers.', 'ID'),
    key: only(
      'Only this key (ID or name) or wallet (address). Affects the total, and series of keys and models. With a key with the scope `report`, use the name of the key.',
      'ID',
    ),
    team: only('Only keys that belonged to this team (ID or name). Affects the total, and series of teams.', 'ID'),
    user: only(
      'Only keys that belonged to this user (ID or email address). Affects the total, and series of users. Not available with a key with the scope `report`.',
      'ID',
    ),
    label: f.optional(
      f.inCommand(
        f.formed('Only keys that had this label, as `name=value`. Affects the total, and series of this label.', {
          pattern: '^[^=]+=',
        }),
        { form: 'NAME=VALUE' },
      ),
    ),
    task: only('Only requests of this task. Affects the total, and series of tasks.', 'TASK'),
    status: only('Only requests with this status. Affects the total, and series of statuses.', 'STATUS'),
    compare: f.optional(f.word(['before'], '`before` adds the sums of the preceding period of the same length.')),
    points: f.optional(
      f.word(
        ['true', 'false'],
        'With `false`, the answer has only sums: no figures by bucket, no percentiles and no tokens per second. This is faster, because the server reads whole days where it can.',
      ),
    ),
    limit: f.pageSize({
      most: TRAFFIC_LIMIT_MAX,
      unlessGiven: TRAFFIC_LIMIT,
      of: 'series',
      end: 'All other series are summed up in `other`.',
    }),
  }),
  output: Traffic,
  answer: 'The figures.',
  errorField: 'step',
  prints: {
    columns: [
      'name',
      ...['requests', 'errors', 'credits', 'saved_credits', 'input_tokens', 'output_tokens'].map(
        (one) => `whole.${one}`,
      ),
      ...['ttft_ms.p50', 'ttft_ms.p95', 'duration_ms.p95', 'tokens_per_second'].map((one) => `whole.${one}`),
      ...['before.requests', 'before.credits'],
    ],
    rows: ({ series, other, total }: Report) => [
      ...series,
      ...(other ? [{ ...other, name: '(other)' }] : []),
      { ...total, name: '(total)' },
    ],
    sum: ({ from, to, counted_until, counting_since }: Report) => {
      const past =
        counting_since === null ? '' : ` Requests before ${f.minuteText(counting_since)} are still being counted.`;
      return `From ${f.minuteText(from)} to ${f.minuteText(to)}, counted until ${f.minuteText(counted_until)}.${past}\n`;
    },
  },
  run: ({ store, sightOf, namesFor, ownersOf }, { by, now }, { team, user, ...query }) =>
    trafficOf(
      by,
      { store, now, sight: sightOf(by), nameOf: namesFor(by) },
      { ...query, ...ownersOf(by, { team, user }) },
    ),
});
