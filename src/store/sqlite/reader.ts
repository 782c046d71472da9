import { Database } from 'bun:sqlite';
import { resolve } from 'node:path';
import { codeOf } from '../../core/thrown.ts';
import type { SpoolSettlements, StoreReader } from '../driver.ts';
import type { SpoolReading } from '../spool/spool.ts';
import { SETTLE } from '../sql/payments.ts';
import type { SqlReader, SqlTables, SqlValue, Statement } from '../sql/statement.ts';
import { StoreError } from '../store.ts';
import { type SpooledEntries, unbooked } from './books/spooled.ts';
import { BUSY_TIMEOUT_MS } from './database.ts';
import { failureOf, unreadable } from './fault.ts';
import { pending } from './migrate.ts';
import { sqliteRepositories } from './repositories.ts';
import type { Migrations } from './statement.ts';

/** A consistent, read-only snapshot of a database. */
interface SqliteReader extends SqlReader, StoreReader {
  /** @param spool the result of `readSpool` */
  unbooked(spool: SpoolSettlements & Pick<SpoolReading, 'units'>): Promise<SpooledEntries>;
}

/**
 * Opens an existing database for reading only, while another process may write to it. All queries see the moment of the first query. Throws
 * an Error with one clear sentence if that fails, or if a newer version of Signalbox has written the tables of the `known` rooms.
 */
export function openReader(path: string, known: readonly Migrations[]): SqliteReader {
  let db: Database | null = null;
  try {
    db = openReadable(path);
    db.run('BEGIN');
    // This function does not refuse older tables, because most callers can read some of them.
    pending(db, known);
    const open = db;
    const reader: SqlTables = {
      query: async <Row>({ sql }: Statement, params: readonly SqlValue[] = []) => {
        try {
          return open.query<Row, SqlValue[]>(sql).all(...params);
        } catch (error) {
          throw unreadable(error);
        }
      },
      commit: () => Promise.reject(new StoreError('the database is open read-only')),
    };
    const unbookedIn: SqliteReader['unbooked'] = ({ path, units }) => unbooked(reader, path, units, [SETTLE]);
    const close = () => open.close();
    const { query } = reader;
    return { query, unbooked: unbookedIn, close, [Symbol.dispose]: close, ...sqliteRepositories(reader) };
  } catch (error) {
    db?.close();
    throw failureOf(`Cannot read the database ${resolve(path)}`, error);
  }
}

/** Returns the number of table versions that a program knows. */
export const countKnown = (known: readonly Migrations[]): number =>
  known.reduce((sum, { versions }) => sum + Object.keys(versions).length, 0);

/** Returns the number of table versions that a database has. Throws like `openReader`. */
export function countVersions(path: string, known: readonly Migrations[]): number {
  let db: Database | null = null;
  try {
    db = openReadable(path);
    return countKnown(known) - pending(db, known).length;
  } catch (error) {
    throw failureOf(`Cannot read the database ${resolve(path)}`, error);
  } finally {
    db?.close();
  }
}

/** Opens a database read-only. The caller closes it. After a crash, SQLite may first have to roll back a transaction, and needs to write for that. */
export function openReadable(path: string): Database {
  const open = (mode: 'readonly' | 'readwrite'): Database => {
    const db = new Database(path, { [mode]: true, create: false });
    try {
      db.run(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
      db.query('SELECT count(*) FROM sqlite_schema').get();
      return db;
    } catch (error) {
      db.close();
      throw error;
    }
  };
  try {
    return open('readonly');
  } catch (error) {
    if (!codeOf(error).startsWith('SQLITE_READONLY_')) throw error;
    open('readwrite').close();
    return open('readonly');
  }
}
