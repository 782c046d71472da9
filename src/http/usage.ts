import { Elysia, t } from 'elysia';
import type { People } from '../access/people.ts';
import { toCredits } from '../core/credits.ts';
import { SignalboxError } from '../core/errors.ts';
import { usdWriter } from '../core/usd.ts';
import { isTimeZone } from '../core/zoned-time.ts';
import { fundBodies, usesOf } from '../operate/ledger/status.ts';
import type { Principal } from '../operate/principal.ts';
import {
  monthPeriod,
  namesFor,
  ownUsage,
  parseDay,
  servedUsage,
  type UsagePeriod,
  type UsageReport,
  UsageTooLargeError,
  usageBody,
  usageCsv,
  usagePeriod,
} from '../operate/usage.ts';
import { GROUPINGS, type Grouping, parseGrouping } from '../operate/usage-sums.ts';
import type { Gateway } from '../request/gateway.ts';
import { routeDocs } from './docs/route-docs.ts';
import { LABEL_FORM, labelIn, MOMENT_FORM, NOT_EMPTY, queryText, queryTexts, queryWord } from './query.ts';
import type { RouteServices } from './route-services.ts';
import * as schemas from './schemas/ledger.ts';
import { refuseValue } from './terms.ts';

/** Days of a report at most. */
const DAYS_MAX = 366;

const PERIOD_QUERY = {
  from: queryText('The first day, such as `2026-11-01`; 30 days before `to` unless given.', MOMENT_FORM),
  to: queryText('The day after the last one, such as `2026-12-01`; tomorrow unless given.', MOMENT_FORM),
  month: queryText('In place of `from` and `to`: `last`, `this`, or a month such as `2026-11`.', {
    pattern: '^(last|this|\\d{4}-\\d{2})$',
  }),
  time_zone: queryText('IANA name of the zone in which days begin, such as `Europe/Berlin`; UTC unless given.'),
};

/** The report in its other form. */
const CSV = {
  mediaType: 'text/csv',
  description:
    'With `format=csv`, CSV as RFC 4180 has it, with a header: the columns of the groups, of keys, teams and users with `key_name`, `team_name` and `user_name`, then the figures. A text that a spreadsheet would run as a formula begins with a single quote.',
  example:
    'day,team_id,team_name,charges,input_tokens,output_tokens,credits,usd\r\n2026-11-20,team_8f2k,search,214,120400,31250,61.75,0.06175\r\n',
};

interface UsageServices extends Pick<RouteServices, 'gateway' | 'principalOf' | 'sightOf' | 'teamIdOf'> {
  /** Names the teams and users of `GET /admin/usage`. */
  readonly people: People;
}

/** `GET /v1/usage`: the charges of the calling key, and the funds that it draws on. `GET /admin/usage`: those of all keys. */
export const usageRoutes = ({ gateway, principalOf, people, ...services }: UsageServices) =>
  new Elysia({ name: 'usage' })
    .get('/v1/usage', ({ request }) => keyUsage(principalOf(request), gateway, request.url), {
      query: t.Object({
        ...PERIOD_QUERY,
        by: queryText(
          'Adds `groups` by these, with commas: `session`, `agent`, or others of `GET /admin/usage`.',
          NOT_EMPTY,
        ),
      }),
      ...routeDocs({
        access: 'usage.own',
        summary: 'Your own usage',
        description:
          'Returns the charges of this key by day and model, and every budget and balance that its requests spend, with what is left and when it renews; of budgets of each session, the 100 windows that have spent most. A request counts on the day on which it began. `./signalbox ledger export --key … --by day,model` gives the same figures.',
        tag: 'Usage',
        answer: { schema: schemas.UsageReport, description: 'The report.' },
        errorField: 'from',
        errors: ['invalid_value', 'out_of_range'],
      }),
    })
    .get('/admin/usage', ({ request }) => adminUsage(request, { gateway, principalOf, people, ...services }), {
      query: t.Object({
        ...PERIOD_QUERY,
        by: queryText(
          `Groupings, with commas: ${GROUPINGS.join(', ')} and \`label:NAME\`; \`day,model\` unless given. \`team\` is the team that the key belonged to, \`label:team\` the text of its label \`team\`.`,
          NOT_EMPTY,
        ),
        key: queryText(
          'Only charges of the key with this ID, or of this wallet; for a key with the scope `report`, of the keys of this name.',
        ),
        team: queryText('Only charges of keys that belonged to the team with this ID or name.'),
        user: queryText(
          'Only charges of keys that belonged to the user with this ID. A key with the scope `report` is shown no users.',
        ),
        model: queryText('Only charges of the model with this ID.'),
        label: queryTexts(
          'Only charges of keys with this label, as `name=value`. It may be repeated. For the team of keys, use `team`.',
          LABEL_FORM,
        ),
        format: queryWord(['json', 'csv'], '`csv` for a table with a line for each group; `json` unless given.'),
      }),
      ...routeDocs({
        access: 'usage.read',
        summary: 'Usage by groups',
        description:
          'Returns the charges of all keys in a period, grouped by any of the dimensions that the books keep. A request counts on the day on which it began. `./signalbox ledger usage` gives the same figures. With `format=csv` the groups come as a table for a spreadsheet, as `./signalbox ledger export --by` writes them.',
        answer: { schema: schemas.AdminUsage, description: 'The report.', text: CSV },
        errorField: 'by',
        errors: ['invalid_value', 'out_of_range'],
      }),
    });

