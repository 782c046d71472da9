import { setImmediate } from 'node:timers/promises';
import type { PeopleCopy } from '../access/people-copy.ts';
import { labelsOf } from '../accounting/entry.ts';
import { windowAt } from '../accounting/window.ts';
import { type Caller, roleOf } from '../core/caller.ts';
import { type Microcredits, toCredits } from '../core/credits.ts';
import { usdWriter } from '../core/usd.ts';
import { moneyEntries } from '../ledger/export/export.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { JournalReader } from '../store/journal-reader.ts';
import { csvTable } from './csv.ts';
import type { Principal } from './principal.ts';
import { checkAction, reachOf } from './roles.ts';
import { FULL_SIGHT, type Sight } from './sight.ts';
import { columnOf, type Grouping, NO_FIGURES, type UsageGroup, UsageSums } from './usage-sums.ts';

/** A period of whole days. */
export interface UsagePeriod {
  readonly from: Temporal.PlainDate;
  /** Exclusive. */
  readonly to: Temporal.PlainDate;
  /** IANA name of the zone in which days begin. */
  readonly timeZone: string;
}

/** The usage that an operator, or a key, asks for. A request counts on the day on which it began. */
export interface UsageQuery extends UsagePeriod {
  readonly by: readonly Grouping[];
  /** Null for all keys. */
  readonly keyId: string | null;
  /** IDs of the team and the user that the key belonged to; null for all. */
  readonly team: string | null;
  readonly user: string | null;
  /** ID of the model; null for all. */
  readonly model: string | null;
  /** Labels that the keys must have. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Reads a day such as `2026-11-20`; null for any other text. */
export function parseDay(text: string): Temporal.PlainDate | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  try {
    return Temporal.PlainDate.from(text);
  } catch {
    return null;
  }
}

/** Days of a report, unless it names its period. */
const DAYS = 30;

/** Returns the day on which it is `now`, ms since 1970. */
const todayIn = (timeZone: string, now: number): Temporal.PlainDate =>
  Temporal.Instant.fromEpochMilliseconds(now).toZonedDateTimeISO(timeZone).toPlainDate();

/** Reads a month such as `2026-11`, `this` or `last`, of the calendar of a zone; null for any other text. */
export function monthPeriod(text: string, timeZone: string, now: number): UsagePeriod | null {
  const ago = ['this', 'last'].indexOf(text);
  const named = ago < 0 ? parseDay(`${text}-01`) : todayIn(timeZone, now).with({ day: 1 }).subtract({ months: ago });
  return named && { from: named, to: named.add({ months: 1 }), timeZone };
}

/** Completes a period: 30 days that end with today unless they are named. */
export function usagePeriod(
  { from, to }: { readonly from: Temporal.PlainDate | null; readonly to: Temporal.PlainDate | null },
  timeZone: string,
  now: number,
): UsagePeriod {
  const end = to ?? todayIn(timeZone, now).add({ days: 1 });
  return { from: from ?? end.subtract({ days: DAYS }), to: end, timeZone };
}

/** Usage by groups. */
export interface UsageReport {
  readonly query: UsageQuery;
  /** The worth of a Credit; null in a ledger that never had a policy. */
  readonly usdPerCredit: string | null;
  readonly total: Microcredits;
  readonly groups: readonly UsageGroup[];
}

/** A running server's usage. */
export interface UsageSource {
  readonly ledger: Pick<Ledger, 'usage'>;
  /** Of its policy. */
  readonly usdPerCredit: string;
  readonly sight: Sight;
}

/** Groups of a report at most, so that its size is bounded. */
const GROUPS_MAX = 10_000;

/** A report with more than GROUPS_MAX groups. */
export class UsageTooLargeError extends Error {
  override readonly name = 'UsageTooLargeError';
}

/**
 * Reports the usage that a running server knows, as far as an asker may see it: `keyId` is a name where IDs are hidden.
 * @throws UsageTooLargeError, by rejecting.
 */
export async function servedUsage(
  by: Principal,
  { ledger, usdPerCredit, sight }: UsageSource,
  query: UsageQuery,
): Promise<UsageReport> {
  const ids = await sight.idsWithin(checkAction(by.caller, 'usage.read'));
  return await usageIn(ledger, query, usdPerCredit, sight, ids);
}

