import { describe, expect, test } from 'bun:test';
import { addressOf } from '../../../../src/store/postgres/address.ts';
import { Connection } from '../../../../src/store/postgres/connection.ts';
import {
  MIGRATION_BOUNDS,
  migrate,
  requireSchema,
  type Schema,
  type SchemaVersion,
  schemaOf,
} from '../../../../src/store/postgres/migrate.ts';
import { requireSafety, requireSession } from '../../../../src/store/postgres/safety.ts';
import { startPostgres } from '../../../support/postgres.ts';
import { freshDatabase } from '../../../support/shared-postgres.ts';

const FIRST: SchemaVersion = { sql: 'CREATE TABLE one (n BIGINT); INSERT INTO one VALUES (1)', serves: 4 };
const SECOND: SchemaVersion = { sql: 'ALTER TABLE one ADD COLUMN m BIGINT; UPDATE one SET n = n + 1', serves: 4 };
const THIRD: SchemaVersion = { sql: 'ALTER TABLE one DROP COLUMN m', serves: 6 };

/** The schema after some of these versions. Version 4 is the first that a release contained. */
const schemaWith = (...versions: readonly SchemaVersion[]): Schema =>
  Object.fromEntries(versions.map((one, at) => [at + 4, one]));

/**
 * This helper awaits the promise instead of using `rejects`, which runs the event loop inside the test: failures of other tasks would look
 * like failures of this test.
 */
const refusalOf = (work: Promise<unknown>): Promise<string> => work.then(() => 'nothing was refused', String);

describe('Migrations', () => {
  const opened = async () => {
    const database = await freshDatabase();
    const open = () => Connection.open(addressOf(database.url), MIGRATION_BOUNDS);
    const connection = await open();
    const rows = () => database.run('SELECT * FROM one');
    const dispose = async () => {
      await connection.close();
      await database[Symbol.asyncDispose]();
    };
    return { open, connection, rows, [Symbol.asyncDispose]: dispose };
  };

  test('migrations run once, in order, and only those that a database lacks', async () => {
    await using box = await opened();
    expect(await schemaOf(box.connection)).toEqual({ version: 0, serves: 0, program: '', servesProgram: '' });
    expect(await migrate(box.connection, schemaWith(FIRST), '1.0.0')).toEqual([4]);
    expect(await migrate(box.connection, schemaWith(FIRST), '1.0.0')).toEqual([]);
    expect(await migrate(box.connection, schemaWith(FIRST, SECOND, THIRD), '2.0.0')).toEqual([5, 6]);
    expect(await box.rows()).toEqual([{ n: '2' }]);
    expect(await schemaOf(box.connection)).toEqual({ version: 6, serves: 6, program: '2.0.0', servesProgram: '2.0.0' });
  });

  test('migrations of several instances that start at once run once', async () => {
    await using box = await opened();
    const connections = await Promise.all(Array.from({ length: 6 }, box.open));
    const applied = await Promise.all(connections.map((one) => migrate(one, schemaWith(FIRST, SECOND), '1.0.0')));
    expect(applied.flat().sort()).toEqual([4, 5]);
    expect(await box.rows()).toEqual([{ n: '2', m: null }]);
    for (const one of connections) await one.close();
  });

  test('migrations that fail change nothing, name the failed one, and keep the earlier versions', async () => {
    await using box = await opened();
    const broken = { sql: 'DELETE FROM one; SELECT 1 / 0', serves: 4 };
    expect(await refusalOf(migrate(box.connection, schemaWith(FIRST, broken), '1.0.0'))).toContain(
      'the tables cannot be migrated to version 5: division by zero',
    );
    expect((await schemaOf(box.connection)).version).toBe(4);
    expect(await box.rows()).toEqual([{ n: '1' }]);
    expect(await migrate(box.connection, schemaWith(FIRST, SECOND), '1.0.1')).toEqual([5]);
  });

  test('migrations state which programs may use the tables: older programs continue after an addition, but not after a removal', async () => {
    await using box = await opened();
    const stateAfter = async (...versions: readonly SchemaVersion[]) => {
      await migrate(box.connection, schemaWith(...versions), '2.0.0');
      return await schemaOf(box.connection);
    };
    const added = await stateAfter(FIRST, SECOND);
    for (const known of [[FIRST], [FIRST, SECOND]]) requireSchema(added, schemaWith(...known));
    // An older program may use the tables, and migrates nothing.
    expect(await migrate(box.connection, schemaWith(FIRST), '1.0.0')).toEqual([]);
    expect(() => requireSchema(added, schemaWith(FIRST, SECOND, THIRD))).toThrow(
      'its tables have version 5, not 6; run `./signalbox db migrate` first',
    );
    const removed = await stateAfter(FIRST, SECOND, THIRD);
    expect(() => requireSchema(removed, schemaWith(FIRST, SECOND))).toThrow(
      'Signalbox 2.0.0 has migrated its tables to version 6, which needs a program for version 6 or later; this program is for version 5: use that program or a later one',
    );
    expect(await refusalOf(migrate(box.connection, schemaWith(FIRST, SECOND), '1.0.0'))).toContain(
      'use that program or a later one',
    );
  });
});

