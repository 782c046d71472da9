import { creditsText } from '../../core/text.ts';
import { UsageError } from '../../core/usage-error.ts';
import { usdColumn, usdText } from '../../core/usd.ts';
import { FULL_SIGHT } from '../../operate/sight.ts';
import {
  type HolderNames,
  parseDay,
  type UsageQuery,
  type UsageReport,
  usageBody,
  usagePeriod,
} from '../../operate/usage.ts';
import { columnOf, type Grouping } from '../../operate/usage-sums.ts';
import { needed, pairsOf, parseFlags, SWITCH } from '../arguments.ts';
import { grid } from '../terminal.ts';
import { jsonText } from '../text.ts';
import { ENTRY_FLAGS, groupingsOf, ownersOf } from './export.ts';
import { checkZone, monthOf } from './period.ts';

/** Reads the arguments of `ledger usage`. Throws UsageError. */
export function parseUsage(args: readonly string[], now: number): { query: UsageQuery; json: boolean } {
  const flags = parseFlags(args, { ...ENTRY_FLAGS, json: SWITCH });
  const { from, to, label, model, by = 'day,model', json, 'time-zone': timeZone = 'UTC' } = flags;
  checkZone(timeZone);
  const dates = { from: from === undefined ? null : dateOf(from), to: to === undefined ? null : dateOf(to) };
  const period = monthOf(flags, timeZone, now) ?? usagePeriod(dates, timeZone, now);
  if (Temporal.PlainDate.compare(period.from, period.to) >= 0) {
    throw new UsageError(`--to ${period.to} must be later than --from ${period.from}.`);
  }
  const labels = pairsOf(label, 'A label');
  return { query: { ...period, by: groupingsOf(by), ...ownersOf(flags), model: model ?? null, labels }, json };
}

const dateOf = (text: string): Temporal.PlainDate =>
  needed(parseDay(text), `Write a day such as 2026-11-20, not "${text}". A month is --month 2026-11.`);

/** The report as JSON, or as a table with the sum. */
export function usageText(report: UsageReport, json: boolean, nameOf: HolderNames): string {
  if (json) return jsonText(usageBody(report, FULL_SIGHT, nameOf));
  const { usdPerCredit, total } = report;
  const { by, from, to } = report.query;
  const sum = `From ${from} to before ${to}: ${creditsText(total)}, ${usdText(total, usdPerCredit)}.\n`;
  if (report.groups.length === 0) return sum;
  const figure = (value: number) => value.toLocaleString('en');
  const usd = usdColumn(
    report.groups.map(({ charged }) => charged),
    usdPerCredit,
  );
  const rows = report.groups.map(({ names, charges, input, output, charged }, at) => [
    ...names.map((name, column) => calledBy(by[column]!, name, nameOf)),
    ...[charges, input, output].map(figure),
    creditsText(charged),
    usd[at]!,
  ]);
  const head = [...by.map(columnOf), 'charges', 'input', 'output', 'charged', 'usd'].map((name) => name.toUpperCase());
  return `${grid([head, ...rows], false, (column) => column >= by.length).join('\n')}\n\n${sum}`;
}

/** The cell of a group: its name, and of a team or user the ID and how it is called. */
function calledBy(grouping: Grouping, name: string, nameOf: HolderNames): string {
  const called = grouping === 'team' || grouping === 'user' ? nameOf(grouping, name) : null;
  return called === null ? name || '-' : `${name} (${called})`;
}
