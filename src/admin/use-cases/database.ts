import { dirname, join } from 'node:path';
import { UsageError } from '../../core/usage-error.ts';
import type { Audit } from '../../ledger/audit/audit.ts';
import { auditLedger } from '../../ledger/audit/run.ts';
import type { StoreDriver, TablesState } from '../../store/driver.ts';
import {
  acceptStore,
  isShared,
  isStoreLocked,
  lockStore,
  migrateStore,
  moveStore,
  placeOfStore,
  readStore,
  settlementsIn,
  storeExists,
  tablesOfStore,
} from '../../store/open.ts';
import type { Principal } from './principal.ts';
import { checkAction } from './roles.ts';

/** A database, with the version of its tables. */
export interface DatabaseStatus extends TablesState {
  /** The location of the database, without a password. */
  readonly place: string;
  /** Whether a server uses the database. */
  readonly isServed: boolean;
  /** Whether this program can use the database without a migration. */
  readonly isCurrent: boolean;
}

/** Returns the status of a database. Rejects with StoreError. */
export async function databaseStatus(by: Principal, url: string): Promise<DatabaseStatus> {
  checkAction(by.caller, 'status.read');
  const [place, tables, isServed] = await Promise.all([placeOfStore(url), tablesOfStore(url), isStoreLocked(url)]);
  return { place, ...tables, isServed, isCurrent: tables.version >= tables.known && tables.serves <= tables.known };
}

/**
 * Confirms that servers may use a database that may have lost commits in a failover.
 * @returns false if the failover was already accepted, null for a kind of database without failover; rejects with StoreError
 */
export function acceptDatabase(by: Principal, url: string): Promise<boolean | null> {
  checkAction(by.caller, 'database.change');
  return acceptStore(url);
}

/**
 * Updates the tables to the version of this program.
 * @returns how many versions were applied; rejects with StoreError
 */
export function migrateDatabase(by: Principal, url: string, program: string): ReturnType<StoreDriver['migrate']> {
  checkAction(by.caller, 'database.change');
  return migrateStore(url, program);
}

/** The source and the target of a copy between two kinds of databases. */
interface CopyOrder {
  readonly from: string;
  readonly to: string;
  /** The data folder of a server that used one of the databases. The spool in the data folder must be empty. */
  readonly data: string;
  /** The version of Signalbox. */
  readonly program: string;
}

/**
 * Copies a database to a database of the other kind and audits both. The target must be new or have no rows, and no server may use either
 * database.
 * @returns both audits, and whether they agree
 * @throws UsageError if a database does not exist or is in use, or if both are of the same kind; rejects with StoreError
 */
export async function copyDatabase(by: Principal, { from, to, data, program }: CopyOrder) {
  checkAction(by.caller, 'database.change');
  checkAction(by.caller, 'ledger.copy');
  if (!(await storeExists(from))) throw new UsageError(`There is no database ${await placeOfStore(from)}.`);
  const locks = [await lockStore(from, 'alone')];
  try {
    const { version, known } = await tablesOfStore(from);
    if (!isShared(from) && version < known)
      throw new UsageError(
        `An older version of Signalbox wrote ${await placeOfStore(from)}. Start and stop this version on it once, then copy again.`,
      );
    if (await storeExists(to)) locks.push(await lockStore(to, 'alone'));
    const place = await placeOfStore(from);
    const spools = [data, ...(place.startsWith('/') ? [dirname(place)] : [])];
    for (const folder of new Set(spools)) {
      const left = await settlementsIn(from, join(folder, 'settlements.spool'));
      if (left !== 0)
        throw new UsageError(
          `${folder} has settlements that the database lacks. First start and stop the server once, so that it stores them.`,
        );
    }
    const before = await auditOf(from);
    await moveStore(from, to, program);
    const after = await auditOf(to);
    return { before, after, isSame: auditText(before) === auditText(after) };
  } finally {
    for (const lock of locks) lock.release();
  }
}

async function auditOf(url: string): Promise<Audit> {
  using reader = await readStore(url, ['ledger']);
  return await auditLedger(reader.journal, { idle: false });
}

/** The results of an audit in a form that does not depend on the kind of database. */
function auditText(audit: Audit): string {
  const { totals, reservations, findings, more, unpriced } = audit;
  const open = [...audit.open.values()].map((one) => [one.reservation, one.reserved, one.charged]);
  const balances = [...audit.balances()].map(([holder, { granted, spent }]) => [holder, granted, spent]);
  return JSON.stringify([totals, reservations, findings.length + more, unpriced, open.toSorted(), balances.toSorted()]);
}
