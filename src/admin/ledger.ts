import { Type } from '@sinclair/typebox';
import * as f from '../core/define/fields.ts';
import { operationsOn } from './kit/operation.ts';
import * as terms from './terms.ts';
import { lastAudit, runAudit, type ServerAudits } from './use-cases/ledger/audit.ts';
import { FUNDS_MAX, pageOfFunds } from './use-cases/ledger/fund-pages.ts';
import { fundStatus, type LedgerOverview, overviewNamed } from './use-cases/ledger/status.ts';
import type { Principal } from './use-cases/principal.ts';

/** The services that operations on the ledger use. */
export interface LedgerServices {
  /** The overview of the ledger, from a running server or from a database, as far as the caller may see it. */
  overview(by: Principal): Promise<LedgerOverview>;
}
const operation = operationsOn<LedgerServices>();

const held = (description: string, credits: number, dollars: string) => ({
  held_credits: f.as('held', f.credits(description, credits)),
  held_usd: f.as('held', f.usd('The same as `held_credits`.', dollars)),
});
const MONTH = '2026-11-01T00:00:00.000Z';

export const FundStatus = f.named('FundStatus', 'A window of a budget, or the balance of a key.', {
  kind: f.word(
    ['budget', 'balance'],
    '`budget`: a limit of the policy, or of a key, user or team. `balance`: money granted to a key.',
  ),
  name: f.text(
    'The name of the budget, or the ID of the key that has the balance. With a key with the scope `report`, the name of that key.',
    'team-month',
  ),
  title: f.text(
    'The name of the budget or balance for people. It contains the name of the team, user or key if there is one.',
    'month of team search, Berlin time',
  ),
  subject: f.text('Whose share of the budget this is, for a budget with `each`. Empty for a shared budget.', 'search'),
  subject_name: f.orNull(
    f.text(
      'The current name of the key, team or user whose ID is `subject`; null if `subject` is no such ID, or if the caller may not see the name.',
      'search',
    ),
  ),
  subject_kind: f.orNull(
    f.word(
      ['key', 'team', 'user'],
      'What `subject` is the ID of; null if it is none, or if the server does not know it.',
    ),
  ),
  holder: f.orNull(
    f.word(
      ['organization', 'team', 'user', 'key'],
      'The kind of holder that the budget belongs to. Null for a budget of the policy, and for a balance.',
    ),
  ),
  limit_credits: f.as('limit', f.credits('The limit of the window, or all Credits granted.', 50_000)),
  limit_usd: f.as('limit', f.usd('The same as `limit_credits`.', '50')),
  ...terms.spent('Charged so far.', 31_204.5, '31.2045'),
  ...held('Credits held by running requests.', 12.4, '0.0124'),
  ...terms.left(
    'Credits that are available now; negative if the limit was lowered below the spend.',
    18_783.1,
    '18.7831',
  ),
  ...terms.forecast(52_010.5, '52.0105', '2026-11-04T00:00:00.000Z'),
  runs_out_at: f.orNull(
    f.moment(
      'When the fund runs out at the average rate of the window or at the rate of the last 24 hours, whichever is sooner. Null if all of it is spent already, if it refuses requests, if it does not run out before the window ends, before `forecast_from`, and for a total or a balance.',
      '2026-11-28T14:00:00.000Z',
    ),
  ),
  refuses_since: f.orNull(
    f.moment(
      'Since when this server refuses requests because too little of the fund is left, although it is not used up. Null if the fund is used up or has paid since, and after a restart until the next refusal.',
      '2026-11-28T13:20:00.000Z',
    ),
  ),
  least_request_credits: f.as(
    'leastRequest',
    f.orNull(
      f.credits(
        'What a short request needs from the budget with the cheapest model, if that is more than the limit, so that no usual request fits. Null if a usual request fits, or if the server does not know it.',
        1.6,
      ),
    ),
  ),
  least_request_usd: f.as('leastRequest', f.orNull(f.usd('The same as `least_request_credits`.', '0.0016'))),
  open_reservations: f.count('The number of running requests that hold Credits of this fund.', 3),
  oldest_reservation_seconds: f.orNull(
    Type.Number({
      description: 'How long the oldest of these requests has held Credits, in seconds; null if there is none.',
      examples: [4.2],
    }),
  ),
  starts: f.orNull(f.moment('When the window began. Null for a total or a balance.', MONTH)),
  renews_at: f.inCommand(
    f.orNull(f.moment('When the next window begins. Null for never.', '2026-12-01T00:00:00.000Z')),
    { none: 'never' },
  ),
});

