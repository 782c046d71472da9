import { pause, type Timers } from '../../core/time/timers.ts';
import type { GroupedDatabase, GroupPace, WriteUnit } from '../group-commit.ts';
import type { SqlWrite } from '../sql/statement.ts';
import { StoreError } from '../store.ts';
import type { Connection } from './connection.ts';
import type { PostgresDialect } from './dialect.ts';
import { faultOf, faultText, isConflict, isLoss } from './fault.ts';
import { type CommitInDoubt, type LeaseCheck, outcomeOf, transact, UnansweredCommit } from './transaction.ts';

const RETRY_MS = 100;
const DOUBT_MS = 2_000;
/** How often a transaction is run again after a deadlock or another conflict. */
const CONFLICTS_MAX = 10;

export interface WriterOptions {
  readonly open: () => Promise<Connection>;
  readonly dialect: PostgresDialect;
  readonly fence: () => LeaseCheck | null;
  /** A function that is called with appends that were lost, and once when the database starts to fail. */
  readonly onError: (error: StoreError) => void;
  /** A function that is called when callers have waited long enough for the outcome of a commit, and the outcome is still unknown. */
  readonly onDoubt: () => void;
  readonly timers: Timers;
  /** How long callers wait for the outcome of a commit that got no answer, ms; 2,000 by default. */
  readonly doubtMs?: number | undefined;
}

/**
 * Runs the transactions of one process on one connection; each transaction is durable when the call returns. If a COMMIT gets no answer,
 * the writer finds out by the transaction ID whether the transaction was committed, before the writer writes anything else. State: database
 * writes.
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
        // If the connection was lost before the COMMIT, the COMMIT was not sent, so nothing was written and a second attempt is safe. An
        // idle connection may have been lost long ago.
        const isAgain = isLost ? !wasLost : isConflict(cause);
        if (!isAgain || tries === CONFLICTS_MAX) throw cause;
        wasLost ||= isLost;
      }
    }
  }

  /** Appended writes wait only in memory. Settlements do not use this writer: the books store them in the spool. */
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

  /**
   * Resolves once the outcome of the commit is known. After `doubtMs`, callers get the error `unknown`; appended writes wait until the
   * outcome is known.
   */
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

/** A standby also answers queries, so the writer checks that the database accepts writes. */
async function requireWritable(connection: Connection): Promise<void> {
  const { count } = await connection.run(`SELECT 1 WHERE current_setting('transaction_read_only') = 'off'`);
  if (count > 0) return;
  // The writer closes the connection, because the session may have started before the database accepted writes.
  void connection.close();
  throw new StoreError('it is a standby, or does not accept writes');
}
