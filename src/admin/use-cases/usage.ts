import { setImmediate } from 'node:timers/promises';
import type { PeopleCopy } from '../../access/people-copy.ts';
import { labelsOf } from '../../core/accounting/entry.ts';
import { windowAt } from '../../core/accounting/window.ts';
import { SignalboxError } from '../../core/errors.ts';
import { type Microcredits, toCredits } from '../../core/money/credits.ts';
import type { StatedSums } from '../../core/money/stated-cost.ts';
import { type Caller, roleOf } from '../../core/people/caller.ts';
import { DAY_MS } from '../../core/time/clock.ts';
import { usdCell } from '../../ledger/export/export.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { JournalReader, MoneyEntry } from '../../store/journal-reader.ts';
import { csvTable } from './csv.ts';
import type { Principal } from './principal.ts';
import type { Grouping } from './report/grouping.ts';
import { type Stretch, spanOf, type UsagePeriod } from './report/period.ts';
import { checkAction, reachOf } from './roles.ts';
import { FULL_SIGHT, type Sight } from './sight.ts';
import { NO_FIGURES, type Spending, spendingOf, type UsageGroup, UsageSums } from './usage-sums.ts';

/** A query of usage by an operator or a key. A request counts on the day on which it began. */
export interface UsageQuery extends UsagePeriod {
  readonly by: readonly Grouping[];
  /** ID of a key; null for all keys. */
  readonly keyId: string | null;
  /** IDs of the team and the user that the key belonged to; null for all. */
  readonly team: string | null;
  readonly user: string | null;
  /** ID of the model; null for all. */
  readonly model: string | null;
  /** Labels that the keys must have. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Usage by groups. */
export interface UsageReport {
  readonly query: UsageQuery;
  readonly total: Microcredits;
  readonly groups: readonly UsageGroup[];
}

type Charged = Pick<Ledger, 'usage'>;

/** The most groups of a report, which limits its size. */
const GROUPS_MAX = 10_000;

/**
 * Reports the usage that a running server knows, as far as the caller may see it. If the caller may not see IDs, `keyId` is a name.
 * @throws SignalboxError, by rejecting
 */
export async function servedUsage(by: Principal, ledger: Charged, sight: Sight, query: UsageQuery) {
  const ids = await sight.idsWithin(checkAction(by.caller, 'usage.read'));
  return await usageIn(query, servedPages(ledger, query, sight, ids));
}

/** Reports the usage of the calling key or wallet. Rejects with SignalboxError. */
export async function ownUsage(
  { caller }: Principal,
  ledger: Charged,
  query: UsagePeriod & Pick<UsageQuery, 'by'>,
): Promise<UsageReport> {
  checkAction(caller, 'usage.own');
  const own = { ...query, keyId: caller.keyId, team: null, user: null, model: null, labels: {} };
  return await usageIn(own, servedPages(ledger, own, FULL_SIGHT, null));
}

/** Reports the usage stored in a database, whether a server is running or not. Rejects with SignalboxError and StoreError. */
export async function storedUsage(
  by: Principal,
  journal: Pick<JournalReader, 'money'>,
  query: UsageQuery,
): Promise<UsageReport> {
  checkAction(by.caller, 'usage.read');
  return await usageIn(query, storedPages(journal, { ...query, ...spanOf(query) }));
}

/** The filters that select charges, in a running server and in a database. */
type Dimension = 'keyId' | 'team' | 'user' | 'model';
type Wanted = Pick<UsageQuery, Dimension | 'labels'>;

function wanting({ keyId, team, user, model, labels }: Wanted): (of: Pick<Spending, Dimension | 'labels'>) => boolean {
  const own = (Object.entries({ keyId, team, user, model }) as [Dimension, string | null][]).filter(
    ([, id]) => id !== null,
  );
  const ofLabels = Object.entries(labels);
  return (of) =>
    own.every(([name, id]) => of[name] === id) && ofLabels.every(([name, value]) => (of.labels[name] ?? '') === value);
}

/** Adds up pages of charges that match a query. Rejects with SignalboxError if there are too many groups. */
async function usageIn(query: UsageQuery, pages: AsyncIterable<readonly Spending[]>): Promise<UsageReport> {
  const sums = new UsageSums(query.by, query.timeZone);
  const isWanted = wanting(query);
  for await (const page of pages) {
    for (const spending of page) if (isWanted(spending)) sums.add(spending);
    if (sums.size <= GROUPS_MAX) continue;
    const message = `The report would have more than ${GROUPS_MAX} groups. Choose a shorter period or fewer groupings.`;
    throw new SignalboxError('out_of_range', message, { param: 'by' });
  }
  const groups = sums.groups();
  return { query, total: groups.reduce((sum, { charged }) => sum + charged, 0), groups };
}

/**
 * Reads the charges that a running server knows, in windows of time, as the caller may see them. @param ids of the keys that the caller may
 * see; null for all
 */
async function* servedPages(
  ledger: Charged,
  query: UsageQuery,
  sight: Sight,
  ids: ReadonlySet<string> | null,
): AsyncGenerator<readonly Spending[]> {
  const { by, keyId, team, user } = query;
  const owner = {
    ...(sight.isNarrow ? { keyId: null, team, user: null } : { keyId, team, user }),
    keyIds: ids,
    hasRuns: by.some((grouping) => RUNS.includes(grouping)),
  };
  const isOfAll = [owner.keyIds, team, owner.user].every((one) => one === null);
  const sliceMs = owner.keyId === null ? SLICE_MS[isOfAll ? 'all' : 'owner'] : Number.POSITIVE_INFINITY;
  for (const window of windowsOf(query, sliceMs)) {
    // The server can serve requests between two slices.
    await setImmediate();
    const found = await ledger.usage({ ...owner, ...window });
    await sight.learn(found.map(({ dimensions: { key = '' } }) => key));
    yield found.flatMap(({ dimensions, microcredits, ...charges }) => {
      const { key = '', selector = '', team = '', user = '' } = dimensions;
      if (ids && !ids.has(key)) return [];
      const labels = labelsOf(dimensions);
      const { session = '', agent = '' } = sight.showsRunsOf(key, labels) ? dimensions : {};
      return {
        // The sums that a running server keeps in memory do not have all figures of a report.
        ...NO_FIGURES,
        ...charges,
        keyId: sight.keyOf(key),
        team,
        labels,
        selector,
        session,
        agent,
        moment: window.from,
        // A caller who may see no IDs must not see persons either.
        user: sight.isNarrow ? '' : user,
        model: charges.model ?? '',
        provider: charges.provider ?? '',
        charged: microcredits,
      };
    });
  }
}

/** Reads the entries of a database that match a query, page by page, because an export may be larger than the memory. */
export async function* entriesOf(
  journal: Pick<JournalReader, 'money'>,
  query: Wanted & Stretch,
): AsyncGenerator<readonly MoneyEntry[]> {
  const isWanted = wanting(query);
  for await (const page of journal.money(query)) yield page.filter(isWanted);
}

/** Reads the charges of a database that match a query. */
export async function* storedPages(
  journal: Pick<JournalReader, 'money'>,
  query: Wanted & Stretch,
): AsyncGenerator<readonly Spending[]> {
  for await (const page of entriesOf(journal, query)) yield page.flatMap((entry) => spendingOf(entry) ?? []);
}

/** The dimensions that exist within one key. */
const RUNS: readonly Grouping[] = ['selector', 'session', 'agent'];

/** The ledger is read in slices of this length, ms. With ten million requests a month, a slice blocks the server for about 50 ms. */
const SLICE_MS = { all: DAY_MS, owner: 5 * DAY_MS } as const;

/**
 * Returns the days or months of the groups, one after the other, or the whole period if groups have neither. Each day, month or period is
 * cut into slices of at most `sliceMs`.
 */
function* windowsOf(query: UsageQuery, sliceMs: number): Generator<Stretch> {
  const { from, to } = spanOf(query);
  const kind = (['day', 'month'] as const).find((one) => query.by.includes(one));
  for (let start = from; start < to; ) {
    const last = kind === undefined ? to : windowAt(kind, query.timeZone, start).ends;
    const end = Math.min(to, last, start + sliceMs);
    yield { from: start, to: end };
    start = end;
  }
}

/** Returns the name of a team or user if the caller may see it; null otherwise. */
export type HolderNames = (kind: 'team' | 'user', id: string) => string | null;

/** Where the names of teams and users are found. */
type NamedPeople = Pick<PeopleCopy, 'team' | 'user'>;

/**
 * Returns the names that a caller may see: of the people that the caller may read. Reports also see names of teams, which do not name a
 * person.
 */
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

/** The columns of a grouping. After the ID of a key, team or user there is a column with its current name, if the caller may see it. */
function columnsOf(grouping: Grouping, sight: Sight): readonly string[] {
  if (grouping === 'key' && sight.isNarrow) return ['key_name'];
  return grouping === 'key' || isHolder(grouping) ? [`${grouping}_id`, `${grouping}_name`] : [grouping];
}

/** The columns of a table of groups. A command does not know the names of keys. */
export const groupColumns = (by: readonly Grouping[], sight = FULL_SIGHT): string[] =>
  by.flatMap((grouping) => columnsOf(grouping, sight).slice(0, grouping === 'key' && !sight.knowsKeys ? 1 : 2));

/** The group of a row: its value for each grouping, with the name after an ID if it is known. */
export function groupOf(
  by: readonly Grouping[],
  names: readonly string[],
  nameOf: HolderNames,
  sight = FULL_SIGHT,
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    by.flatMap((grouping, at) => {
      const value = names[at]!;
      const [column, called] = columnsOf(grouping, sight);
      const name = called && (isHolder(grouping) ? nameOf(grouping, value) : keyName(value, sight));
      return [[column!, value] as const, ...(called && name ? [[called, name] as const] : [])];
    }),
  );
}

