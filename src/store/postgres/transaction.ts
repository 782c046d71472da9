import type { SqlRow, SqlScript, SqlWrite, Statement } from '../sql/statement.ts';
import { StoreError } from '../store.ts';
import type { Connection, PostgresResult } from './connection.ts';
import { type PostgresDialect, valuesOf } from './dialect.ts';
import { isLoss } from './fault.ts';

/** The lock lasts until the end of the transaction, so that writers whose conditions depend on other rows run one after the other. */
export const TURN = 'SELECT pg_advisory_xact_lock(1397310279, 2)';
/** Each statement of a transaction sees everything that was committed before the statement, as in SQLite. */
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED';

/** A transaction whose COMMIT was sent and got no answer. */
export interface CommitInDoubt {
  /** The ID of the transaction. */
  readonly xid: string;
  /** The ID of the database server's process that runs the transaction. */
  readonly backend: number | null;
}

/** Thrown when a COMMIT got no answer: the program does not know whether the transaction was committed. */
export class UnansweredCommit extends Error {
  readonly doubt: CommitInDoubt;

  constructor(doubt: CommitInDoubt, cause: unknown) {
    super('the connection broke before the database answered', { cause });
    this.doubt = doubt;
  }
}

/** A query that every transaction starts with. If this query returns no row, the transaction fails with `fenced`. */
export interface LeaseCheck {
  readonly sql: string;
  readonly values: () => readonly number[];
}

/** A statement that was sent to the database, and the check of the answer. */
interface CheckedAnswer {
  readonly sent: Promise<PostgresResult<SqlRow>>;
  /** Throws if the answer of the database is not as required. */
  readonly check: (result: PostgresResult<SqlRow>) => void;
}

/**
 * Writes all statements or nothing. Statements are sent without waiting for answers; the COMMIT is sent after all answers have arrived.
 * @throws StoreError, UnansweredCommit or the error of the driver, by rejecting. After UnansweredCommit the writes may exist; otherwise
 * nothing was written.
 */
export async function transact(
  connection: Connection,
  dialect: PostgresDialect,
  writes: readonly SqlWrite[],
  fence: LeaseCheck | null,
): Promise<void> {
  const answers: CheckedAnswer[] = [];
  const send = (
    text: string,
    values: readonly SqlValueOf[] = [],
    check: (r: PostgresResult<SqlRow>) => void = () => {},
  ) => {
    const sent = connection.run<SqlRow>(text, values);
    // Only the first failure of a statement is thrown, because later failures only follow from the first failure.
    sent.catch(() => {});
    answers.push({ sent, check });
    return sent;
  };
  const doWrite = async ({ statement, params, follow }: SqlWrite, more: readonly SqlWrite[]): Promise<void> => {
    const translated = dialect.translate(statement);
    if (translated.text === '') return;
    const values = valuesOf(translated, params, ...more.map((row) => row.params));
    const sent = send(translated.text, values, ({ count }) => {
      if (statement.mustChange && count === 0) throw unmet();
    });
    if (!follow) return;
    const { rows } = await sent;
    if (rows.length > 0) await runScript(follow(rows));
  };
  const runScript = async (script: SqlScript): Promise<void> => {
    for (let step = script.next(); !step.done; ) {
      const translated = dialect.translate(step.value.statement);
      const rows =
        translated.text === '' ? [] : (await send(translated.text, valuesOf(translated, step.value.params))).rows;
      step = script.next(rows);
    }
  };
  let xid: string | undefined;
  try {
    send(BEGIN);
    const held = fence ? `EXISTS (${fence.sql})` : 'true';
    send(`SELECT pg_current_xact_id()::text AS xid, ${held} AS is_held`, fence?.values(), ({ rows: [row] }) => {
      xid = String(row?.xid);
      if (row?.is_held !== 1) fenced();
    });
    if (writes.some(({ statement, follow }) => statement.takesTurns || follow)) send(TURN);
    for (const [write, ...more] of together(writes)) await doWrite(write, more);
    for (const { sent, check } of answers) check(await sent);
  } catch (cause) {
    // The code reports the failure of the earliest statement, because later statements may have failed only as a consequence.
    const first = await firstFailure(answers);
    if (!isLoss(first ?? cause) && !connection.isLost) await connection.script('ROLLBACK').catch(() => {});
    throw first ?? cause;
  }
  const backend = connection.backend;
  const { command } = await connection.script('COMMIT').catch((cause) => {
    if (xid !== undefined && isLoss(cause)) throw new UnansweredCommit({ xid, backend }, cause);
    throw cause;
  });
  if (command === 'ROLLBACK') throw new StoreError('the database rolled the transaction back');
}

/**
 * Groups writes: all rows of a statement that writes many rows move to the place of the first of these rows. All other writes stay in the
 * same order.
 */
function* together(writes: readonly SqlWrite[]): Generator<readonly [SqlWrite, ...SqlWrite[]]> {
  const gone = new Set<Statement>();
  for (const [at, one] of writes.entries()) {
    const { statement } = one;
    if (gone.has(statement)) continue;
    if (!statement.takesRows) yield [one];
    else yield [one, ...writes.slice(at + 1).filter((other) => other.statement === statement)];
    if (statement.takesRows) gone.add(statement);
  }
}

type SqlValueOf = ReturnType<typeof valuesOf>[number];

async function firstFailure(answers: readonly CheckedAnswer[]): Promise<unknown> {
  for (const { sent, check } of answers) {
    const failure = await sent.then(check).then(
      () => null,
      (cause: unknown) => cause,
    );
    if (failure !== null) return failure;
  }
  return null;
}

const unmet = (): StoreError => new StoreError('a condition of the write is false', { reason: 'unmet' });

function fenced(): never {
  throw new StoreError('the lease of this server on the database has ended', { reason: 'fenced' });
}

/**
 * Finds out whether a transaction was committed, and ends the transaction if it still runs.
 * @returns null if the database server does not know, or no longer knows, the transaction
 */
export async function outcomeOf(connection: Connection, { xid, backend }: CommitInDoubt): Promise<boolean | null> {
  const { rows } = await connection.run<{ status: string | null }>(`SELECT pg_xact_status($1::text::xid8) AS status`, [
    xid,
  ]);
  const status = rows[0]?.status ?? null;
  if (status === 'in progress' && backend !== null)
    await connection.run('SELECT pg_terminate_backend($1::bigint::int)', [backend]);
  return status === 'committed' ? true : status === 'aborted' ? false : null;
}