describe('A server', () => {
  const RECKLESS = ['fsync', 'synchronous_commit', 'full_page_writes'];

  test('a database that keeps committed data is accepted; each unsafe setting is refused with a sentence', async () => {
    await using server = await startPostgres();
    const refusal = async () => {
      const connection = await Connection.open(addressOf(server.urlOf('postgres')));
      try {
        await requireSafety(connection);
        return null;
      } catch (error) {
        return String(error);
      } finally {
        await connection.close();
      }
    };
    expect(await refusal()).toBe(null);
    for (const name of RECKLESS) {
      await server.run(`ALTER SYSTEM SET ${name} = off`);
      await server.run('SELECT pg_reload_conf()');
      const says = new RegExp(`^StoreError: ${name} is off: a crash`);
      // A reload of the settings takes effect a moment later.
      while ((await refusal()) === null) await server.run('SELECT pg_sleep(0.01)');
      expect(await refusal()).toMatch(says);
      await server.run(`ALTER SYSTEM RESET ${name}`);
      await server.run('SELECT pg_reload_conf()');
      while ((await refusal()) !== null) await server.run('SELECT pg_sleep(0.01)');
    }
  });

  test('a database with a pooler is accepted if a connection keeps its session, and refused if each transaction gets another session', async () => {
    const poolOf = (mode: 'session' | 'transaction', elsewhere = 0) => {
      const free = [1, 2, 3, 4];
      const open = async () => {
        let held: number | null = null;
        const begin = () => {
          held = free.shift() ?? 0;
        };
        const end = () => {
          if (held !== null) free.unshift(held);
          held = null;
        };
        begin();
        const backend = held;
        if (mode === 'transaction') end();
        return {
          ...{ isPooled: true, backend },
          backendNow: async () => held ?? free[0] ?? 0,
          script: async () => {
            if (mode === 'transaction') begin();
            return { rows: [], count: 0, command: '' };
          },
          close: async () => end(),
        };
      };
      // Other clients of the pool use the sessions in between.
      const openLater = async () => {
        free.push(...free.splice(0, elsewhere));
        return open();
      };
      return { open, openLater };
    };
    const judge = async (mode: 'session' | 'transaction', elsewhere: number) => {
      const { open, openLater } = poolOf(mode, elsewhere);
      return requireSession(await open(), openLater).then(() => null, String);
    };
    const words =
      'StoreError: a connection pooler gives each transaction another session; set pool_mode = session in the pooler';
    for (const elsewhere of [0, 1, 2]) {
      expect(await judge('session', elsewhere)).toBe(null);
      expect(await judge('transaction', elsewhere)).toBe(words);
    }
  });

  test('a database that refuses writes, such as a standby, is refused with a sentence', async () => {
    await using database = await freshDatabase();
    await database.server.run(`ALTER DATABASE ${database.name} SET default_transaction_read_only = on`);
    const connection = await Connection.open(addressOf(database.url));
    expect(await refusalOf(requireSafety(connection))).toContain(
      'transaction_read_only is on: it is a standby, or does not accept writes; name the primary in the URL',
    );
    await connection.close();
  });
});
