import { idText } from '../../../core/id.ts';
import type { UnbookedSettlements } from '../../driver.ts';
import type { EntryKind, JournalRow } from '../../journal-reader.ts';
import type { SpooledRow, SpooledUnit } from '../../spool/spool.ts';
import {
  first,
  type SqlParam,
  type SqlReader,
  type SqlValue,
  type SqlWrite,
  type Statement,
  sql,
  write,
} from '../../sql/statement.ts';
import { SPOOLED_IN_JOURNAL, SPOOLED_TARIFF } from './journal.ts';
import { recover } from './recover.ts';
import { Replay } from './replay.ts';
import { OPERATION, opsOf } from './spooled-ops.ts';
import { SELECT_STATE, type StateRow } from './tables.ts';

/** The part of a spool that the database does not have yet. */
export interface SpooledEntries extends UnbookedSettlements {
  /** The rows to write. The caller must commit these rows together or not at all. */
  readonly writes: readonly SqlWrite[];
}

/** A journal row in the spool of an earlier version. */
type SpooledEntry = Pick<JournalRow, 'seq' | 'kind' | 'reservation' | 'account' | 'amount'>;

const SELECT_BOOKED = sql(
  `SELECT seq, kind, reservation, account, amount FROM journal WHERE seq IN (SELECT value FROM json_each(?))`,
);
const SELECT_TARIFFS = sql(
  'SELECT id, model, provider, upstream, price FROM tariffs WHERE id IN (SELECT value FROM json_each(?))',
);

const isClosing = ({ kind }: Pick<SpooledEntry, 'kind'>): boolean => kind === 'settle' || kind === 'expire';
const isCharge = (entry: SpooledEntry): boolean => entry.kind === 'post' || isClosing(entry);

/** Returns the reservations that the units of a spool close. */
export const closedBy = (units: readonly SpooledUnit[]): number[] =>
  units.flatMap((unit) =>
    [...entriesOf(unit), ...opsOf(unit)].flatMap((entry) =>
      isClosing(entry) && entry.reservation !== null ? [entry.reservation] : [],
    ),
  );

/**
 * Compares the spool at `path` with its database. Rows that the database already has, by their number, are left out, so that no row is
 * booked twice. The parameter `others` has the statements of other tables whose rows belong to the units. Throws an Error with one clear
 * sentence if a row does not fit: the reservation of the row is not open in the database, or the number of the row belongs to another row.
 */
export async function unbooked(
  reader: SqlReader,
  path: string,
  units: readonly SpooledUnit[],
  others: readonly Statement[],
): Promise<SpooledEntries> {
  try {
    return await compared(reader, units, others);
  } catch (cause) {
    if (!(cause instanceof Misfit)) throw cause;
    throw new Error(
      `${path} does not belong to this database, because it contains ${cause.message}. Restore the database that the file belongs to, or move the file away.`,
      { cause },
    );
  }
}

/** The error of a spool whose row does not fit the database. */
class Misfit extends Error {}

async function compared(
  reader: SqlReader,
  units: readonly SpooledUnit[],
  others: readonly Statement[],
): Promise<SpooledEntries> {
  if (units.length === 0) return { writes: [], closed: [], charged: 0 };
  const statements = new Map([...SPOOLED_IN_JOURNAL, SPOOLED_TARIFF, ...others].map((one) => [one.spooledAs, one]));
  const writeOf = ({ name, params }: SpooledRow): SqlWrite => {
    const statement = statements.get(name);
    if (!statement) throw new Misfit(`rows of the kind "${name}", which this version of Signalbox cannot read`);
    return write(statement, ...params);
  };
  const [ofOps, ofRows] = [units.filter(isOfOps), units.filter((unit) => !isOfOps(unit))];
  const isNew = await comparison(reader, ofRows);
  const news = ofRows.filter(isNew);
  const charges = news.flatMap(entriesOf).filter(isCharge);
  const closed = closedBy(news);
  const charged = charges.reduce((sum, { amount }) => sum + amount, 0);
  const writes = news.flat().map(writeOf);
  if (ofOps.length === 0) return { writes, closed, charged };
  const replay = await replayed(reader, ofOps, writeOf);
  return {
    writes: [...writes, ...replay.writes],
    closed: [...closed, ...replay.closed],
    charged: charged + replay.charged,
  };
}

