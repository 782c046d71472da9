import { Type } from '@sinclair/typebox';
import * as parts from '../core/api/parts.ts';
import * as f from './kit/fields.ts';
import { operationsOn } from './kit/operation.ts';
import type { ReportServices } from './usage.ts';
import { TRAFFIC_GROUPINGS } from './use-cases/report/grouping.ts';
import { ANSWER_STEPS } from './use-cases/traffic/periods.ts';
import { TRAFFIC_LIMIT, TRAFFIC_LIMIT_MAX, type TrafficSources, trafficOf } from './use-cases/traffic/traffic.ts';

/** What a report of traffic is made with. */
export type TrafficServices = ReportServices & Pick<TrafficSources, 'store'>;

const percentiles = (description: string, p50: number, p95: number) =>
  parts.shape(`${description} Each within 5 %; null without one, and with \`points=false\`.`, {
    p50: parts.figureOrNull('Half of them took at most this long. In ms.', p50),
    p95: parts.figureOrNull('95 of 100 took at most this long. In ms.', p95),
  });

const spend = (credits: number, dollars: string) => ({
  credits: f.as('microcredits', f.credits('Charges, less refunds.', credits)),
  usd: f.as('microcredits', f.usd('The same as `credits`.', dollars)),
});

const Whole = f.named('TrafficWhole', 'The figures of the whole period.', {
  requests: f.count('Requests that began in it. Recommendations are left out.', 1_204),
  errors: f.count('Those of them with the status `failed` or `broken`.', 3),
  failed_attempts: f.count(
    'Attempts that a provider failed, also where another one answered. Attempts that it refused for what the request says, or as too long, are not among them.',
    17,
  ),
  ...spend(61.75, '0.06175'),
  saved_credits: f.as('saved', f.credits('Saved against the baseline; negative where it would have cost less.', 12.5)),
  saved_usd: f.as('saved', f.usd('The same as `saved_credits`.', '0.0125')),
  input_tokens: f.as('input', f.count('Input tokens of answers, cached ones included.', 120_400)),
  cached_input_tokens: f.as('cached', f.count('Part of them that was read from a provider’s cache.', 40_200)),
  output_tokens: f.as('output', f.count('Output tokens of answers, hidden reasoning included.', 31_250)),
  ttft_ms: percentiles('Time to the first token, ms.', 420, 1_380),
  duration_ms: percentiles('Time to the end, ms.', 2_400, 9_100),
  tokens_per_second: parts.figureOrNull(
    'Visible output tokens a second of streaming; null without any, and with `points=false`.',
    82.4,
  ),
});

/** Numbers by bucket. */
const counts = (description: string, ...example: number[]) =>
  parts.arrayOf(Type.Number(), `By bucket: ${description}`, example);
const credits = (description: string, ...examples: number[]) =>
  f.list(f.credits('Of one bucket.', examples[0] ?? 0), `By bucket: ${description}`, { examples: [examples] });
const figures = (description: string, ...example: (number | null)[]) =>
  parts.arrayOf(Type.Union([Type.Number(), Type.Null()]), `By bucket: ${description} Null without one.`, example);

const Buckets = f.named(
  'TrafficBuckets',
  'The same figures by bucket, in the order of `times`; empty with `points=false`.',
  {
    requests: counts('requests.', 12, 0),
    errors: counts('failed or broken requests.', 1, 0),
    failed_attempts: counts('attempts that a provider failed.', 2, 0),
    credits: f.as('microcredits', credits('Credits charged, less refunds.', 0.61, 0)),
    saved_credits: f.as('saved', credits('Credits saved against the baseline.', 0.12, 0)),
    input_tokens: f.as('input', counts('input tokens.', 1_204, 0)),
    cached_input_tokens: f.as('cached', counts('cached input tokens.', 402, 0)),
    output_tokens: f.as('output', counts('output tokens.', 312, 0)),
    ttft_p50_ms: figures('median time to the first token, ms.', 420, null),
    ttft_p95_ms: figures('95th percentile of it, ms.', 1_380, null),
    duration_p50_ms: figures('median time to the end, ms.', 2_400, null),
    duration_p95_ms: figures('95th percentile of it, ms.', 9_100, null),
    tokens_per_second: figures('visible output tokens a second.', 82.4, null),
  },
);

const line = {
  whole: Whole,
  buckets: Buckets,
  before: f.orNull(
    f.shape('The sums of the period of the same length before. Null without `compare=before`.', {
      requests: f.count('Requests that began in it.', 902),
      ...spend(48.5, '0.0485'),
    }),
  ),
};
const Line = f.named('TrafficLine', 'Figures of a period, as a whole and by bucket.', line);
const Series = f.named(
  'TrafficSeries',
  'The figures of one model, provider, key, team, user, task, status or value of a label.',
  {
    value: f.text(
      'Its ID; empty for none, such as keys of no team or without the label. For a key with the scope `report`, keys have names instead.',
      'gpt-6-luna',
    ),
    name: f.text('The name of the key, team or user; else the same as `value`.', 'gpt-6-luna'),
    ...line,
  },
);

