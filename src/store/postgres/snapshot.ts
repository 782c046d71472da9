import type { SqlTables, SqlValue, Statement } from '../sql/statement.ts';
import { StoreError } from '../store.ts';
import { type PostgresAddress, placeAt } from './address.ts';
import { Connection, type PostgresBounds, USUAL_BOUNDS } from './connection.ts';
import { PostgresDialect, valuesOf } from './dialect.ts';
import { failureOf, unusableFor } from './fault.ts';
import { requireSchema, schemaOf } from './migrate.ts';
import { SCHEMA } from './schema/versions.ts';

/**
 * A snapshot blocks only the removal of dead rows, so a snapshot may take long: a command may read a whole journal and write it to a slow
 * pipe.
 */
const SNAPSHOT_BOUNDS: PostgresBounds = {
  ...USUAL_BOUNDS,
  statementMs: 600_000,
  idleInTransactionMs: 600_000,
  silenceMs: 615_000,
};

/**
 * A read-only snapshot of the database as of its first query. A snapshot uses a single connection and ends when that connection is lost.
 */
export class PostgresSnapshot implements SqlTables {
  readonly #connection: Connection;
  readonly #dialect = new PostgresDialect();

  private constructor(connection: Connection) {
    this.#connection = connection;
  }

  /**
   * Opens a snapshot, also of a standby.
   * @throws StoreError of one sentence, by rejecting, for example if the tables have another version
   */
  static async open(address: PostgresAddress): Promise<PostgresSnapshot> {
    const connection = await Connection.open(address, SNAPSHOT_BOUNDS);
    try {
      requireSchema(await schemaOf(connection), SCHEMA);
      await connection.script('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      return new PostgresSnapshot(connection);
    } catch (cause) {
      await connection.close();
      throw unusableFor(placeAt(address), cause);
    }
  }

  async query<Row>(statement: Statement, params: readonly SqlValue[] = []): Promise<Row[]> {
    const translated = this.#dialect.translate(statement);
    if (translated.text === '') return [];
    try {
      return (await this.#connection.run<Row>(translated.text, valuesOf(translated, params))).rows;
    } catch (cause) {
      throw failureOf('the database cannot be read', cause);
    }
  }

  commit(): Promise<void> {
    return Promise.reject(new StoreError('the database is open read-only'));
  }

  /** Closes the connection. Never rejects. */
  close(): Promise<void> {
    return this.#connection.close();
  }
}
