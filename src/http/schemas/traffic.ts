import { Type } from '@sinclair/typebox';
import * as field from '../../api/parts.ts';
import { ANSWER_STEPS } from '../../operate/traffic/periods.ts';

const percentiles = (description: string, p50: number, p95: number) =>
  field.shape(`${description} Each within 5 %; null without one, and with \`points=false\`.`, {
    p50: field.figureOrNull('Half of them took at most this long. In ms.', p50),
    p95: field.figureOrNull('95 of 100 took at most this long. In ms.', p95),
  });

/** Numbers by bucket. */
const counts = (description: string, ...example: number[]) =>
  field.arrayOf(Type.Number(), `By bucket: ${description}`, example);
const figures = (description: string, ...example: (number | null)[]) =>
  field.arrayOf(Type.Union([Type.Number(), Type.Null()]), `By bucket: ${description} Null without one.`, example);

const Whole = field.named('TrafficWhole', 'The figures of the whole period.', {
  requests: field.count('Requests that began in it. Recommendations are left out.', 1_204),
  errors: field.count('Those of them with the status `failed` or `broken`.', 3),
  failed_attempts: field.count(
    'Attempts that a provider failed, also where another one answered. Attempts that it refused for what the request says, or as too long, are not among them.',
    17,
  ),
  credits: field.figure('Charges, less refunds. In Credits, at most 6 decimals.', 61.75),
  usd: field.usd('The same as `credits`.', '0.06175'),
  saved_credits: field.figure(
    'Saved against the baseline; negative where it would have cost less. In Credits, at most 6 decimals.',
    12.5,
  ),
  saved_usd: field.usd('The same as `saved_credits`.', '0.0125'),
  input_tokens: field.tokens('Input tokens of answers, cached ones included.', 120_400),
  cached_input_tokens: field.tokens('Part of them that was read from a provider’s cache.', 40_200),
  output_tokens: field.tokens('Output tokens of answers, hidden reasoning included.', 31_250),
  ttft_ms: percentiles('Time to the first token.', 420, 1_380),
  duration_ms: percentiles('Time to the end.', 2_400, 9_100),
  tokens_per_second: field.figureOrNull(
    'Visible output tokens a second of streaming; null without any, and with `points=false`.',
    82.4,
  ),
});

const Buckets = field.named(
  'TrafficBuckets',
  'The same figures by bucket, in the order of `times`; empty with `points=false`.',
  {
    requests: counts('requests.', 12, 0),
    errors: counts('failed or broken requests.', 1, 0),
    failed_attempts: counts('attempts that a provider failed.', 2, 0),
    credits: counts('Credits charged, less refunds.', 0.61, 0),
    saved_credits: counts('Credits saved against the baseline.', 0.12, 0),
    input_tokens: counts('input tokens.', 1_204, 0),
    cached_input_tokens: counts('cached input tokens.', 402, 0),
    output_tokens: counts('output tokens.', 312, 0),
    ttft_p50_ms: figures('median time to the first token, ms.', 420, null),
    ttft_p95_ms: figures('95th percentile of it, ms.', 1_380, null),
    duration_p50_ms: figures('median time to the end, ms.', 2_400, null),
    duration_p95_ms: figures('95th percentile of it, ms.', 9_100, null),
    tokens_per_second: figures('visible output tokens a second.', 82.4, null),
  },
);

const before = field.shapeOrNull('The sums of the period of the same length before. Null without `compare=before`.', {
  requests: field.count('Requests that began in it.', 902),
  credits: field.figure('Charges, less refunds. In Credits, at most 6 decimals.', 48.5),
  usd: field.usd('The same as `credits`.', '0.0485'),
});

const Line = field.named('TrafficLine', 'Figures of a period, as a whole and by bucket.', {
  whole: Whole,
  buckets: Buckets,
  before,
});

const Series = field.named(
  'TrafficSeries',
  'The figures of one model, provider, key, team, user, task, status or value of a label.',
  {
    value: field.text(
      'Its ID; empty for none, such as keys of no team or without the label. For a key with the scope `report`, keys have names instead.',
      'gpt-6-luna',
    ),
    name: field.text('The name of the key, team or user; else the same as `value`.', 'gpt-6-luna'),
    whole: Whole,
    buckets: Buckets,
    before,
  },
);

export const Traffic = field.named('Traffic', 'Requests, money, tokens and times by bucket.', {
  object: field.always('traffic'),
  from: field.moment('The beginning of the first bucket.'),
  to: field.moment('The end of the last bucket.', '2026-11-20T10:30:00.000Z'),
  step: field.word(ANSWER_STEPS, 'The length of a bucket.', 'hour'),
  time_zone: field.text('IANA name of the zone in which days begin.', 'UTC'),
  by: field.textOrNull('The dimension of the series. Null without `by`.', 'model'),
  counted_until: field.moment(
    'All that was written before this moment is counted. Buckets that reach beyond it still grow, as do those with running requests.',
  ),
  first_at: field.momentOrNull(
    'When the first request of this installation was counted, to the minute, hour or day that is kept of it; null before any. Buckets before it are of a time of which nothing is known.',
    '2026-11-02T09:14:00.000Z',
  ),
  counting_since: field.momentOrNull(
    'While the past before this moment is still being counted, newest first; null once all is.',
  ),
  times: field.textList('The beginning of each bucket; none with `points=false`. ISO 8601, UTC.', [
    '2026-11-20T09:00:00.000Z',
    '2026-11-20T10:00:00.000Z',
  ]),
  total: Line,
  series: field.arrayOf(Series, 'With `by`: by spend, the greatest first, `limit` at most.'),
  other: field.orNull(
    Line,
    'The total less `series`; its percentiles and tokens a second are null. Null where nothing is left.',
  ),
});
