import { Type } from '@sinclair/typebox';
import * as f from '../core/define/fields.ts';
import type { JournalReader } from '../store/journal-reader.ts';
import { type Operation, type OperationHost, operationsOn, TextAnswer, TextStream } from './kit/operation.ts';
import { FundStatus, type LedgerServices, showLedger } from './ledger.ts';
import { exportedCharges } from './use-cases/charge-export.ts';
import { FUNDS_MAX, type FundUse } from './use-cases/ledger/fund-pages.ts';
import { fundStatus } from './use-cases/ledger/status.ts';
import type { OwnerIds, Owners } from './use-cases/people.ts';
import { holderOf, type Places } from './use-cases/places.ts';
import type { Principal } from './use-cases/principal.ts';
import { GROUPINGS, type Grouping, groupingsIn } from './use-cases/report/grouping.ts';
import { periodOf, type StatedPeriod, type UsagePeriod } from './use-cases/report/period.ts';
import { checkShown, type Sight } from './use-cases/sight.ts';
import { type HolderNames, type UsageQuery, type UsageReport, usageAnswer, usageCsv } from './use-cases/usage.ts';
import { usageRows } from './use-cases/usage-rows.ts';

/** The services for reports on usage and traffic. */
export interface ReportServices {
  sightOf(by: Principal): Sight;
  /** The names of teams and users that the caller may see. */
  namesFor(by: Principal): HolderNames;
  /** Finds the IDs of the team and the user that a filter names. @throws SignalboxError */
  ownersOf(by: Principal, owners: Owners): OwnerIds;
}

export interface UsageServices extends ReportServices, OperationHost {
  /** Returns the report of a running server as far as the caller may see it, or the report of a database. Rejects with SignalboxError. */
  report(by: Principal, query: UsageQuery, sight: Sight): Promise<UsageReport>;
}
const operation = operationsOn<UsageServices>();

/** A day, or a moment that begins with one. */
const MOMENT = { pattern: '^\\d{4}-\\d{2}-\\d{2}' };
const day = (description: string, example: string) =>
  Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description, examples: [example] });

/** The input members that set the period of a report. */
const period = f.allOptional({
  from: f.inCommand(f.formed('The first day, such as `2026-11-01`; by default 30 days before `to`.', MOMENT), {
    form: 'DAY',
  }),
  to: f.inCommand(f.formed('The day after the last day, such as `2026-12-01`; by default tomorrow.', MOMENT), {
    form: 'DAY',
  }),
  month: f.inCommand(
    f.formed('Instead of `from` and `to`: `last`, `this`, or a month such as `2026-11`.', {
      pattern: '^(last|this|\\d{4}-\\d{2})$',
    }),
    { form: 'last' },
  ),
  time_zone: f.inCommand(
    f.text('IANA name of the time zone in which days begin, such as `Europe/Berlin`; by default UTC.'),
    { form: 'ZONE' },
  ),
});

/** The input members that select charges. */
const filters = {
  key: f.optional(
    f.text(
      'Only charges of the key with this ID, or of the wallet with this address. With a key with the scope `report`, use the name of the key.',
    ),
  ),
  team: f.optional(f.text('Only charges of keys that belonged to the team with this ID or name.')),
  user: f.optional(
    f.text(
      'Only charges of keys that belonged to the user with this ID or email address. Not available with a key with the scope `report`.',
    ),
  ),
  model: f.optional(f.text('Only charges of the model with this ID.')),
  label: f.optional(
    f.as(
      'labels',
      f.mapOf(
        Type.String(),
        'Only charges of keys with this label, as `name=value`. If you repeat it, a key must match all labels. To select the team of keys, use `team`.',
      ),
    ),
  ),
};

/** The members of an answer that show its period and up to when it is counted. */
const reported = {
  object: f.always('usage'),
  from: day('The first day.', '2026-10-22'),
  to: day('The day after the last day.', '2026-11-21'),
  time_zone: f.text('IANA name of the time zone in which days begin.', 'UTC'),
  counted_until: f.moment(
    'The sums contain every charge and refund that was stored before this moment. `GET /admin/traffic` shows the same Credits once its `counted_until` is as late.',
  ),
};

