import { Type } from '@sinclair/typebox';
import * as field from '../../api/parts.ts';

const MONTH = '2026-11-01T00:00:00.000Z';

export const FundStatus = field.named('FundStatus', 'A window of a budget, or the balance of a key.', {
  kind: field.word(['budget', 'balance'], 'A limit of the policy, or money granted to a key.'),
  name: field.text('Of the budget; ID of the key, or its name for a key with the scope `report`.', 'team-month'),
  subject: field.text(
    'The caller that the share belongs to, by the budget’s `each`. Empty for a shared budget.',
    'search',
  ),
  subject_name: field.textOrNull(
    'How the key, team or user that `subject` is the ID of is called now; null where it is no such ID, or the caller may not see the name.',
    'search',
  ),
  holder: field.orNull(
    field.word(['organization', 'team', 'user', 'key'], 'Of which kind of holder the budget is.'),
    'Null for a budget of the policy, and for a balance.',
  ),
  limit_credits: field.credits('The limit of the window, or all Credits granted.', 50_000),
  limit_usd: field.usd('The same as `limit_credits`.', '50'),
  spent_credits: field.credits('Charged so far.', 31_204.5),
  spent_usd: field.usd('The same as `spent_credits`.', '31.2045'),
  held_credits: field.credits('Held by requests that are running.', 12.4),
  held_usd: field.usd('The same as `held_credits`.', '0.0124'),
  left_credits: field.credits('Free now; negative after the limit was lowered.', 18_783.1),
  left_usd: field.usd('The same as `left_credits`.', '18.7831'),
  forecast_credits: field.figureOrNull(
    'Credits that are expected to be charged by the end of the window: the rate so far, for all of it. Null before `forecast_from`, and for a total.',
    52_010.5,
  ),
  forecast_usd: field.textOrNull('The same as `forecast_credits`, in USD.', '52.0105'),
  forecast_from: field.momentOrNull(
    'From when on there is a forecast: a tenth of the window; null for never.',
    '2026-11-04T00:00:00.000Z',
  ),
  runs_out_at: field.momentOrNull(
    'When it is spent at the rate so far; null where that is not before the window ends, before `forecast_from`, and for a total or a balance. The past where it is spent already.',
    '2026-11-28T14:00:00.000Z',
  ),
  open_reservations: field.count('Running requests that hold it.', 3),
  oldest_reservation_seconds: field.figureOrNull(
    'For how long the oldest of them has held it, in seconds; null for none.',
    4.2,
  ),
  starts: field.orNull(field.moment('When the window began.', MONTH), 'Null for a total or a balance.'),
  renews_at: field.orNull(field.moment('When the next window begins.', '2026-12-01T00:00:00.000Z'), 'Null for never.'),
});

export const LedgerStatus = field.named('LedgerStatus', 'The current state of the books.', {
  charged_credits: field.credits('All charges, less refunds; with `name`, those that its funds count.', 40_210.25),
  charged_usd: field.usd('The same as `charged_credits`.', '40.21025'),
  held_credits: field.credits('The reserved amount of open requests; with `name`, of its funds.', 12.4),
  held_usd: field.usd('The same as `held_credits`.', '0.0124'),
  open_reservations: field.count('Requests that are running; with `name`, those that hold its funds.', 7),
  funds: field.arrayOf(
    FundStatus,
    'The first to run out first, then the fullest; at most 1,000. A budget of the policy that nothing has drawn on is one of no subject.',
  ),
  funds_total: field.count('The number of funds.', 3),
  has_more: field.flag('Whether more follow.', false),
  next_after: field.textOrNull('The value of `after` for the next page; null on the last.', null),
});

const day = (description: string, example: string) =>
  Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description, examples: [example] });

const figures = {
  charges: field.count('Attempts that were charged: one for an ordinary request. A refund counts as one.', 214),
  input_tokens: field.tokens('Input tokens that were billed.', 120_400),
  output_tokens: field.tokens('Output tokens that were billed, hidden reasoning included.', 31_250),
  credits: field.credits('Charges, less refunds.', 61.75),
  usd: field.usd('The same as `credits`.', '0.06175'),
};

const UsageDay = field.named('UsageDay', 'What one model was charged on one day.', {
  date: day('The day, in `time_zone`, on which the requests began.', '2026-11-20'),
  model: field.textOrNull('ID of the model; null for refunds and for requests that a crash ended.', 'gpt-6-luna'),
  ...figures,
});

const period = {
  object: field.always('usage'),
  from: day('The first day.', '2026-10-22'),
  to: day('The day after the last one.', '2026-11-21'),
  time_zone: field.text('IANA name of the zone in which days begin.', 'UTC'),
};

