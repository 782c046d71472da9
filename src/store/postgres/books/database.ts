import type { SqlWrite } from '../../sql/statement.ts';
import { StoreError } from '../../store.ts';
import type { Connection } from '../connection.ts';
import { type PostgresDialect, withValues } from '../dialect.ts';
import { failureOf, isConflict, isLoss } from '../fault.ts';
import type { BooksDatabase } from './books.ts';
import type { BooksQuery } from './names.ts';
import type { CalledOps, WireAnswer, WireOp, WireResult } from './wire.ts';

const DECIDE = 'SELECT * FROM ledger_decide_1($1, $2::jsonb)';

interface DecideRow {
  readonly answers: string;
  readonly figures: string;
  readonly open_holds: string;
}

/** A statement that rides with operations, with its values in its text. */
interface RidingStatement {
  readonly text: string;
  /** Whether it must change or select a row. */
  readonly must: boolean;
}

/** Groups that met each other's locks in a circle are decided again. */
const CONFLICTS_MAX = 10;

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

  readonly decide = async (owner: number, calls: readonly CalledOps[]): Promise<WireResult> => {
    const sent = calls.map((call) => this.#withRides(call));
    // It cannot be reached: nothing was decided.
    const connection = await this.#connected();
    const values = [owner, JSON.stringify(sent.flat())];
    for (let tries = 1; ; tries++) {
      try {
        return resultOf((await connection.run<DecideRow>(DECIDE, values)).rows, sent);
      } catch (cause) {
        if (isConflict(cause) && tries < CONFLICTS_MAX) continue;
        if (cause instanceof StoreError) throw cause;
        if (!isLoss(cause)) throw failureOf('the database cannot decide', cause);
        this.#connection = null;
        void connection.close();
        throw new StoreError('the connection broke before the database had answered', { reason: 'unknown', cause });
      }
    }
  };

  async close(): Promise<void> {
    await this.#connection?.close();
  }

  /** What rides with a call stands at its last operation. */
  #withRides({ ops, also }: CalledOps): readonly WireOp[] {
    if (also.length === 0) return ops;
    const rides = (also as readonly SqlWrite[]).flatMap((one) => this.#rideOf(one));
    const last = ops.at(-1) ?? { kind: 'write' };
    return [...ops.slice(0, -1), { ...last, rides, alone: ops.length === 1 }];
  }

  #rideOf({ statement, params, follow }: SqlWrite): readonly RidingStatement[] {
    if (follow) throw new RangeError('what goes by the rows of a statement cannot ride with operations');
    const translated = this.#dialect.translate(statement);
    if (translated.text === '') return [];
    return [{ text: withValues(translated, params), must: statement.mustChange === true }];
  }

  async #connected(): Promise<Connection> {
    if (this.#connection?.isLost) this.#connection = null;
    this.#connection ??= await this.#open();
    return this.#connection;
  }
}

function resultOf([row]: readonly DecideRow[], sent: readonly (readonly WireOp[])[]): WireResult {
  if (!row) throw new StoreError('the database has decided nothing');
  const answers: readonly WireAnswer[] = JSON.parse(row.answers);
  let at = 0;
  return {
    answers: sent.map(({ length }) => {
      at += length;
      return answers.slice(at - length, at);
    }),
    figures: JSON.parse(row.figures),
    openHolds: JSON.parse(row.open_holds),
  };
}