export const Traffic = f.named('Traffic', 'Requests, money, tokens and times by bucket.', {
  object: f.always('traffic'),
  from: f.moment('The beginning of the first bucket.'),
  to: f.moment('The end of the last bucket.', '2026-11-20T10:30:00.000Z'),
  step: f.word(ANSWER_STEPS, 'The length of a bucket.', 'hour'),
  time_zone: f.text('IANA name of the zone in which days begin.', 'UTC'),
  by: f.orNull(f.text('The dimension of the series. Null without `by`.', 'model')),
  counted_until: f.moment(
    'All that was written before this moment is counted. Buckets that reach beyond it still grow, as do those with running requests.',
  ),
  first_at: f.orNull(
    f.moment(
      'When the first request of this installation was counted, to the minute, hour or day that is kept of it; null before any. Buckets before it are of a time of which nothing is known.',
      '2026-11-02T09:14:00.000Z',
    ),
  ),
  counting_since: f.orNull(
    f.moment('While the past before this moment is still being counted, newest first; null once all is.'),
    undefined,
    null,
  ),
  times: f.list(f.moment('A beginning.'), 'The beginning of each bucket; none with `points=false`.', {
    examples: [['2026-11-20T09:00:00.000Z', '2026-11-20T10:00:00.000Z']],
  }),
  total: Line,
  series: f.list(Series, 'With `by`: by spend, the greatest first, `limit` at most.'),
  other: f.orNull(
    Line,
    'The total less `series`; its percentiles and tokens a second are null. Null where nothing is left.',
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
  http: 'GET /admin/traffic',
  action: 'traffic.read',
  summary: 'Traffic by time',
  details:
    'Returns requests, errors, money, savings, tokens and times by minute, hour, day or month, as a whole and by one dimension. A request counts in the bucket in which it began. Money is that of the ledger, less refunds; everything else is that of the records of decisions, and of no prompt. A lead is shown its team and the keys that it has now, a member its own. [Traffic](docs/operate/traffic.md) explains the figures.',
  input: f.body('Which traffic.', {
    from: f.optional(
      f.inCommand(
        f.formed(
          'The first moment, such as `2026-11-20` or `2026-11-20T08:00Z`; 24 hours before `to` unless given, 30 days by `day`, and 180 by `month`.',
          MOMENT,
        ),
        { form: 'TIME' },
      ),
    ),
    to: f.optional(f.inCommand(f.formed('The moment after the last one; now unless given.', MOMENT), { form: 'TIME' })),
    step: f.optional(
      f.word(
        ANSWER_STEPS,
        `The length of a bucket: ${ANSWER_STEPS.join(', ')}; \`hour\` unless given. Minutes are kept for 2 days, hours for 93, days for 1,098. Months are made of days, without percentiles and tokens a second.`,
      ),
    ),
    time_zone: only(
      'IANA name of the zone in which days and months begin; UTC unless given. Those of another zone are put together from hours.',
      'ZONE',
    ),
    by: f.optional(
      f.inCommand(
        f.formed(
          `The dimension of \`series\`: ${TRAFFIC_GROUPINGS.join(', ')}, or \`label:NAME\` for the values of one label of keys; the total alone unless given.`,
          { pattern: `^(?:${TRAFFIC_GROUPINGS.join('|')}|label:.+)$` },
        ),
        { form: `${TRAFFIC_GROUPINGS.join('|')}|label:NAME` },
      ),
    ),
    model: only('Only the model with this ID, in the total and in series of models and keys.', 'ID'),
    provider: only('Only the provider with this ID, in the total and in series of providers.', 'ID'),
    key: only(
      'Only the key with this ID, or this wallet, in the total and in series of keys and models; for a key with the scope `report`, the keys of this name.',
      'ID',
    ),
    team: only('Only keys that belonged to the team with this ID or name, in the total and in series of teams.', 'ID'),
    user: only(
      'Only keys that belonged to the user with this ID or address, in the total and in series of users. Not for a key with the scope `report`.',
      'ID',
    ),
    label: f.optional(
      f.inCommand(
        f.formed('Only keys that had this label, as `name=value`, in the total or by this label.', {
          pattern: '^[^=]+=',
        }),
        { form: 'NAME=VALUE' },
      ),
    ),
    task: only('Only requests of this task, in the total and in series of tasks.', 'TASK'),
    status: only('Only requests with this status, in the total and in series of statuses.', 'STATUS'),
    compare: f.optional(
      f.word(['before'], '`before` adds the sums of the period of the same length before, to each line.'),
    ),
    points: f.optional(
      f.word(
        ['true', 'false'],
        '`false` leaves out the figures by bucket, percentiles and tokens a second, and reads whole days where it can: for lists of sums.',
      ),
    ),
    limit: f.pageSize({
      most: TRAFFIC_LIMIT_MAX,
      unlessGiven: TRAFFIC_LIMIT,
      of: 'series',
      end: 'The rest is `other`.',
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
        counting_since === null ? '' : ` What was before ${f.minuteText(counting_since)} is still being counted.`;
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
