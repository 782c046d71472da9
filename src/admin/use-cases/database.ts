import { dirname, join } from 'node:path';
import { UsageError } from '../../core/usage-error.ts';
import type { Audit } from '../../ledger/audit/audit.ts';
import { auditLedger } from '../../ledger/audit/run.ts';
import type { StoreDriver, TablesState } from '../../store/driver.ts';
import {
  acceptStore,
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

/** A database, and how far its tables are. */
export interface DatabaseStatus extends TablesState {
  /** Its name, without a password. */
  readonly place: string;
  /** Whether a server uses it. */
  readonly isServed: boolean;
  /** Whether this program can use it as it is. */
  readonly isCurrent: boolean;
}

/** Rejects with StoreError. */
export async function databaseStatus(by: Principal, url: string): Promise<DatabaseStatus> {
  checkAction(by.caller, 'status.read');
  const [place, tables, isServed] = await Promise.all([placeOfStore(url), tablesOfStore(url), isStoreLocked(url)]);
  return { place, ...tables, isServed, isCurrent: tables.version >= tables.known && tables.serves <= tables.known };
}

/** Vouches for a database behind a failover, in which commits may have been lost. Resolves with false where that was done before, with null where it has no failover; rejects with StoreError. */
export function acceptDatabase(by: Principal, url: string): Promise<boolean | null> {
  checkAction(by.caller, 'database.change');
  return acceptStore(url);
}

/** Brings the tables up to date. Resolves with the number of versions that were applied; rejects with StoreError. */
export function migrateDatabase(by: Principal, url: string, program: string): ReturnType<StoreDriver['migrate']> {
  checkAction(by.caller, 'database.change');
  return migrateStore(url, program);
}

/** The ends of a copy between two kinds of databases. */
interface CopyOrder {
  readonly from: string;
  readonly to: string;
  /** The data folder of a server that used one of them: its spool must be empty. */
  readonly data: string;
  /** The version of Signalbox. */
  readonly program: string;
}

/**
 * Copies a database to one of the other kind, which must be new or without rows, while no server uses either; and audits both.
 * @returns both audits, and whether they agree
 * @throws UsageError for databases that are not there, are in use, or are of one kind; rejects with StoreError
 */
export async function copyDatabase(by: Principal, { from, to, data, program }: CopyOrder) {
  checkAction(by.caller, 'database.change');
  checkAction(by.caller, 'ledger.copy');
  if (!(await storeExists(from))) throw new UsageError(`There is no database ${await placeOfStore(from)}.`);
  const locks = [await lockStore(from, 'alone')];
  try {
    if (await storeExists(to)) locks.push(await lockStore(to, 'alone'));
    const place = await placeOfStore(from);
    const spools = [data, ...(place.startsWith('/') ? [dirname(place)] : [])];
    for (const folder of new Set(spools)) {
      const left = await settlementsIn(from, join(folder, 'settlements.spool'));
      if (left !== 0)
        throw new UsageError(
          `${folder} has settlements that the database lacks. Start and stop the server once first.`,
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

/** All that an audit says of books, whichever database keeps them. */
function auditText(audit: Audit): string {
  const { totals, reservations, findings, more, unpriced } = audit;
  const open = [...audit.open.values()].map((one) => [one.reservation, one.reserved, one.charged]);
  const balances = [...audit.balances()].map(([holder, { granted, spent }]) => [holder, granted, spent]);
  return JSON.stringify([totals, reservations, findings.length + more, unpriced, open.toSorted(), balances.toSorted()]);
}