const figures = {
  charges: f.count(
    'The number of attempts that were charged. An ordinary request has one. A refund counts as one.',
    214,
  ),
  input_tokens: f.as('input', f.count('Input tokens that were billed.', 120_400)),
  output_tokens: f.as('output', f.count('Output tokens that were billed, including hidden reasoning.', 31_250)),
  credits: f.as('charged', f.credits('Charges, less refunds.', 61.75)),
  usd: f.as('charged', f.usd('The same as `credits`.', '0.06175')),
};
const total = (of: string) => ({
  total_credits: f.as('total', f.credits(`The sum of all ${of}.`, 1_204.5)),
  total_usd: f.as('total', f.usd('The same as `total_credits`.', '1.2045')),
});
const group = {
  group: f.inCommand(
    f.mapOf(
      Type.String(),
      'The value of each grouping for this group: `day`, `month`, `key_id` (`key_name` with a key with the scope `report`), `team_id`, `user_id`, `model`, `provider`, `selector`, `session`, `agent`, `label:NAME`. A value is empty if the charge has none; for example, a refund names no model. `team_id` is the team that the key belonged to, and `label:team` is the text of the key’s label `team`. `key_name`, `team_name` and `user_name` are added to the IDs if there is a name that the caller may see.',
      { key_id: 'k7mw2pq9x4ta', model: 'gpt-6-luna' },
    ),
    { isSpread: true },
  ),
  ...figures,
};
/** The stated costs in the table of the command. */
const statedText = ({ stated_usd, difference_usd }: { readonly stated_usd: string; readonly difference_usd: string }) =>
  `${stated_usd} (${difference_usd.startsWith('-') ? '' : '+'}${difference_usd})`;
const UsageGroup = f.named('UsageGroup', 'The charges of one group.', group);
const AdminUsageGroup = f.named('AdminUsageGroup', 'The charges of one group.', {
  ...group,
  stated_costs: f.inCommand(
    f.as(
      'statedCosts',
      f.shapeOrNull(
        'The costs that providers state in their answers (`usage.cost`), compared with the policy’s prices. They never change a charge. Null if no answer of the group states a cost, and for keys with the scope `report`.',
        {
          stated_credits: f.as('stated', f.credits('What the answers state.', 12.4)),
          stated_usd: f.as('stated', f.usd('The same as `stated_credits`.', '0.0124')),
          own_credits: f.as('matched', f.credits('The costs of the same attempts at the prices of the policy.', 12.5)),
          own_usd: f.as('matched', f.usd('The same as `own_credits`.', '0.0125')),
          difference_credits: f.as('difference', f.credits('`stated_credits` less `own_credits`.', -0.1)),
          difference_usd: f.as('difference', f.usd('The same as `difference_credits`.', '-0.0001')),
        },
      ),
    ),
    { text: statedText },
  ),
});
export const AdminUsage = f.named('AdminUsage', 'The charges of all keys in a period, by groups.', {
  ...reported,
  by: f.list(Type.String(), 'The groupings.', ['key', 'model']),
  ...total('groups'),
  groups: f.list(AdminUsageGroup, 'The groups, sorted by their values; at most 10,000.'),
});

/** The CSV form of the report. */
const CSV = {
  mediaType: 'text/csv',
  description:
    'With `format=csv`, CSV according to RFC 4180 with a header: the columns of the groupings, `key_name`, `team_name` and `user_name` after the IDs of keys, teams and users, then the figures. A text that a spreadsheet would run as a formula begins with a single quote.',
  example:
    'day,team_id,team_name,charges,input_tokens,output_tokens,credits,usd\r\n2026-11-20,team_8f2k,search,214,120400,31250,61.75,0.06175\r\n',
};

