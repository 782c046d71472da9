import { commandName } from '../../core/command-name.ts';
import { messageOf } from '../../core/thrown.ts';
import { StoreError, unreleasedText } from '../store.ts';
import { type Connection, type PostgresBounds, USUAL_BOUNDS } from './connection.ts';
import { faultOf } from './fault.ts';

/** A version of the schema. A version must never be edited; a change of the schema is a new version. */
export interface SchemaVersion {
  /** The statements of the version, or a function that loads them. */
  readonly sql: string | (() => Promise<string>);
  /**
   * The lowest schema version whose programs still work with this version. These programs keep running while newer programs start. A
   * version that removes a part of the schema works only with programs that have stopped using that part, so the removal must come a
   * release later.
   */
  readonly serves: number;
}

/** The versions of a schema by number, in the order in which they are applied. Builds before the first release used numbers below the first. */
export type Schema = Readonly<Record<number, SchemaVersion>>;

const numbersOf = (schema: Schema): readonly number[] => Object.keys(schema).map(Number);

/** @returns the number of the latest version */
export const latestOf = (schema: Schema): number => numbersOf(schema).at(-1) ?? 0;

/** The schema that a database has. */
export interface SchemaState {
  /** The version of the schema; 0 if there are no tables. */
  readonly version: number;
  readonly serves: number;
  /** The version of Signalbox that created the schema. */
  readonly program: string;
  /** The version of Signalbox that created the version `serves`; it and later ones can use the schema. */
  readonly servesProgram: string;
}

/** A migration waits for other migrations, and may take long. */
export const MIGRATION_BOUNDS: PostgresBounds = {
  ...USUAL_BOUNDS,
  statementMs: 0,
  lockMs: 60_000,
  silenceMs: 3_600_000,
};

const TABLE = `CREATE TABLE IF NOT EXISTS signalbox_schema (
  version BIGINT PRIMARY KEY,
  serves BIGINT NOT NULL,
  program TEXT NOT NULL,
  applied TIMESTAMPTZ NOT NULL DEFAULT now()
)`;
/**
 * The lock lasts until the end of the transaction, not of the session, so that the lock also works through a pooler. The numbers are an
 * arbitrary key that only Signalbox uses.
 */
const LOCK = 'SELECT pg_advisory_xact_lock(1397310279, 1)';
const EMPTY: SchemaState = { version: 0, serves: 0, program: '', servesProgram: '' };

/**
 * Reads the version of the schema.
 * @throws the error of the driver, by rejecting
 */
export async function schemaOf(connection: Connection): Promise<SchemaState> {
  const found = await connection.run<{ there: number }>(`SELECT to_regclass('signalbox_schema') IS NOT NULL AS there`);
  if (found.rows[0]?.there !== 1) return EMPTY;
  const { rows } = await connection.run<SchemaState>(
    `SELECT version, serves, program, (SELECT program FROM signalbox_schema AS other WHERE other.version >= latest.serves
       ORDER BY other.version LIMIT 1) AS "servesProgram"
     FROM signalbox_schema AS latest ORDER BY version DESC LIMIT 1`,
  );
  return rows[0] ?? EMPTY;
}

/** @throws StoreError with the reason `older`, if a build before the first release created the schema */
export function refuseUnreleased({ version }: SchemaState, schema: Schema): void {
  if (version > 0 && version < numbersOf(schema)[0]!)
    throw new StoreError(unreleasedText(`tables of version ${version}`), { reason: 'older' });
}

/**
 * Checks that this program can use the tables of a database.
 * @param schema the versions that this program knows
 * @throws StoreError with the reason `older` or `newer`, if this program cannot use the tables
 */
export function requireSchema(state: SchemaState, schema: Schema): void {
  refuseUnreleased(state, schema);
  const { version, serves, program } = state;
  const known = latestOf(schema);
  if (version < known) {
    throw new StoreError(`${olderText(version, known)}; run \`${commandName()} db migrate\` first`, {
      reason: 'older',
    });
  }
  if (serves > known)
    throw new StoreError(
      `Signalbox ${program} has migrated its tables to version ${version}, which needs a program for version ${serves} or later; this program is for version ${known}: use that program or a later one`,
      { reason: 'newer' },
    );
}

const olderText = (version: number, known: number): string =>
  version === 0 ? 'it has no tables yet' : `its tables have version ${version}, not ${known}`;

/**
 * Migrates the tables to the latest version, each version in its own transaction. A process that starts while another process migrates
 * waits, and then finds nothing to migrate.
 * @param program the version of Signalbox that migrates
 * @returns the versions that this call has applied
 * @throws StoreError by rejecting; the versions before the failed one stay applied
 */
export async function migrate(connection: Connection, schema: Schema, program: string): Promise<number[]> {
  const applied: number[] = [];
  const numbers = numbersOf(schema);
  for (;;) {
    const state = await schemaOf(connection);
    refuseUnreleased(state, schema);
    if (state.version >= latestOf(schema)) {
      // The check of the versions only reads, so that a user without the right to create tables can start a server.
      requireSchema(state, schema);
      return applied;
    }
    const number = await inTransaction(connection, async () => {
      await connection.run(LOCK);
      await connection.run(TABLE);
      const { version } = await schemaOf(connection);
      const next = numbers.find((one) => one > version);
      // Another process has already applied this version.
      if (next === undefined) return null;
      const { sql, serves } = schema[next]!;
      try {
        await connection.script(typeof sql === 'string' ? sql : await sql());
      } catch (cause) {
        const why = `the tables cannot be migrated to version ${next}: ${messageOf(cause)}`;
        throw new StoreError(why, { reason: faultOf(cause), cause });
      }
      const row = [next, serves, program];
      await connection.run('INSERT INTO signalbox_schema (version, serves, program) VALUES ($1, $2, $3)', row);
      return next;
    }).catch((cause) => {
      if (faultOf(cause) !== 'denied') throw cause;
      const older = olderText(state.version, latestOf(schema));
      const words = `${older}, and its user lacks the right CREATE on its schema or does not own the tables: run \`${commandName()} db migrate\` as their owner`;
      throw new StoreError(words, { reason: 'denied', cause });
    });
    if (number !== null) applied.push(number);
  }
}

async function inTransaction<T>(connection: Connection, work: () => Promise<T>): Promise<T> {
  await connection.run('BEGIN');
  try {
    const result = await work();
    await connection.run('COMMIT');
    return result;
  } catch (cause) {
    await connection.run('ROLLBACK').catch(() => {});
    throw cause;
  }
}