const UsageGroup = field.named('UsageGroup', 'The charges of one group.', {
  group: field.mapOf(
    Type.String(),
    'The name of the group in each grouping: `day`, `month`, `key_id` (`key_name` for a key with the scope `report`), `team_id`, `user_id`, `model`, `provider`, `selector`, `session`, `agent`, `label:NAME`. Empty where the charge has none: a refund names no model. `team_id` is the team that the key belonged to, `label:team` the text of its label `team`. `key_name`, `team_name` and `user_name` stand beside the IDs where there is a name that the caller may see.',
    { key_id: 'k7mw2pq9x4ta', model: 'gpt-6-luna' },
  ),
  ...figures,
});

export const UsageReport = field.named('UsageReport', 'The spend of the calling key, and what it can still spend.', {
  ...period,
  total_credits: field.credits('The sum of all days.', 1_204.5),
  total_usd: field.usd('The same as `total_credits`.', '1.2045'),
  days: field.arrayOf(UsageDay, 'By day, then by model; days without charges are left out.'),
  groups: Type.Optional(field.arrayOf(UsageGroup, 'With `by`: the same charges by its groupings, at most 10,000.')),
  funds: field.arrayOf(
    FundStatus,
    'The funds that requests of this key spend: windows of budgets, including shared ones, and its balance; at most 1,000.',
  ),
  balance_credits: field.figureOrNull(
    'The rest of the key’s balance, in Credits. Null for a key without a balance, which only budgets limit.',
    21.8,
  ),
  balance_usd: field.textOrNull('The same in USD, an exact decimal; null for a key without a balance.', '0.0218'),
});

export const AdminUsage = field.named('AdminUsage', 'The charges of all keys in a period, by groups.', {
  ...period,
  by: field.textList('The groupings.', ['key', 'model']),
  total_credits: field.credits('The sum of all groups.', 1_204.5),
  total_usd: field.usd('The same as `total_credits`.', '1.2045'),
  groups: field.arrayOf(UsageGroup, 'In the order of their names; at most 10,000.'),
});

const OpenReservation = field.shape('A hold that is open.', {
  decision: field.textOrNull('ID of its decision.', 'dec_0a4x1wm3zk0'),
  seq: field.count('The row of the journal that opened it.', 48_213),
  key_id: field.textOrNull('ID of the key or address of the wallet; null where the books lack it.', '4f2k9d1m'),
  reserved_credits: field.credits('Reserved.', 12.4),
  charged_credits: field.credits('Charged of it so far.', 0),
  age_ms: field.figure('Since the request began, ms.', 4_200),
});

const Finding = field.shape('A contradiction that correct books cannot have.', {
  kind: field.text('Its kind.', 'wrong_spend'),
  seq: field.wholeOrNull('The row of the journal; null where it is about none.', 48_213),
  decision: field.textOrNull('ID of the decision; null where it is about none.', 'dec_0a4x1wm3zk0'),
  message: field.text('The contradiction, in microcredits.', 'charges 120, of 100 that were left'),
});

export const LedgerAudit = field.named('LedgerAudit', 'The last audit of the books by this server.', {
  object: field.always('ledger.audit'),
  running_since: field.momentOrNull('When the audit began that is running; null for none.', '2026-11-20T09:30:00.000Z'),
  result: field.shapeOrNull('Null before this server has run one.', {
    began_at: field.moment('When it began.', '2026-11-20T09:30:00.000Z'),
    ended_at: field.moment('When it ended.', '2026-11-20T09:30:04.000Z'),
    is_sound: field.flag('Whether nothing is wrong.', true),
    entries: field.count('Rows of the journal.', 120_400),
    reservations: field.count('Holds that the journal has.', 51_020),
    funds: field.count('Windows of budgets, and balances.', 24),
    charged_credits: field.credits('All charges.', 40_210.25),
    corrected_credits: field.figure('Refunds in Credits, negative.', -12.5),
    overrun_credits: field.credits('Billed above holds, and charged to no key.', 0),
    granted_credits: field.figure('Granted to keys, less deductions, in Credits.', 1_000),
    deposited_credits: field.credits('Paid in by wallets.', 0),
    fees_credits: field.figure('Kept of it as fees, in Credits.', 0),
    open: field.count('Holds that are open.', 7),
    held_credits: field.credits('The amount that they hold.', 12.4),
    open_reservations: field.arrayOf(OpenReservation, 'At most 1,000 of them.'),
    findings_count: field.count('Findings.', 0),
    findings: field.arrayOf(Finding, 'At most 1,000 of them.'),
    unpriced: field.count('Charges with an impossible usage or no price, which cannot be computed again.', 0),
    settlements_in_spool: field.count('Settlements that wait for the database, and that the audit lacks.', 0),
    spool_fault: field.textOrNull('Why the file that they wait in cannot be read; null for nothing.', null),
  }),
});