const reportUsage = operation({
  name: 'ledger usage',
  use: 'to see who spent how much, and on which models.',
  example: 'ledger usage --month last --by team,model',
  http: 'GET /admin/usage',
  action: 'usage.read',
  summary: 'Show usage by groups',
  details:
    'Returns the charges of all keys in a period, grouped by any dimensions that the ledger stores. A request counts on the day on which it began. With `format=csv`, the answer is a table for a spreadsheet, in the format of `./signalbox ledger export --by`.',
  input: f.closed('Which charges.', {
    ...period,
    by: f.optional(
      f.inCommand(
        f.formed(
          `Groupings, separated by commas: ${GROUPINGS.join(', ')} and \`label:NAME\`; by default \`day,model\`. \`team\` is the team that the key belonged to, and \`label:team\` is the text of the key’s label \`team\`.`,
          { minLength: 1 },
        ),
        {
          help: `Groupings, separated by commas: ${GROUPINGS.join(', ')} and label:NAME; by default day,model.`,
          hasCommas: true,
        },
      ),
    ),
    ...filters,
    format: f.optional(f.word(['json', 'csv'], '`csv` for a table with a line for each group; by default `json`.')),
  }),
  output: AdminUsage,
  answer: 'The report.',
  text: CSV,
  errorField: 'by',
  prints: {
    columns: ['group', 'charges', 'input_tokens', 'output_tokens', 'credits', 'usd', 'stated_costs'],
    rows: usageRows,
    sum: ({ from, to, total_credits, total_usd, counted_until }: Readonly<Record<string, string>>) =>
      `From ${from} to before ${to}: ${total_credits} Credits, ${total_usd} USD.\nCounted until ${f.minuteText(counted_until!)}.\n`,
  },
  async run(
    { report, sightOf, namesFor, ownersOf, usdPerCredit },
    { by: caller, now },
    { by = 'day,model', format, ...stated },
  ) {
    const sight = sightOf(caller);
    const query = { ...chargesOf(stated, { caller, now, sight, ownersOf }), by: groupingsIn(by) };
    const found = await report(caller, query, sight);
    const names = namesFor(caller);
    if (format !== 'csv') return { ...usageAnswer(found, sight, names), countedUntil: now };
    return new TextAnswer(
      usageCsv(found, sight, names, await usdPerCredit()),
      CSV.mediaType,
      `usage-${query.from}-${query.to}.csv`,
    );
  },
});

/** The period and the filters that a caller states. */
type StatedCharges = StatedPeriod &
  Readonly<Partial<Record<'key' | 'team' | 'user' | 'model', string>>> & {
    readonly labels?: Readonly<Record<string, string>>;
  };

/** Reads which charges a caller requests. @throws SignalboxError */
function chargesOf(
  { key, team, user, model, labels = {}, ...stated }: StatedCharges,
  of: { readonly caller: Principal; readonly now: number; readonly sight: Sight } & Pick<ReportServices, 'ownersOf'>,
): Omit<UsageQuery, 'by'> {
  checkShown(of.sight, { user });
  const all = { ...periodOf(stated, of.now), keyId: key ?? null, team: null, user: null, model: model ?? null, labels };
  return { ...all, ...of.ownersOf(of.caller, { team, user }) };
}

/** The services that an export of single charges needs. */
export interface ExportServices extends ReportServices, OperationHost {
  readonly store: { readonly journal: Pick<JournalReader, 'money'> };
  /** Limits how many exports run at once. */
  readonly exports: Places;
}

const CHARGES = {
  mediaType: 'text/csv',
  description: '',
  example:
    'time,decision,kind,key_id,key_name,team_id,team_name,user_id,user_name,model,provider,input_tokens,cached_input_tokens,output_tokens,credits,usd\r\n2026-11-20T09:30:00.000Z,dec_4rT2kQ9xZ1a,settle,k7mw2pq9x4ta,crm,team_8f2k,search,,,gpt-6-luna,openai,1204,0,312,1.25,0.00125\r\n',
};

/** @see `signalbox ledger export`, which has all columns of the ledger, and can run without a server */
export const exportUsage = operationsOn<ExportServices>()({
  name: 'usage export',
  command: false,
  http: 'GET /admin/usage/export',
  action: 'usage.read',
  summary: 'Export single charges as CSV',
  details:
    'Returns a CSV table with a line for each charge and refund that `GET /admin/usage` sums up with the same parameters: its time (when the request began), decision, key, team, user, model, provider, tokens, Credits and USD. Most requests have one charge, of the kind `settle`. An attempt that failed after the provider billed tokens is a `post`, a request that a crash ended is an `expire`, and a refund is a `correct` with negative amounts. A text that a spreadsheet would run as a formula begins with a single quote. A user or key can run 2 exports at once, and a server 8. `./signalbox ledger export` has more columns, and no limit of days.',
  input: f.closed('Which charges.', { ...period, ...filters }),
  output: Type.String({ description: 'CSV according to RFC 4180, with a header.' }),
  answer: 'The table, in the order in which the charges were stored.',
  text: CHARGES,
  errorField: 'from',
  errors: ['rate_limit_exceeded', 'overloaded'],
  async run({ store, exports, sightOf, namesFor, ownersOf, usdPerCredit }, { by: caller, now }, stated) {
    const sight = sightOf(caller);
    const query = chargesOf(stated, { caller, now, sight, ownersOf });
    const sources = { journal: store.journal, sight, nameOf: namesFor(caller), usdPerCredit: await usdPerCredit() };
    const pieces = exportedCharges(caller, sources, query);
    const filename = `charges-${query.from}-${query.to}.csv`;
    return new TextStream(pieces, CHARGES.mediaType, filename, exports.enter(holderOf(caller.caller)));
  },
});

