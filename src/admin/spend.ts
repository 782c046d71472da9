import * as f from '../core/define/fields.ts';
import { operationsOn } from './kit/operation.ts';
import type { TrafficServices } from './traffic.ts';
import type { UsageServices } from './usage.ts';
import { SPEND_DIMENSIONS, spendOf } from './use-cases/traffic/spend.ts';

/** The services of a report on spend. */
export type SpendServices = TrafficServices & Pick<UsageServices, 'report' | 'usdPerCredit'>;

const amount = (of: string, credits: number, usd: string) => ({
  credits: f.as('charged', f.credits(of, credits)),
  usd: f.as('charged', f.usd('The same as `credits`.', usd)),
});
const day = (description: string, example: string) => f.text(`${description} As YYYY-MM-DD.`, example);
const Month = f.shape('A month.', amount('Charges, less refunds.', 61.75, '0.06175'));
const months = f.list(Month, 'With `step=month`, the spend of each month, in the order of `months`; otherwise empty.');

const whole = {
  ...amount('Charges, less refunds.', 61.75, '0.06175'),
  requests: f.count('Requests; for figures of the ledger, charged attempts.', 1_204),
  input_tokens: f.as('input', f.count('Input tokens.', 120_400)),
  output_tokens: f.as('output', f.count('Output tokens, including hidden reasoning.', 31_250)),
  saved_credits: f.as(
    'saved',
    f.orNull(
      f.credits('Savings compared with the baseline.', 12.5),
      'Savings compared with the baseline; null for figures of the ledger. In Credits.',
    ),
  ),
  saved_usd: f.as('saved', f.orNull(f.usd('The same as `saved_credits`.', '0.0125'))),
};
const line = {
  whole: f.shape('The sums of the period.', whole),
  before: f.shapeOrNull(
    'The spend in the period of the same length before; null if the installation did not exist at its beginning, and with `step`.',
    amount('Charges, less refunds.', 48.5, '0.0485'),
  ),
  change: f.shapeOrNull(
    'The spend of the period less the spend before; null if the spend before is null.',
    amount('The difference.', 13.25, '0.01325'),
  ),
  months,
};

const SpendRow = f.named('SpendRow', 'The spend of one key, team, user, model, provider, task or value of a label.', {
  id: f.textOrNull(
    'The ID or the value; empty for spend without one, for example of keys without a team. Null for the row that sums up all others.',
    'k7mw2pq9x4ta',
  ),
  name: f.text('Its name, if the caller may see it; otherwise its ID. Empty for none.', 'crm'),
  and: f.shapeOrNull(
    'With `and`, the value of the second dimension; otherwise null.',
    { id: f.text('The ID or the value; empty for none.', 'gpt-6-luna'), name: f.text('Its name.', 'gpt-6-luna') },
    null,
  ),
  ...line,
});

export const Spend = f.named('Spend', 'Spend by one or two dimensions, compared with the period before or by month.', {
  object: f.always('spend'),
  source: f.word(
    ['traffic', 'ledger'],
    '`traffic`: counted traffic, which has exact times and savings. `ledger`: charges of whole days.',
  ),
  from: day('The first day that the period touches.', '2026-11-01'),
  to: day('The day after the last day.', '2026-12-01'),
  time_zone: f.text('IANA name of the time zone in which days and months begin.', 'UTC'),
  counted: f.flag(
    'False if the ledger would need seconds to sum the charges, and the query lacks `count=true`. The answer then has no rows.',
    true,
  ),
  months: f.textList('With `step=month`, the months as YYYY-MM; otherwise empty.', ['2026-10', '2026-11']),
  total: f.shape('The sums of all rows.', line),
  rows: f.list(
    SpendRow,
    'The rows. The largest rise comes first; with `step=month`, the largest spend in the latest month. The row that sums up all others is the last.',
  ),
});

const DIMENSION = { pattern: `^(?:${SPEND_DIMENSIONS.join('|')}|label:.+)$` };

export const showSpend = operationsOn<SpendServices>()({
  name: 'spend show',
  command: false,
  http: 'GET /admin/spend',
  action: 'traffic.read',
  summary: 'Show who spends how much',
  details:
    'Returns the spend by key, team, user, model, provider, task or label, compared with the period of the same length before, or by month. The server takes the figures from counted traffic if traffic has them, and otherwise from the ledger, by whole days. `GET /admin/traffic` and `GET /admin/usage` have the figures of one source.',
  input: f.closed('Which spend.', {
    ...f.allOptional({
      by: f.formed(
        `The dimension of the rows: ${SPEND_DIMENSIONS.join(', ')} or \`label:NAME\`; by default \`key\`.`,
        DIMENSION,
      ),
      and: f.formed('A second dimension, other than `by`; only with `step=month`. The ledger has no tasks.', DIMENSION),
      of: f.formed(
        'Only the spend of one key, team, user, model, provider or value of a label, as `key=ID` or `label:NAME=VALUE`.',
        { pattern: '^[^=]+=' },
      ),
      from: f.text(
        'The beginning of the period, such as `2026-11-20` or `2026-11-20T08:00Z`; by default 24 hours before `to`.',
      ),
      to: f.text('The end of the period; by default now.'),
      step: f.word(['month'], 'Adds the spend of each month that the period touches. The period is then whole months.'),
      time_zone: f.text('IANA name of the time zone in which days and months begin; by default UTC.'),
      count: f.word(['true', 'false'], '`true` sums charges of the ledger even if that takes seconds.'),
    }),
  }),
  output: Spend,
  answer: 'The spend.',
  errorField: 'by',
  run: ({ store, sightOf, namesFor, ownersOf, report }, { by, now }, query) => {
    const sight = sightOf(by);
    const owners = (stated: Parameters<typeof ownersOf>[1]) => ownersOf(by, stated);
    return spendOf(by, { store, now, sight, nameOf: namesFor(by), ownersOf: owners, report }, query);
  },
});