/** Reports the usage of the asking key, or wallet. @throws UsageTooLargeError, by rejecting. */
export async function ownUsage(
  { caller }: Principal,
  { ledger, usdPerCredit }: Omit<UsageSource, 'sight'>,
  query: UsagePeriod & Pick<UsageQuery, 'by'>,
): Promise<UsageReport> {
  checkAction(caller, 'usage.own');
  const own = { ...query, keyId: caller.keyId, team: null, user: null, model: null, labels: {} };
  return await usageIn(ledger, own, usdPerCredit, FULL_SIGHT, null);
}

async function usageIn(
  ledger: UsageSource['ledger'],
  query: UsageQuery,
  usdPerCredit: string,
  sight: Sight,
  ids: ReadonlySet<string> | null,
): Promise<UsageReport> {
  const { by, timeZone, keyId, team, user, model, labels } = query;
  const sums = new UsageSums(by, timeZone);
  const owner = {
    ...(sight.isNarrow ? { keyId: null, team, user: null } : { keyId, team, user }),
    ...{ keyIds: ids, hasRuns: by.some((grouping) => RUNS.includes(grouping)) },
  };
  const wanted = Object.entries(labels);
  const isOfAll = [owner.keyIds, team, owner.user].every((one) => one === null);
  for (const window of windowsOf(
    query,
    owner.keyId === null ? SLICE_MS[isOfAll ? 'all' : 'owner'] : Number.POSITIVE_INFINITY,
  )) {
    // Requests are served between slices.
    await setImmediate();
    const found = await ledger.usage({ ...owner, ...window });
    await sight.learn(found.map(({ dimensions: { key = '' } }) => key));
    for (const charges of found) {
      if (model !== null && charges.model !== model) continue;
      const { key = '', selector = '' } = charges.dimensions;
      if (ids && !ids.has(key)) continue;
      const ofKey = labelsOf(charges.dimensions);
      const shown = sight.keyOf(key);
      if (keyId !== null && shown !== keyId) continue;
      const { session = '', agent = '' } = sight.showsRunsOf(key, ofKey) ? charges.dimensions : {};
      if (wanted.some(([name, value]) => (ofKey[name] ?? '') !== value)) continue;
      // A person is not named to those who are shown no IDs.
      const ofUser = sight.isNarrow ? '' : (charges.dimensions.user ?? '');
      if (user !== null && ofUser !== user) continue;
      sums.add({
        // The sums of a running server do not tell all figures apart.
        ...NO_FIGURES,
        ...charges,
        ...{ keyId: shown, team: charges.dimensions.team ?? '', user: ofUser, labels: ofKey, selector, session, agent },
        moment: window.from,
        model: charges.model ?? '',
        provider: charges.provider ?? '',
        charged: charges.microcredits,
      });
    }
    checkSize(sums);
  }
  return reportOf(query, sums, usdPerCredit);
}

/**
 * Reports the usage that a database knows, with or without a server.
 * @throws UsageTooLargeError, by rejecting, and StoreError.
 */
export async function storedUsage(
  asker: Principal,
  journal: Pick<JournalReader, 'money' | 'usdPerCredit'>,
  query: UsageQuery,
): Promise<UsageReport> {
  checkAction(asker.caller, 'usage.read');
  const { by, timeZone, keyId, team, user, model, labels } = query;
  const sums = new UsageSums(by, timeZone);
  for await (const page of moneyEntries(journal, { ...spanOf(query), keyId, team, user, model, labels })) {
    for (const entry of page) sums.addEntry(entry);
    checkSize(sums);
  }
  return reportOf(query, sums, await journal.usdPerCredit());
}

function checkSize({ size }: UsageSums): void {
  if (size > GROUPS_MAX) throw new UsageTooLargeError(`The report would have more than ${GROUPS_MAX} groups.`);
}

function reportOf(query: UsageQuery, sums: UsageSums, usdPerCredit: string | null): UsageReport {
  const groups = sums.groups();
  return { query, usdPerCredit, total: groups.reduce((sum, { charged }) => sum + charged, 0), groups };
}

type Span = ReturnType<typeof spanOf>;

/** Returns the stretch of time of a period, ms since 1970; `to` is exclusive. */
export function spanOf({ from, to, timeZone }: UsagePeriod) {
  const beginning = (date: Temporal.PlainDate) => date.toZonedDateTime({ timeZone }).epochMilliseconds;
  return { from: beginning(from), to: beginning(to) };
}

/** What a key tells apart by itself. */
const RUNS: readonly Grouping[] = ['selector', 'session', 'agent'];

/** The books are read in slices, each of which blocks the server for some 50 ms where they have ten million requests a month. */
const SLICE_MS = { all: 86_400_000, owner: 5 * 86_400_000 } as const;