async function keyUsage(principal: Principal, gateway: Gateway, url: string): Promise<object> {
  const { ledger, lease, now } = gateway;
  const query = new URL(url).searchParams;
  const by = query.get('by');
  const { selectors, models, usdPerCredit } = lease().snapshot;
  const period = periodOf(query, now());
  const grouped = async (groupings: readonly Grouping[]) =>
    usageBody(await reportOf(() => ownUsage(principal, { ledger, usdPerCredit }, { ...period, by: groupings })));
  const { by: _, groups, ...body } = await grouped(['day', 'model']);
  const funds = ledger.fundsOf(principal.caller, [...selectors.keys(), ...models.map(({ id }) => id)]);
  const balance = funds.find(({ title }) => title.kind === 'balance');
  return {
    ...body,
    days: groups.map(({ group: { day: date, model }, ...sums }) => ({ date, model: model || null, ...sums })),
    ...(by !== null && { groups: (await grouped(groupingsOf(by))).groups }),
    funds: fundBodies(usesOf(ledger, funds), now(), usdPerCredit),
    balance_credits: balance ? toCredits(balance.free) : null,
    balance_usd: balance ? usdWriter(usdPerCredit)(balance.free) : null,
  };
}

async function adminUsage(
  request: Request,
  { gateway: { ledger, lease, now }, people, principalOf, sightOf, teamIdOf }: UsageServices,
): Promise<object> {
  const [principal, sight] = [principalOf(request), sightOf(request)];
  const query = new URL(request.url).searchParams;
  const team = query.get('team');
  const wanted = {
    ...periodOf(query, now()),
    by: groupingsOf(query.get('by') ?? 'day,model'),
    keyId: query.get('key'),
    team: team && teamIdOf(team),
    user: query.get('user'),
    model: query.get('model'),
    labels: Object.fromEntries(query.getAll('label').map(labelIn)),
  };
  const source = { ledger, usdPerCredit: lease().snapshot.usdPerCredit, sight };
  const names = namesFor(principal.caller, people);
  const isCsv = formatOf(query) === 'csv';
  const report = await reportOf(() => servedUsage(principal, source, wanted));
  if (!isCsv) return usageBody(report, sight, names);
  const { from, to } = wanted;
  return new Response(usageCsv(report, sight, names), {
    headers: {
      'content-type': `${CSV.mediaType}; charset=utf-8`,
      'content-disposition': `attachment; filename="usage-${from}-${to}.csv"`,
      'cache-control': 'no-store',
    },
  });
}

function formatOf(query: URLSearchParams): 'csv' | 'json' {
  const format = query.get('format') ?? 'json';
  if (format === 'csv' || format === 'json') return format;
  return refuseValue('format', `\`format\` must be csv or json, not \`${format.slice(0, 64)}\`.`);
}

async function reportOf(read: () => Promise<UsageReport>): Promise<UsageReport> {
  try {
    return await read();
  } catch (cause) {
    if (!(cause instanceof UsageTooLargeError)) throw cause;
    const message = `${cause.message} Choose a shorter period or fewer groupings.`;
    throw new SignalboxError('out_of_range', message, { param: 'by', cause });
  }
}

function groupingsOf(text: string): Grouping[] {
  return text.split(',').map((part, at, all) => {
    const grouping = parseGrouping(part.trim());
    if (grouping && all.findIndex((one) => one.trim() === part.trim()) === at) return grouping;
    const form = `${GROUPINGS.join(', ')} and label:NAME, each once`;
    return refuseValue('by', `\`by\` accepts ${form}, not \`${part.slice(0, 64)}\`.`);
  });
}

function periodOf(query: URLSearchParams, now: number): UsagePeriod {
  const timeZone = zoneOf(query);
  const period =
    monthOf(query, timeZone, now) ?? usagePeriod({ from: dayOf(query, 'from'), to: dayOf(query, 'to') }, timeZone, now);
  const { from, to } = period;
  const days = from.until(to).days;
  if (days < 1) refuseValue('to', `\`to\` is ${to}. It must be later than \`from\`, which is ${from}.`);
  if (days <= DAYS_MAX) return period;
  const message = `A report covers at most ${DAYS_MAX} days; from ${from} to ${to} are ${days}.`;
  return refuseValue('from', message, 'out_of_range');
}

function monthOf(query: URLSearchParams, timeZone: string, now: number): UsagePeriod | null {
  const text = query.get('month');
  if (text === null) return null;
  if (query.has('from') || query.has('to')) refuseValue('month', '`month` stands in place of `from` and `to`.');
  const period = monthPeriod(text, timeZone, now);
  if (period && isPlausible(period.from)) return period;
  return refuseValue(
    'month',
    `\`month\` must be \`last\`, \`this\` or a month such as 2026-11, not \`${text.slice(0, 64)}\`.`,
  );
}

function zoneOf(query: URLSearchParams): string {
  const timeZone = query.get('time_zone') ?? 'UTC';
  // The days of an offset such as +01:07 begin amid a quarter of an hour that sums are kept by.
  if (/^[A-Za-z]/.test(timeZone) && isTimeZone(timeZone)) return timeZone;
  const shown = timeZone.slice(0, 64);
  return refuseValue(
    'time_zone',
    `The time zone \`${shown}\` is unknown. Use an IANA name such as UTC or Europe/Berlin.`,
  );
}

/** The entries of the books begin later, and no report reaches further. */
const YEAR_MIN = 2_000;
const YEAR_MAX = 2_200;
const isPlausible = ({ year }: Temporal.PlainDate): boolean => year >= YEAR_MIN && year <= YEAR_MAX;

function dayOf(query: URLSearchParams, name: 'from' | 'to'): Temporal.PlainDate | null {
  const text = query.get(name);
  if (text === null) return null;
  const date = parseDay(text);
  if (date && isPlausible(date)) return date;
  return refuseValue(name, `\`${name}\` must be a day such as 2026-11-20, not \`${text.slice(0, 64)}\`.`);
}
