import type { UnbookedSettlements } from '../../driver.ts';
import type { SpooledRow, SpooledUnit } from '../../spool/spool.ts';
import { first, type SqlReader, type SqlWrite, type Statement, write } from '../../sql/statement.ts';
import { Replay } from './replay.ts';
import { OPERATION, opsOf } from './spooled-ops.ts';
import { SELECT_STATE, type StateRow } from './tables.ts';

/** The part of a spool that the database does not have yet. */
export interface SpooledEntries extends UnbookedSettlements {
  /** The rows to write. The caller must commit these rows together or not at all. */
  readonly writes: readonly SqlWrite[];
}

/** Returns the reservations that the units of a spool close. */
export const closedBy = (units: readonly SpooledUnit[]): number[] =>
  units
    .flatMap(opsOf)
    .flatMap(({ kind, reservation }) =>
      (kind === 'settle' || kind === 'expire') && reservation !== null ? [reservation] : [],
    );

/**
 * Compares the spool at `path` with its database. Operations that the database already has are left out, so that none is booked twice. The
 * parameter `others` has the statements of other tables whose rows belong to the units. Throws an Error with one clear sentence if the spool
 * does not belong to the database.
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

/** The error of a spool that does not fit the database. */
class Misfit extends Error {}

async function compared(
  reader: SqlReader,
  units: readonly SpooledUnit[],
  others: readonly Statement[],
): Promise<SpooledEntries> {
  if (units.length === 0) return { writes: [], closed: [], charged: 0 };
  const statements = new Map(others.map((one) => [one.spooledAs, one]));
  const writeOf = ({ name, params }: SpooledRow): SqlWrite => {
    const statement = statements.get(name);
    if (!statement) throw new Misfit(`rows of the kind "${name}", which this version of Signalbox cannot read`);
    return write(statement, ...params);
  };
  const [ofOps, ofRows] = [units.filter(isOfOps), units.filter((unit) => !isOfOps(unit))];
  const writes = ofRows.flat().map(writeOf);
  if (ofOps.length === 0) return { writes, closed: [], charged: 0 };
  const { closed, charged, writes: booked } = await replayed(reader, ofOps, writeOf);
  return { writes: [...writes, ...booked], closed, charged };
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