/** Books units that consist of operations. */
async function replayed(
  reader: SqlReader,
  units: readonly SpooledUnit[],
  writeOf: (row: SpooledRow) => SqlWrite,
): Promise<Replay> {
  const state = await first<StateRow>(reader, SELECT_STATE);
  if (!state) throw new Misfit('settlements, although the database has no ledger');
  const replay = new Replay(reader, state);
  for (const unit of units) {
    const others = unit.filter(({ name }) => name !== OPERATION).map(writeOf);
    const lack = await replay.add(unit, others);
    if (lack !== null) throw new Misfit(lack);
  }
  return replay;
}

const isOfOps = (unit: SpooledUnit): boolean => unit.some(({ name }) => name === OPERATION);

const isTariff = ({ name }: SpooledRow): boolean => name === SPOOLED_TARIFF.spooledAs;

/**
 * @returns a function that returns whether the database lacks a unit. The caller must pass the units in their order. The function throws
 * Misfit.
 */
async function comparison(reader: SqlReader, units: readonly SpooledUnit[]): Promise<(unit: SpooledUnit) => boolean> {
  const state = await first<StateRow>(reader, SELECT_STATE);
  if (!state) throw new Misfit('settlements, although the database has no ledger');
  const open = new Set((await recover(reader, state)).open.keys());
  const numbers = JSON.stringify(units.flatMap(entriesOf).map(({ seq }) => seq));
  const brings = units.flat().filter(isTariff);
  const ids = JSON.stringify(brings.map(({ params: [id] }) => id));
  const rows = await reader.query<SpooledEntry>(SELECT_BOOKED, [numbers]);
  const booked = new Map(rows.map((entry) => [entry.seq, entry]));
  const found = await reader.query<Record<string, SqlValue>>(SELECT_TARIFFS, [ids]);
  const tariffs = new Map<SqlParam | undefined, string>(
    found.map((row) => [row.id, JSON.stringify(Object.values(row))]),
  );
  /** The numbers of rows and tariffs that an earlier unit of the spool adds. */
  const brought = new Set<string>();
  const isFirst = (name: string) => !brought.has(name) && brought.add(name).size > 0;
  const isNewTariff = ({ params }: SpooledRow): boolean => {
    const [id = null] = params;
    const known = tariffs.get(id);
    if (known !== undefined && known !== JSON.stringify(params)) throw new Misfit(`a different tariff ${id}`);
    return known === undefined && isFirst(`tariff ${id}`);
  };
  const isNewEntry = (entry: SpooledEntry): boolean => {
    const { seq, reservation } = entry;
    const known = booked.get(seq);
    if (known && !isSame(known, entry)) throw new Misfit(`a different row ${seq} of the journal`);
    if (known || !isFirst(`row ${seq}`)) return false;
    if (reservation !== null && !open.has(reservation))
      throw new Misfit(`a settlement of ${idText('dec_', reservation)}, which is not open there`);
    return true;
  };
  // Units are written all or nothing, so the first journal row of a unit decides for all its rows.
  return (unit) => {
    const tariff = unit.find(isTariff);
    if (tariff) return isNewTariff(tariff);
    const isNew = entriesOf(unit).map(isNewEntry).every(Boolean);
    for (const id of closedBy([unit])) open.delete(id);
    return isNew;
  };
}

const isSame = (one: SpooledEntry, other: SpooledEntry): boolean =>
  one.kind === other.kind &&
  one.reservation === other.reservation &&
  one.account === other.account &&
  one.amount === other.amount;

const JOURNAL_NAMES: ReadonlySet<string | undefined> = new Set(SPOOLED_IN_JOURNAL.map(({ spooledAs }) => spooledAs));

/** Returns the journal rows of a unit. They need no check, because this program wrote them, and a checksum protects them. */
const entriesOf = (unit: SpooledUnit): SpooledEntry[] =>
  unit.flatMap(({ name, params }) => {
    if (!JOURNAL_NAMES.has(name)) return [];
    const [seq, kind, reservation, account, amount] = params as [number, EntryKind, number | null, number, number];
    return [{ seq, kind, reservation, account, amount }];
  });
