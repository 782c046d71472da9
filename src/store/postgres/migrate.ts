import { messageOf } from '../../core/thrown.ts';
import { StoreError } from '../store.ts';
import { type Connection, type PostgresBounds, USUAL_BOUNDS } from './connection.ts';
import { faultOf } from './fault.ts';

/** One version of the tables. It is never edited. */
export interface SchemaVersion {
  /** Its statements, or how to load them. */
  readonly sql: string | (() => Promise<string>);
  /**
   * The least version whose programs it serves: they go on beside those of this one. A version that takes something away serves
   * only programs that have ceased to use it, so it comes a release later.
   */
  readonly serves: number;
}

/** The tables as a database has them. */
export interface SchemaState {
  /** 0: there are none. */
  readonly version: number;
  readonly serves: number;
  /** The version of Signalbox that made them. */
  readonly program: string;
}

/** A migration waits for those of others, and may take long. */
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
/** Until the end of the transaction, so that it works through a pooler, too. The numbers are ours. */
const LOCK = 'SELECT pg_advisory_xact_lock(1397310279, 1)';
const EMPTY: SchemaState = { version: 0, serves: 0, program: '' };

/** Reads the version of the tables. Rejects with the error of the driver. */
export async function schemaOf(connection: Connection): Promise<SchemaState> {
  const found = await connection.run<{ there: number }>(`SELECT to_regclass('signalbox_schema') IS NOT NULL AS there`);
  if (found.rows[0]?.there !== 1) return EMPTY;
  const { rows } = await connection.run<SchemaState>(
    'SELECT version, serves, program FROM signalbox_schema ORDER BY version DESC LIMIT 1',
  );
  return rows[0] ?? EMPTY;
}

/**
 * @param known the version of the tables that this program is written for
 * @throws StoreError `older` or `newer` of the reason, where it cannot use them
 */
export function requireSchema({ version, serves, program }: SchemaState, known: number): void {
  if (version < known) {
    throw new StoreError(`${olderText(version, known)}; run \`signalbox db migrate\` first`, { reason: 'older' });
  }
  if (serves > known)
    throw new StoreError(
      `Signalbox ${program} has brought its tables to version ${version}, which serves programs of version ${serves} and later; this one is of version ${known}: use that program or a later one`,
      { reason: 'newer' },
    );
}

const olderText = (version: number, known: number): string =>
  version === 0 ? 'it has no tables yet' : `its tables are of version ${version}, not ${known}`;

/**
 * Brings the tables up to date, each version in a transaction of its own. Who comes while another migrates waits, and finds
 * nothing left to do.
 * @param program the version of Signalbox that does it
 * @returns the numbers of the versions that were applied
 * @throws StoreError of the reason, by rejecting; the versions before the one that failed stay
 */
export async function migrate(
  connection: Connection,
  versions: readonly SchemaVersion[],
  program: string,
): Promise<number[]> {
  const applied: number[] = [];
  for (;;) {
    const state = await schemaOf(connection);
    if (state.version >= versions.length) {
      // Nothing is asked of a user who may make no tables.
      requireSchema(state, versions.length);
      return applied;
    }
    const number = await inTransaction(connection, async () => {
      await connection.run(LOCK);
      await connection.run(TABLE);
      const { version } = await schemaOf(connection);
      const next = versions[version];
      // Another was faster.
      if (!next) return null;
      try {
        await connection.script(typeof next.sql === 'string' ? next.sql : await next.sql());
      } catch (cause) {
        const why = `version ${version + 1} of the tables cannot be made: ${messageOf(cause)}`;
        throw new StoreError(why, { reason: faultOf(cause), cause });
      }
      const row = [version + 1, next.serves, program];
      await connection.run('INSERT INTO signalbox_schema (version, serves, program) VALUES ($1, $2, $3)', row);
      return version + 1;
    }).catch((cause) => {
      if (faultOf(cause) !== 'denied') throw cause;
      const older = olderText(state.version, versions.length);
      const words = `${older}, and its user lacks the right CREATE on its schema, or does not own them: run \`signalbox db migrate\` as their owner`;
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