/** The days or months that groups are named by, one after the other; else the whole period. All in slices of a length at most. */
function* windowsOf(query: UsageQuery, sliceMs: number): Generator<Span> {
  const { from, to } = spanOf(query);
  const kind = (['day', 'month'] as const).find((one) => query.by.includes(one));
  for (let start = from; start < to; ) {
    const last = kind === undefined ? to : windowAt(kind, query.timeZone, start).ends;
    const end = Math.min(to, last, start + sliceMs);
    yield { from: start, to: end };
    start = end;
  }
}

/** The name of a team or user as an asker is shown it; null for none. */
export type HolderNames = (kind: 'team' | 'user', id: string) => string | null;

/** What names of teams and users are looked up in. */
type NamedPeople = Pick<PeopleCopy, 'team' | 'user'>;

/** The names that a caller may see: of the people that it may read, and of teams those of reports, too, which name no person. */
export function namesFor(caller: Caller, people: NamedPeople): HolderNames {
  const role = roleOf(caller);
  const reach = reachOf(role, 'people.read');
  const all: HolderNames = (kind, id) => people[kind](id)?.name || null;
  return (kind, id) => {
    if (reach === 'all') return all(kind, id);
    if (kind === 'team') return role === 'report' || (reach !== null && id === caller.team) ? all(kind, id) : null;
    const isShown = id === caller.user || (reach === 'team' && people.user(id)?.team === caller.team);
    return reach !== null && isShown ? all(kind, id) : null;
  };
}

const NO_NAMES: HolderNames = () => null;

const isHolder = (grouping: Grouping): grouping is 'team' | 'user' => grouping === 'team' || grouping === 'user';

/** The column of a grouping, as an asker sees it. */
const shownColumn = (grouping: Grouping, sight: Sight): string =>
  sight.isNarrow && grouping === 'key' ? 'key_name' : columnOf(grouping);

/** The columns of a table of groups: beside the ID of a team or user stands its name, and where they are known, that of a key. */
export const groupColumns = (by: readonly Grouping[], sight = FULL_SIGHT): string[] =>
  by.flatMap((grouping) => [
    shownColumn(grouping, sight),
    ...(isHolder(grouping) || (grouping === 'key' && sight.knowsKeys && !sight.isNarrow) ? [`${grouping}_name`] : []),
  ]);

/** The group of a row: its name by each grouping, and beside the ID of a key, team or user how that is called now. */
export function groupOf(
  by: readonly Grouping[],
  names: readonly string[],
  nameOf: HolderNames,
  sight = FULL_SIGHT,
): Readonly<Record<string, string>> {
  const called = by.flatMap((grouping, at) => {
    const name = isHolder(grouping)
      ? nameOf(grouping, names[at]!)
      : grouping === 'key'
        ? keyName(names[at]!, sight)
        : null;
    return name === null ? [] : [[`${grouping}_name`, name] as const];
  });
  return Object.fromEntries([
    ...by.map((grouping, at) => [shownColumn(grouping, sight), names[at]!] as const),
    ...called,
  ]);
}

/** Of a wallet, its address is all there is. */
function keyName(id: string, sight: Sight): string | null {
  const name = sight.isNarrow ? null : sight.nameOf(id);
  return name === id ? null : name || null;
}

/** The report as an asker may see it: groups with their names in place of a list of columns. */
export function usageAnswer({ query, total, groups }: UsageReport, sight = FULL_SIGHT, nameOf: HolderNames = NO_NAMES) {
  const { from, to, timeZone, by } = query;
  return {
    object: 'usage' as const,
    ...{ from: from.toString(), to: to.toString(), timeZone, total },
    by: [...by],
    groups: groups.map(({ names, charges, input, output, charged }) => ({
      group: groupOf(by, names, nameOf, sight),
      ...{ charges, input, output, charged },
    })),
  };
}

/** The same report as CSV, for a spreadsheet: a line for each group. */
export function usageCsv(report: UsageReport, sight: Sight, nameOf: HolderNames): string {
  const usd = usdWriter(report.usdPerCredit);
  const lines = usageAnswer(report, sight, nameOf).groups.map(({ group, charges, input, output, charged }) => {
    const worth = usd(charged);
    return {
      ...group,
      ...{ charges, input_tokens: input, output_tokens: output, credits: toCredits(charged) },
      usd: worth === null ? null : { decimal: worth },
    };
  });
  const figures = ['charges', 'input_tokens', 'output_tokens', 'credits', 'usd'];
  return csvTable([...groupColumns(report.query.by, sight), ...figures], lines);
}
