import { type Writer, writeTable } from '../../admin/use-cases/csv.ts';
import { groupingsIn } from '../../admin/use-cases/report/grouping.ts';
import type { Sight } from '../../admin/use-cases/sight.ts';
import type { StoredNames } from '../../admin/use-cases/stored-names.ts';
import { entriesOf, groupColumns, groupOf, keyName, learnKeys, storedPages } from '../../admin/use-cases/usage.ts';
import { type UsageGroup, UsageSums } from '../../admin/use-cases/usage-sums.ts';
import { toCredits } from '../../core/money/credits.ts';
import { TOKEN_UNITS } from '../../core/money/units.ts';
import { COLUMNS, columnOf, exportedLines, type Line, usdCell } from '../../ledger/export/export.ts';
import type { JournalReader, MoneyEntry } from '../../store/journal-reader.ts';
import { COMMAS, choiceOf, LIST, pairsOf, parseFlags, TEXT } from '../arguments.ts';
import { flagMonth, flagPeriod, inFlags } from './period.ts';

/** The flags that select and group entries of the ledger. */
const ENTRY_FLAGS = {
  from: TEXT,
  to: TEXT,
  month: TEXT,
  'time-zone': TEXT,
  key: TEXT,
  team: TEXT,
  user: TEXT,
  label: LIST,
  model: TEXT,
  by: COMMAS,
};

/**
 * Reads the arguments, before a database is opened.
 * @param now ms since 1970
 * @throws UsageError
 */
export function parseExport(args: readonly string[], now: number) {
  const flags = parseFlags(args, { ...ENTRY_FLAGS, format: TEXT });
  const { 'time-zone': timeZone = 'UTC', by } = flags;
  const format = choiceOf('--format', flags.format ?? 'csv', ['csv', 'json']);
  const period = flagMonth(flags, timeZone, now) ?? flagPeriod(flags.from, flags.to, timeZone);
  const labels = pairsOf(flags.label, 'A label');
  const { key: keyId = null, team = null, user = null, model = null } = flags;
  const filter = { ...period, keyId, team, user, model, labels };
  // Without --by, the export has a line for each entry.
  return { filter, by: by === undefined ? null : inFlags(() => groupingsIn(by)), timeZone, format };
}

/** The command writes the export page by page, because an export may be larger than the memory. */
export async function writeExport(
  { filter, by, timeZone, format }: ReturnType<typeof parseExport>,
  journal: Pick<JournalReader, 'money' | 'usdPerCredit'>,
  { nameOf, sight }: StoredNames,
  write: Writer,
): Promise<void> {
  const unit = await journal.usdPerCredit();
  if (by) {
    const sums = new UsageSums(by, timeZone);
    for await (const page of storedPages(journal, filter)) for (const spending of page) sums.add(spending);
    const usd = usdCell(unit);
    const groups = sums.groups();
    await learnKeys(sight, by, groups);
    const lines = groups.map((group) => sumLine(groupOf(by, group.names, nameOf, sight), group, usd));
    return writeTable([...groupColumns(by, sight), ...SUM_COLUMNS], [lines], format, write);
  }
  const lineOf = exportedLines(unit);
  const namedLineOf = (entry: MoneyEntry): Line => ({
    ...lineOf(entry),
    key_name: keyName(entry.keyId, sight),
    team_name: nameOf('team', entry.team),
    user_name: nameOf('user', entry.user),
  });
  return writeTable(
    [...COLUMNS, 'key_name', 'team_name', 'user_name'],
    linesOf(entriesOf(journal, filter), sight, namedLineOf),
    format,
    write,
  );
}

async function* linesOf(pages: ReturnType<typeof entriesOf>, sight: Sight, lineOf: ReturnType<typeof exportedLines>) {
  for await (const page of pages) {
    await sight.learn(page.map(({ keyId }) => keyId));
    yield page.map(lineOf);
  }
}

const SUM_COLUMNS = [
  ...['charges', ...TOKEN_UNITS.map(columnOf)],
  ...['credits', 'usd', 'overrun_credits', 'overrun_usd'],
];

const sumLine = (group: Line, sums: UsageGroup, usd: ReturnType<typeof usdCell>): Line => ({
  ...group,
  charges: sums.charges,
  ...Object.fromEntries(TOKEN_UNITS.map((unit) => [columnOf(unit), sums[unit]])),
  credits: toCredits(sums.charged),
  usd: usd(sums.charged),
  overrun_credits: toCredits(sums.overrun),
  overrun_usd: usd(sums.overrun),
});
