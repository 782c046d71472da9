import { pause, type Timers } from '../../core/timers.ts';
import type { GroupedDatabase, GroupPace, WriteUnit } from '../group-commit.ts';
import type { SqlWrite } from '../sql/statement.ts';
import { StoreError } from '../store.ts';
import type { Connection } from './connection.ts';
import type { PostgresDialect } from './dialect.ts';
import { faultOf, faultText, isConflict, isLoss } from './fault.ts';
import { type CommitInDoubt, type LeaseCheck, outcomeOf, transact, UnansweredCommit } from './transaction.ts';

const RETRY_MS = 100;
const DOUBT_MS = 2_000;
/** A transaction that met another one's locks in the wrong order is done again. */
const CONFLICTS_MAX = 10;

export interface WriterOptions {
  readonly open: () => Promise<Connection>;
  readonly dialect: PostgresDialect;
  readonly fence: () => LeaseCheck | null;
  /** Called with appends that were lost, and once when the database begins to fail. */
  readonly onError: (error: StoreError) => void;
  /** Called when callers of a transaction have waited long enough for its outcome, which is still unknown. */
  readonly onDoubt: () => void;
  readonly timers: Timers;
  /** How long callers wait for the outcome of a commit whose answer was lost, ms; 2 s unless stated. */
  readonly doubtMs?: number | undefined;
}

/**
 * Transactions of one process over one connection, of which each is durable. If the answer to a commit is lost, its outcome is
 * read by the number of its transaction before anything else is written. State: database writes.
 */
export class PostgresWriter implements GroupedDatabase<SqlWrite> {
  readonly pace: GroupPace = {
    unitsMax: 500,
    spacingMs: 0,
    probeMs: RETRY_MS,
    canSkipSync: false,
    failsFast: true,
  };
  readonly faultOf = faultOf;
  readonly textOf = faultText;
  readonly onError: (error: StoreError) => void;
  readonly #options: WriterOptions;
  #connection: Connection | null = null;
  #isClosed = false;

  constructor(options: WriterOptions) {
    this.#options = options;
    this.onError = options.onError;
  }

  async transact(units: readonly WriteUnit<SqlWrite>[]): Promise<boolean> {
    const writes = units.flatMap((unit) => unit.writes);
    let wasLost = false;
    for (let tries = 1; ; tries++) {
      const connection = await this.#connected();
      try {
        if (writes.length === 0) await requireWritable(connection);
        else await transact(connection, this.#options.dialect, writes, this.#options.fence());
        return true;
      } catch (cause) {
        const isLost = isLoss(cause);
        if (isLost) this.#connection = null;
        if (cause instanceof UnansweredCommit) return this.#hasHappened(cause.doubt);
        // The COMMIT was not sent: nothing has happened. An idle connection may have been lost long ago.
        const isAgain = isLost ? !wasLost : isConflict(cause);
        if (!isAgain || tries === CONFLICTS_MAX) throw cause;
        wasLost ||= isLost;
      }
    }
  }

  /** Appends wait in memory alone: settlements are the books'. */
  keep(): boolean {
    return false;
  }

  written(): void {}

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#connection?.close();
  }

  async #connected(): Promise<Connection> {
    if (this.#connection?.isLost) this.#connection = null;
    this.#connection ??= await this.#options.open();
    return this.#connection;
  }

  /** Resolves once it is known. Callers get the error `unknown` in the end; appends wait until it is. */
  async #hasHappened(doubt: CommitInDoubt): Promise<boolean> {
    const { timers, doubtMs = DOUBT_MS, onDoubt } = this.#options;
    const since = performance.now();
    while (!this.#isClosed) {
      try {
        const hasHappened = await outcomeOf(await this.#connected(), doubt);
        if (hasHappened !== null) return hasHappened;
      } catch {
        this.#connection = null;
      }
      if (performance.now() - since >= doubtMs) onDoubt();
      await pause(timers, RETRY_MS);
    }
    return false;
  }
}

/** A standby answers, too. */
async function requireWritable(connection: Connection): Promise<void> {
  const { count } = await connection.run(`SELECT 1 WHERE current_setting('transaction_read_only') = 'off'`);
  if (count > 0) return;
  // It may have begun before the database took writes.
  void connection.close();
  throw new StoreError('it is a standby, or takes no writes');
}
