import { Elysia, t } from 'elysia';
import type { Caller } from '../core/caller.ts';
import { type Microcredits, toCredits } from '../core/credits.ts';
import { SignalboxError } from '../core/errors.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { Usage } from '../store/books.ts';
import type { RouteContext } from './context.ts';
import { USAGE_ANSWER } from './docs/examples.ts';
import { operation } from './docs/operation.ts';
import { fundBody } from './ledger.ts';
import { UsageReport } from './schemas/usage.ts';

/** Days of a report, unless it says otherwise, and at most. */
const DAYS = 30;
const DAYS_MAX = 366;

/** `GET /v1/usage`: what the calling key has spent, and what it may still spend. */
export const usageRoutes = ({ gateway, callerOf }: RouteContext) =>
  new Elysia({ name: 'usage' }).get('/v1/usage', ({ request }) => report(gateway, callerOf(request), request.url), {
    query: t.Object({
      from: t.Optional(
        t.String({ description: 'The first day, such as `2026-11-01`; 30 days before `to` unless given.' }),
      ),
      to: t.Optional(
        t.String({ description: 'The day after the last one, such as `2026-12-01`; tomorrow unless given.' }),
      ),
      time_zone: t.Optional(
        t.String({
          description: 'IANA name of the zone in which days begin, such as `Europe/Berlin`; UTC unless given.',
        }),
      ),
    }),
    ...operation({
      summary: 'Your own usage',
      description:
        'What this key was charged, by day and model, and every budget and balance that its requests draw on, with what is left and when it renews. A request counts on the day on which it began. The figures are those of `signalbox ledger export --key … --by day,model`.',
      tag: 'usage',
      answer: { schema: UsageReport, description: 'The report.', example: USAGE_ANSWER },
      errorField: 'from',
      errors: ['invalid_value', 'out_of_range'],
    }),
  });

interface Period {
  readonly from: Temporal.PlainDate;
  /** Exclusive. */
  readonly to: Temporal.PlainDate;
  readonly timeZone: string;
}

async function report({ ledger, lease, now }: Gateway, caller: Caller, url: string): Promise<object> {
  const period = periodOf(new URL(url).searchParams, now());
  const { from, to, timeZone } = period;
  const beginning = (date: Temporal.PlainDate) => date.toZonedDateTime({ timeZone }).epochMilliseconds;
  const used = await ledger.usage(caller.keyId, beginning(from), beginning(to));
  const { selectors, models } = lease().snapshot;
  const funds = ledger.fundsOf(caller, [...selectors.keys(), ...models.map(({ id }) => id)]);
  const balance = funds.find(({ title }) => title.kind === 'balance');
  return {
    object: 'usage',
    from: from.toString(),
    to: to.toString(),
    time_zone: timeZone,
    total_credits: toCredits(used.reduce((sum, { microcredits }) => sum + microcredits, 0)),
    days: byDay(used, timeZone),
    funds: funds.map(fundBody),
    balance_credits: balance ? toCredits(balance.free) : null,
  };
}

function periodOf(query: URLSearchParams, now: number): Period {
  const timeZone = query.get('time_zone') ?? 'UTC';
  const today = todayIn(timeZone, now);
  const to = dayOf(query, 'to') ?? today.add({ days: 1 });
  const from = dayOf(query, 'from') ?? to.subtract({ days: DAYS });
  const days = from.until(to).days;
  if (days < 1)
    throw new SignalboxError('invalid_value', `\`to\` is ${to}, which must be later than ${from}.`, { param: 'to' });
  if (days > DAYS_MAX) {
    const message = `A report has at most ${DAYS_MAX} days; from ${from} to ${to} it has ${days}.`;
    throw new SignalboxError('out_of_range', message, { param: 'from' });
  }
  return { from, to, timeZone };
}

function todayIn(timeZone: string, now: number): Temporal.PlainDate {
  try {
    // Temporal takes offsets such as +01:07, too, whose days begin amid a quarter of an hour that sums are kept by.
    if (!/^[A-Za-z]/.test(timeZone)) throw new RangeError('an offset is no zone');
    return Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timeZone).toPlainDate();
  } catch (cause) {
    const message = `There is no time zone \`${timeZone.slice(0, 64)}\`; one is written UTC or Europe/Berlin.`;
    throw new SignalboxError('invalid_value', message, { param: 'time_zone', cause });
  }
}

/** The entries of the books begin later, and no report reaches further. */
const YEAR_MIN = 2_000;
const YEAR_MAX = 2_200;

function dayOf(query: URLSearchParams, name: 'from' | 'to'): Temporal.PlainDate | null {
  const text = query.get(name);
  if (text === null) return null;
  const date = /^\d{4}-\d{2}-\d{2}$/.test(text) ? dateOrNull(text) : null;
  if (date && date.year >= YEAR_MIN && date.year <= YEAR_MAX) return date;
  const message = `\`${name}\` must be a day such as 2026-11-20, not \`${text.slice(0, 64)}\`.`;
  throw new SignalboxError('invalid_value', message, { param: name });
}

function dateOrNull(text: string): Temporal.PlainDate | null {
  try {
    return Temporal.PlainDate.from(text);
  } catch {
    return null;
  }
}

interface Line {
  readonly date: string;
  readonly model: string | null;
  charges: number;
  input_tokens: number;
  output_tokens: number;
  microcredits: Microcredits;
}

/** Sums by day and model, in that order. */
function byDay(used: readonly Usage[], timeZone: string): object[] {
  const dates = new Map<number, string>();
  const lines = new Map<string, Line>();
  for (const { time, model, charges, input, output, microcredits } of used) {
    let date = dates.get(time);
    if (date === undefined) {
      date = Temporal.Instant.fromEpochMilliseconds(time).toZonedDateTimeISO(timeZone).toPlainDate().toString();
      dates.set(time, date);
    }
    const name = JSON.stringify([date, model ?? '']);
    const line = lines.get(name) ?? { date, model, charges: 0, input_tokens: 0, output_tokens: 0, microcredits: 0 };
    line.charges += charges;
    line.input_tokens += input;
    line.output_tokens += output;
    line.microcredits += microcredits;
    lines.set(name, line);
  }
  return [...lines]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { microcredits, ...line }]) => ({ ...line, credits: toCredits(microcredits) }));
}