/** The services that a key's report on its own usage needs. */
export interface OwnUsageServices {
  /** Rejects with SignalboxError. */
  ownReport(by: Principal, query: UsagePeriod & Pick<UsageQuery, 'by'>): Promise<UsageReport>;
  /** The funds that pay for requests of the caller. */
  ownFunds(by: Principal): readonly FundUse[];
}

const UsageDay = f.named('UsageDay', 'The charges of one model on one day.', {
  date: day('The day, in `time_zone`, on which the requests began.', '2026-11-20'),
  model: f.orNull(
    f.text('ID of the model; null for refunds, and for requests that ended because a server crashed.', 'gpt-6-luna'),
  ),
  ...figures,
});
export const OwnUsage = f.named('UsageReport', 'The spend of the calling key, and how much it can still spend.', {
  ...reported,
  ...total('days'),
  days: f.list(UsageDay, 'The charges by day, then by model. Days without charges are left out.'),
  groups: f.optional(f.list(UsageGroup, 'With `by`: the same charges in groups, at most 10,000.')),
  funds: f.list(
    FundStatus,
    'The funds that pay for requests of this key: windows of budgets, including shared budgets, and the balance; at most 1,000.',
  ),
  balance_credits: f.as(
    'balance',
    f.orNull(
      f.credits(
        'The amount left in the key’s balance. Null for a key without a balance, whose spend only budgets limit.',
        21.8,
      ),
    ),
  ),
  balance_usd: f.as(
    'balance',
    f.orNull(f.usd('The same as `balance_credits`; null for a key without a balance.', '0.0218')),
  ),
});

export const reportOwnUsage = operationsOn<OwnUsageServices>()({
  name: 'usage',
  command: false,
  http: 'GET /v1/usage',
  action: 'usage.own',
  tag: 'Usage',
  summary: 'Show your own usage',
  details:
    'Returns the charges of this key by day and model. Also returns every budget and balance that pays for its requests, with the amount left and the time of renewal. For budgets with a window for each session, only the 100 windows with the greatest spend are listed. A request counts on the day on which it began. `./signalbox ledger export --key … --by day,model` gives the same figures.',
  input: f.closed('Which charges.', {
    ...period,
    by: f.optional(
      f.formed(
        'Adds `groups` by these dimensions, separated by commas: `session`, `agent`, or others of `GET /admin/usage`.',
        {
          minLength: 1,
        },
      ),
    ),
  }),
  output: OwnUsage,
  answer: 'The report.',
  errorField: 'from',
  async run({ ownReport, ownFunds }, { by: caller, now }, { by, ...stated }) {
    const period = periodOf(stated, now);
    const grouped = async (groupings: readonly Grouping[]) =>
      usageAnswer(await ownReport(caller, { ...period, by: groupings }));
    const funds = ownFunds(caller);
    const balance = funds.find(({ title }) => title.kind === 'balance');
    const { groups, ...report } = await grouped(['day', 'model']);
    return {
      ...report,
      countedUntil: now,
      days: groups.map(({ group: { day: date = '', model }, ...sums }) => ({ date, model: model || null, ...sums })),
      ...(by !== undefined && { groups: (await grouped(groupingsIn(by))).groups }),
      funds: funds.slice(0, FUNDS_MAX).map((use) => fundStatus(use, now)),
      balance: balance ? balance.limit - balance.spent - balance.held : null,
    };
  },
});

/** The operations of `signalbox ledger`. */
export const LEDGER_COMMANDS: readonly Operation<LedgerServices & UsageServices>[] = [showLedger, reportUsage];