/** A wallet has no name, only its address. */
export function keyName(id: string, sight: Sight): string | null {
  const name = sight.nameOf(id);
  return name === id ? null : name;
}

/** Loads the names of the keys in groups. Rejects with StoreError. */
export async function learnKeys(
  sight: Pick<Sight, 'learn'>,
  by: readonly Grouping[],
  groups: readonly Pick<UsageGroup, 'names'>[],
): Promise<void> {
  const at = by.indexOf('key');
  if (at >= 0) await sight.learn(groups.map(({ names }) => names[at] ?? ''));
}

/** The report as the caller may see it. Groups have named members instead of columns. */
export function usageAnswer({ query, total, groups }: UsageReport, sight = FULL_SIGHT, nameOf: HolderNames = NO_NAMES) {
  const { from, to, timeZone, by } = query;
  return {
    from: from.toString(),
    to: to.toString(),
    timeZone,
    total,
    by: [...by],
    groups: groups.map(({ names, charges, input, output, charged, ...sums }) => ({
      group: groupOf(by, names, nameOf, sight),
      charges,
      input,
      output,
      charged,
      statedCosts: statedCosts(sums, sight),
    })),
  };
}

/** The costs that providers state, for operators. Null if no answer of the group states a cost. */
function statedCosts({ stated, matched }: StatedSums, { showsUpstream }: Sight) {
  if (!showsUpstream || (stated === 0 && matched === 0)) return null;
  return { stated, matched, difference: stated - matched };
}

/** The report as CSV for a spreadsheet, with a line for each group. */
export function usageCsv(report: UsageReport, sight: Sight, nameOf: HolderNames, usdPerCredit: string | null): string {
  const usd = usdCell(usdPerCredit);
  const lines = usageAnswer(report, sight, nameOf).groups.map(({ group, charges, input, output, charged }) => {
    const sums = {
      charges,
      input_tokens: input,
      output_tokens: output,
      credits: toCredits(charged),
      usd: usd(charged),
    };
    return { ...group, ...sums };
  });
  const figures = ['charges', 'input_tokens', 'output_tokens', 'credits', 'usd'];
  return csvTable([...groupColumns(report.query.by, sight), ...figures], lines);
}
