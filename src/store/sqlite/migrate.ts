import type { Database } from 'bun:sqlite';
import { unreleasedText } from '../store.ts';
import { Fault } from './fault.ts';
import type { Migrations } from './statement.ts';

const TABLE = `CREATE TABLE IF NOT EXISTS migrations (
  room TEXT NOT NULL,
  version INTEGER NOT NULL,
  applied INTEGER NOT NULL,
  PRIMARY KEY (room, version)
) STRICT`;

/**
 * Migrates the tables of all rooms in one transaction. Throws if a newer version of Signalbox, or a build before the first release,
 * wrote the database, because this version would misread its tables.
 */
export function migrate(db: Database, migrations: readonly Migrations[]): void {
  // The versions are checked before the write lock is requested, because a command that runs while a server runs finds nothing to migrate.
  if (pending(db, migrations).length === 0) return;
  db.transaction(() => {
    db.run(TABLE);
    const record = db.prepare('INSERT INTO migrations (room, version, applied) VALUES (?, ?, ?)');
    for (const { room, version, sql } of pending(db, migrations)) {
      db.run(sql);
      record.run(room, version, Date.now());
    }
    record.finalize();
  }).immediate();
}

/**
 * Returns the versions of tables that a database lacks. Throws like `migrate` if the database has versions that this program does not know.
 */
export function pending(
  db: Database,
  migrations: readonly Migrations[],
): { room: string; version: number; sql: string }[] {
  const applied = appliedVersions(db);
  return migrations.flatMap(({ room, versions }) => {
    const numbers = Object.keys(versions).map(Number);
    const done = applied.get(room) ?? 0;
    const last = numbers.at(-1) ?? 0;
    if (done > last) {
      throw new Fault(
        'newer',
        `a newer version of Signalbox wrote it; use that version or a later one (${room} tables: ${done}, known: ${last})`,
      );
    }
    if (done > 0 && !numbers.includes(done)) throw new Fault('older', unreleasedText(`${room} tables: ${done}`));
    return numbers.filter((version) => version > done).map((version) => ({ room, version, sql: versions[version]! }));
  });
}

/**
 * Returns the highest version of each room in the database. Each statement is finalized after use, because the connection may hold a lock.
 */
function appliedVersions(db: Database): Map<string, number> {
  const known = db.query<{ n: number }, []>("SELECT count(*) AS n FROM sqlite_schema WHERE name = 'migrations'").get();
  if (!known?.n) return new Map();
  const rows = db
    .query<{ room: string; version: number }, []>('SELECT room, max(version) AS version FROM migrations GROUP BY room')
    .all();
  return new Map(rows.map((row) => [row.room, row.version]));
}
