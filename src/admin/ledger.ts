import { Type } from '@sinclair/typebox';
import * as parts from '../core/api/parts.ts';
import * as f from './kit/fields.ts';
import { operationsOn } from './kit/operation.ts';
import * as terms from './terms.ts';
import { lastAudit, runAudit, type ServerAudits } from './use-cases/ledger/audit.ts';
import { FUNDS_MAX, pageOfFunds } from './use-cases/ledger/fund-pages.ts';
import { fundStatus, type LedgerOverview, overviewNamed } from './use-cases/ledger/status.ts';
import type { Principal } from './use-cases/principal.ts';

/** The services that operations on the ledger use. */
export interface LedgerServices {
  /** The overview of a running ledger as far as the caller may see it, or of a database. */
  overview(by: Principal): Promise<LedgerOverview>;
}
const operation = operationsOn<LedgerServices>();

const held = (description: string, credits: number, dollars: string) => ({
  held_credits: f.as('held', f.credits(description, credits)),
  held_usd: f.as('held', f.usd('The same as `held_credits`.', dollars)),
});
const MONTH = '2026-11-01T00:00:00.000Z';

export const FundStatus = f.named('FundStatus', 'A window of a budget, or the balance of a key.', {
  kind: f.word(['budget', 'balance'], 'A limit of the policy, or money granted to a key.'),
  name: f.text('Of the budget; ID of the key, or its name for a key with the scope `report`.', 'team-month'),
  subject: f.text('The caller that the share belongs to, by the budget’s `each`. Empty for a shared budget.', 'search'),
  subject_name: f.orNull(
    f.text(
      'How the key, team or user that `subject` is the ID of is called now; null where it is no such ID, or the caller may not see the name.',
      'search',
    ),
  ),
  holder: f.orNull(
    f.word(
      ['organization', 'team', 'user', 'key'],
      'Of which kind of holder the budget is. Null for a budget of the policy, and for a balance.',
    ),
  ),
  limit_credits: f.as('limit', f.credits('The limit of the window, or all Credits granted.', 50_000)),
  limit_usd: f.as('limit', f.usd('The same as `limit_credits`.', '50')),
  ...terms.spent('Charged so far.', 31_204.5, '31.2045'),
  ...held('Held by requests that are running.', 12.4, '0.0124'),
  ...terms.left('Free now; negative after the limit was lowered.', 18_783.1, '18.7831'),
  ...terms.forecast(52_010.5, '52.0105', '2026-11-04T00:00:00.000Z'),
  runs_out_at: f.orNull(
    f.moment(
      'When it is spent at the rate so far; null where that is not before the window ends, before `forecast_from`, and for a total or a balance. The past where it is spent already.',
      '2026-11-28T14:00:00.000Z',
    ),
  ),
  open_reservations: f.count('Running requests that hold it.', 3),
  oldest_reservation_seconds: f.orNull(
    Type.Number({
      description: 'For how long the oldest of them has held it, in seconds; null for none.',
      examples: [4.2],
    }),
  ),
  starts: f.orNull(f.moment('When the window began. Null for a total or a balance.', MONTH)),
  renews_at: f.inCommand(
    f.orNull(f.moment('When the next window begins. Null for never.', '2026-12-01T00:00:00.000Z')),
    { none: 'never' },
  ),
});

export const LedgerStatus = f.named('LedgerStatus', 'The current state of the books.', {
  charged_credits: f.as(
    'charged',
    f.credits('All charges, less refunds; with `name`, those that its funds count.', 40_210.25),
  ),
  charged_usd: f.as('charged', f.usd('The same as `charged_credits`.', '40.21025')),
  ...held('The reserved amount of open requests; with `name`, of its funds.', 12.4, '0.0124'),
  open_reservations: f.as('open', f.count('Requests that are running; with `name`, those that hold its funds.', 7)),
  funds: f.list(
    FundStatus,
    'The first to run out first, then the fullest; at most 1,000. A budget of the policy that nothing has drawn on is one of no subject.',
  ),
  funds_total: f.count('The number of funds.', 3),
  has_more: f.flag('Whether more follow.', false),
  next_after: f.orNull(f.text('The value of `after` for the next page; null on the last.')),
});

