import type { SqlWrite } from '../../sql/statement.ts';
import type { Write } from '../../store.ts';
import { StoreError } from '../../store.ts';
import type { Connection } from '../connection.ts';
import type { PostgresDialect } from '../dialect.ts';
import { failureOf, isLoss } from '../fault.ts';
import { transact, UnansweredCommit } from '../transaction.ts';
import type { BooksDatabase } from './books.ts';
import type { BooksQuery } from './names.ts';
import type { WireOp, WireResult } from './wire.ts';

const DECIDE = 'SELECT * FROM ledger_decide_1($1, $2::jsonb)';

interface DecideRow {
  readonly answers: string;
  readonly figures: string;
  readonly open_holds: string;
  readonly is_repeated: number;
}

/** Thrown to undo a transaction in which nothing was decided that something could ride with. */
class InVain extends Error {
  readonly result: WireResult;

  constructor(result: WireResult) {
    super('there is nothing to write');
    this.result = result;
  }
}

/** The connection of books, on which their groups go one behind the other. State: database writes. */
export class DecidingDatabase implements BooksDatabase {
  readonly query: BooksQuery;
  readonly #open: () => Promise<Connection>;
  readonly #dialect: PostgresDialect;
  #connection: Connection | null = null;

  constructor(query: BooksQuery, open: () => Promise<Connection>, dialect: PostgresDialect) {
    this.query = query;
    this.#open = open;
    this.#dialect = dialect;
  }

  readonly decide = async (owner: number, ops: readonly WireOp[], also: readonly Write[]): Promise<WireResult> => {
    // It cannot be reached: nothing was decided.
    const connection = await this.#connected();
    const values = [owner, JSON.stringify(ops)];
    try {
      if (also.length === 0) return resultOf((await connection.run<DecideRow>(DECIDE, values)).rows);
      return await this.#decideWith(connection, values, also);
    } catch (cause) {
      if (cause instanceof StoreError) throw cause;
      if (cause instanceof UnansweredCommit || isLoss(cause)) {
        this.#connection = null;
        void connection.close();
        throw new StoreError('the connection broke before the database had answered', { reason: 'unknown', cause });
      }
      throw failureOf('the database cannot decide', cause);
    }
  };

  async close(): Promise<void> {
    await this.#connection?.close();
  }

  /** Locks are held until the commit, one round trip longer: for what rides seldom. */
  async #decideWith(
    connection: Connection,
    values: readonly (string | number)[],
    also: readonly Write[],
  ): Promise<WireResult> {
    let result: WireResult | null = null;
    const isHoldAlone = (found: WireResult) =>
      found.answers.length === 1 && !['granted', 'charged'].includes(found.answers[0]![0]);
    try {
      await transact(connection, this.#dialect, also as readonly SqlWrite[], null, async (send) => {
        result = resultOf((await send(DECIDE, values)).rows as unknown as DecideRow[]);
        if (isHoldAlone(result) || result.isRepeated) throw new InVain(result);
      });
      return result!;
    } catch (cause) {
      if (cause instanceof InVain) return cause.result;
      throw cause;
    }
  }

  async #connected(): Promise<Connection> {
    if (this.#connection?.isLost) this.#connection = null;
    this.#connection ??= await this.#open();
    return this.#connection;
  }
}

function resultOf([row]: readonly DecideRow[]): WireResult {
  if (!row) throw new StoreError('the database has decided nothing');
  const { answers, figures, open_holds, is_repeated } = row;
  return {
    answers: JSON.parse(answers),
    figures: JSON.parse(figures),
    openHolds: JSON.parse(open_holds),
    isRepeated: is_repeated === 1,
  };
}