export const LedgerStatus = f.named('LedgerStatus', 'The current state of the ledger.', {
  charged_credits: f.as(
    'charged',
    f.credits('All charges minus refunds; with `name`, only charges to these funds.', 40_210.25),
  ),
  charged_usd: f.as('charged', f.usd('The same as `charged_credits`.', '40.21025')),
  ...held('The amount that running requests hold; with `name`, only of these funds.', 12.4, '0.0124'),
  open_reservations: f.as(
    'open',
    f.count('The number of running requests; with `name`, only requests that hold Credits of these funds.', 7),
  ),
  funds: f.list(
    FundStatus,
    'First the budgets that are used up or fit no request and the funds that refuse requests, then the funds that run out first, then the fullest; at most 1,000. A budget of the policy that no request has used yet has an empty subject.',
  ),
  funds_total: f.count('The number of funds.', 3),
  has_more: f.flag('Whether more funds follow.', false),
  next_after: f.orNull(f.text('The value of `after` for the next page; null on the last page.')),
});

export const showLedger = operation({
  name: 'ledger status',
  use: 'to see which budgets are about to run out.',
  example: 'ledger status --limit 20',
  http: 'GET /admin/ledger',
  action: 'ledger.read',
  summary: 'Show charges, holds and funds',
  details:
    'Returns all charges and the amounts that running requests hold. Also returns every budget window and balance: how much is left, when it runs out at the current rate, since when it refuses requests, how many requests hold it and since when, and when it renews. The budgets that are used up or fit no request and the funds that refuse requests come first, then the funds that run out first, then the fullest. The list includes budgets of teams, users and keys that no request has used yet.',
  input: f.closed('Which funds.', {
    name: f.optional(f.text('Only funds with this name. If there are none, the operation returns an error.')),
    limit: f.pageSize({ most: FUNDS_MAX, unlessGiven: FUNDS_MAX }),
    after: f.optional(f.formed('`next_after` of the previous page.', { minLength: 1 })),
  }),
  output: LedgerStatus,
  answer: 'The status.',
  errorField: 'after',
  errors: ['not_found'],
  prints: {
    columns: [
      ...['title', 'name', 'limit_credits', 'limit_usd', 'spent_credits', 'held_credits'],
      ...['spent_usd', 'runs_out_at', 'refuses_since', 'least_request_credits', 'open_reservations', 'renews_at'],
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

const OpenReservation = f.shape('An open hold.', {
  decision: f.textOrNull('ID of the decision that the hold belongs to.', 'dec_0a4x1wm3zk0'),
  seq: f.count('The number of the journal row that opened the hold.', 48_213),
  key_id: f.textOrNull('ID of the key or address of the wallet; null if the ledger does not have it.', '4f2k9d1m'),
  reserved_credits: f.credits('Reserved.', 12.4),
  charged_credits: f.credits('Credits of the hold that were charged so far.', 0),
  age_ms: f.figure('Time since the request began, ms.', 4_200),
});

const Finding = f.shape('A contradiction that a correct ledger cannot have.', {
  kind: f.text('The kind of finding.', 'wrong_spend'),
  seq: f.wholeOrNull('The number of the journal row; null if the finding is not about a row.', 48_213),
  decision: f.textOrNull('ID of the decision; null if the finding is not about a decision.', 'dec_0a4x1wm3zk0'),
  message: f.text('The contradiction, with amounts in microcredits.', 'charges 120, but only 100 were left'),
});

export const LedgerAudit = f.named('LedgerAudit', 'The last audit of the ledger by this server.', {
  object: f.always('ledger.audit'),
  running_since: f.textOrNull(
    'When the running audit began; null if no audit is running. ISO 8601, UTC.',
    '2026-11-20T09:30:00.000Z',
  ),
  result: f.shapeOrNull('The result; null if this server has not finished an audit yet.', {
    began_at: f.moment('When the audit began.', '2026-11-20T09:30:00.000Z'),
    ended_at: f.moment('When the audit ended.', '2026-11-20T09:30:04.000Z'),
    is_sound: f.flag('True if the audit found nothing wrong.', true),
    entries: f.count('The number of journal rows.', 120_400),
    reservations: f.count('The number of holds in the journal.', 51_020),
    funds: f.count('The number of budget windows and balances.', 24),
    charged_credits: f.credits('All charges.', 40_210.25),
    corrected_credits: f.figure('The sum of refunds in Credits, as a negative number.', -12.5),
    overrun_credits: f.credits('Amounts that providers billed above holds and that no key pays.', 0),
    granted_credits: f.figure('Credits granted to keys, minus deductions.', 1_000),
    deposited_credits: f.credits('Credits that wallets paid in.', 0),
    fees_credits: f.figure('The part of these payments that was kept as fees, in Credits.', 0),
    open: f.count('The number of open holds.', 7),
    held_credits: f.credits('The amount of the open holds.', 12.4),
    open_reservations: f.list(OpenReservation, 'Open holds, at most 1,000.'),
    findings_count: f.count('Findings.', 0),
    findings: f.list(Finding, 'Findings, at most 1,000.'),
    unpriced: f.count(
      'Charges without a price or with an impossible token count. The cost of these charges cannot be verified.',
      0,
    ),
    settlements_in_spool: f.count(
      'Settlements in the spool file that wait for the database. The audit does not include them.',
      0,
    ),
    spool_fault: f.textOrNull('Why the spool file cannot be read; null if it can be read.', null),
    ledger_fault: f.textOrNull(
      'Why the database is not the ledger of the data folder, or which entries it has lost; null if it is and has all.',
      null,
    ),
  }),
});

/** The services that operations on audits use. */
export interface AuditServices {
  readonly audits: ServerAudits;
}
const auditOperation = operationsOn<AuditServices>();
const AUDIT = { action: 'ledger.audit', output: f.onWire(LedgerAudit), answer: 'The audit.', command: false } as const;

/** Audits the ledger in a running server. `signalbox ledger audit` also works without a server. */
export const auditNow = auditOperation({
  ...AUDIT,
  name: 'ledger audit',
  http: 'POST /admin/ledger/audit',
  isLong: true,
  summary: 'Audit the ledger',
  details:
    'Verifies the whole journal with independent code, as `./signalbox ledger audit` does, and returns the findings when it is done. Requests continue in parallel. Only one audit runs at a time: a request during an audit gets the result of that audit. The server stops an audit after 10 minutes. If that happens, run the command with `--offline`, or on a copy of the database.',
  run: ({ audits }, { by }) => runAudit(by, audits),
});

/** The operations that audit the ledger in a running server. */
export const AUDIT_OPERATIONS = [
  auditOperation({
    ...AUDIT,
    name: 'ledger audit show',
    http: 'GET /admin/ledger/audit',
    summary: 'Show the last audit of the ledger',
    details:
      'Returns the result of the last audit that this server ran, and whether an audit is running. After a restart, there is no result yet.',
    run: async ({ audits }, { by }) => lastAudit(by, audits),
  }),
  auditNow,
];