export const showLedger = operation({
  name: 'ledger status',
  http: 'GET /admin/ledger',
  action: 'ledger.read',
  summary: 'Charges, holds and funds',
  details:
    'Returns all charges, the amounts reserved by running requests, and every budget window and balance, with what is left, when it runs out at the rate so far, how many requests hold it and since when, and when it renews: the first to run out first, then the fullest. Budgets of teams, users and keys are listed before they are used, too.',
  input: f.body('Which funds.', {
    name: f.optional(f.text('Only funds of this name; an error if there are none.')),
    limit: f.pageSize({ most: FUNDS_MAX, unlessGiven: FUNDS_MAX }),
    after: f.optional(f.formed('`next_after` of the page before.', { minLength: 1 })),
  }),
  output: LedgerStatus,
  answer: 'The status.',
  errorField: 'after',
  errors: ['not_found'],
  prints: {
    columns: [
      ...['kind', 'name', 'subject', 'subject_name', 'limit_credits', 'spent_credits', 'held_credits'],
      ...['spent_usd', 'runs_out_at', 'open_reservations', 'renews_at'],
    ],
    sum: (body: Readonly<Record<string, unknown>>) =>
      `${body.charged_credits} Credits (${body.charged_usd} USD) charged, ${body.held_credits} Credits held by ${body.open_reservations} open request${body.open_reservations === 1 ? '' : 's'}.\n`,
  },
  async run({ overview }, { by, now }, { name, limit = FUNDS_MAX, after = null }) {
    const { usdPerCredit: _, funds: all, ...sums } = overviewNamed(await overview(by), name);
    const page = pageOfFunds(all, { limit, after }, now, (use) => fundStatus(use, now));
    return { ...sums, ...page, fundsTotal: all.length };
  },
});

const OpenReservation = parts.shape('A hold that is open.', {
  decision: parts.textOrNull('ID of its decision.', 'dec_0a4x1wm3zk0'),
  seq: parts.count('The row of the journal that opened it.', 48_213),
  key_id: parts.textOrNull('ID of the key or address of the wallet; null where the books lack it.', '4f2k9d1m'),
  reserved_credits: parts.credits('Reserved.', 12.4),
  charged_credits: parts.credits('Charged of it so far.', 0),
  age_ms: parts.figure('Since the request began, ms.', 4_200),
});

const Finding = parts.shape('A contradiction that correct books cannot have.', {
  kind: parts.text('Its kind.', 'wrong_spend'),
  seq: parts.wholeOrNull('The row of the journal; null where it is about none.', 48_213),
  decision: parts.textOrNull('ID of the decision; null where it is about none.', 'dec_0a4x1wm3zk0'),
  message: parts.text('The contradiction, in microcredits.', 'charges 120, but only 100 were left'),
});

export const LedgerAudit = parts.named('LedgerAudit', 'The last audit of the books by this server.', {
  object: parts.always('ledger.audit'),
  running_since: parts.momentOrNull('When the audit began that is running; null for none.', '2026-11-20T09:30:00.000Z'),
  result: parts.shapeOrNull('Null before this server has run one.', {
    began_at: parts.moment('When it began.', '2026-11-20T09:30:00.000Z'),
    ended_at: parts.moment('When it ended.', '2026-11-20T09:30:04.000Z'),
    is_sound: parts.flag('Whether nothing is wrong.', true),
    entries: parts.count('Rows of the journal.', 120_400),
    reservations: parts.count('Holds that the journal has.', 51_020),
    funds: parts.count('Windows of budgets, and balances.', 24),
    charged_credits: parts.credits('All charges.', 40_210.25),
    corrected_credits: parts.figure('Refunds in Credits, negative.', -12.5),
    overrun_credits: parts.credits('Billed above holds, and charged to no key.', 0),
    granted_credits: parts.figure('Granted to keys, less deductions, in Credits.', 1_000),
    deposited_credits: parts.credits('Paid in by wallets.', 0),
    fees_credits: parts.figure('Kept of it as fees, in Credits.', 0),
    open: parts.count('Holds that are open.', 7),
    held_credits: parts.credits('The amount that they hold.', 12.4),
    open_reservations: parts.arrayOf(OpenReservation, 'At most 1,000 of them.'),
    findings_count: parts.count('Findings.', 0),
    findings: parts.arrayOf(Finding, 'At most 1,000 of them.'),
    unpriced: parts.count('Charges with an impossible usage or no price, which cannot be computed again.', 0),
    settlements_in_spool: parts.count('Settlements that wait for the database, and that the audit lacks.', 0),
    spool_fault: parts.textOrNull('Why the file that they wait in cannot be read; null for nothing.', null),
  }),
});

/** The services that operations on audits use. */
export interface AuditServices {
  readonly audits: ServerAudits;
}
const auditOperation = operationsOn<AuditServices>();
const AUDIT = { action: 'ledger.audit', output: LedgerAudit, answer: 'The audit.', command: false } as const;

/** The proof of the books by a running server. `signalbox ledger audit` needs no server. */
export const AUDIT_OPERATIONS = [
  auditOperation({
    ...AUDIT,
    name: 'ledger audit show',
    http: 'GET /admin/ledger/audit',
    summary: 'The last audit of the books',
    details:
      'Returns the result of the last audit that this server ran, and whether one is running. A server that was restarted has none.',
    run: async ({ audits }, { by }) => lastAudit(by, audits),
  }),
  auditOperation({
    ...AUDIT,
    name: 'ledger audit',
    http: 'POST /admin/ledger/audit',
    isLong: true,
    summary: 'Audit the books',
    details:
      'Reads the whole journal with code of its own, as `./signalbox ledger audit` does, and returns the findings when it is done: in parallel with requests, one audit at a time. A request that comes while one runs gets its result. An audit that takes longer than 10 minutes is ended; run the command on a copy then.',
    run: ({ audits }, { by }) => runAudit(by, audits),
  }),
];
