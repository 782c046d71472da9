import type { SqlWrite } from '../../sql/statement.ts';
import { StoreError } from '../../store.ts';
import type { Connection } from '../connection.ts';
import { type PostgresDialect, withValues } from '../dialect.ts';
import { failureOf, isConflict, isLoss, isReadOnly } from '../fault.ts';
import type { BooksDatabase } from './books.ts';
import { GroupColumns, type RidingStatement } from './columns.ts';
import type { BooksQuery } from './names.ts';
import type { CalledOps, WireAnswer, WireResult } from './wire.ts';

const COLUMNS = Array.from({ length: 30 }, (_, at) => `$${at + 1}`);
const DECIDE = `SELECT * FROM ledger_decide_1(${COLUMNS.join(', ')})`;

type Figure = 'ids' | 'f_most' | 'f_spent' | 'f_held' | 'f_opened' | 'h_state' | 'h_amount' | 'h_charged';
type DecideRow = Readonly<Record<'codes' | 'firsts' | 'seconds' | 'odd', string> & Record<Figure, string | null>>;

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
    const columns = new GroupColumns();
    const lengths = calls.map((call) => columns.add(call, this.#rideOf));
    const values = [owner, ...columns.values()];
    for (let tries = 1; ; tries++) {
      // It cannot be reached: nothing was decided.
      const connection = await this.#connected();
      try {
        return resultOf((await connection.run<DecideRow>(DECIDE, values)).rows, lengths, columns.ids);
      } catch (cause) {
        if (isConflict(cause) && tries < CONFLICTS_MAX) continue;
        if (isReadOnly(cause) && tries === 1) continue;
        if (cause instanceof StoreError) throw cause;
        if (!isLoss(cause) || isReadOnly(cause)) throw failureOf('the database cannot decide', cause);
        this.#connection = null;
        void connection.close();
        throw new StoreError('the connection broke before the database had answered', { reason: 'unknown', cause });
      }
    }
  };

  async close(): Promise<void> {
    await this.#connection?.close();
  }

  readonly #rideOf = ({ statement, params, follow }: SqlWrite): readonly RidingStatement[] => {
    if (follow) throw new RangeError('what goes by the rows of a statement cannot ride with operations');
    const translated = this.#dialect.translate(statement);
    if (translated.text === '') return [];
    return [{ text: withValues(translated, params), must: statement.mustChange === true }];
  };

  async #connected(): Promise<Connection> {
    if (this.#connection?.isLost) this.#connection = null;
    this.#connection ??= await this.#open();
    return this.#connection;
  }
}

/** @param lengths of the calls; @param ids of the holds that they are on */
function resultOf([row]: readonly DecideRow[], lengths: readonly number[], ids: readonly number[]): WireResult {
  if (!row) throw new StoreError('the database has decided nothing');
  const [firsts, seconds] = [numbersIn(row.firsts), numbersIn(row.seconds)];
  const [most, spent, held] = [numbersIn(row.f_most), numbersIn(row.f_spent), numbersIn(row.f_held)];
  const opened = partsOf(row.f_opened);
  const [states, amounts, charged] = [numbersIn(row.h_state), numbersIn(row.h_amount), numbersIn(row.h_charged)];
  const odd: Iterator<WireAnswer> = JSON.parse(row.odd).values();
  const answers = partsOf(row.codes).map((code, at): WireAnswer => {
    if (code === 'g') return ['granted', firsts[at]!];
    return code === 'c' ? ['charged', firsts[at]!, seconds[at]!] : odd.next().value;
  });
  let at = 0;
  return {
    answers: lengths.map((length) => {
      at += length;
      return answers.slice(at - length, at);
    }),
    figures: numbersIn(row.ids).map((id, n) => [id, most[n]!, spent[n]!, held[n]!, opened[n] === 't']),
    openHolds: ids.flatMap((id, n) => (states[n] === 1 ? [[id, amounts[n]! - charged[n]!] as const] : [])),
  };
}

/** The elements of an array as the server writes it, none where there is no array. */
const partsOf = (text: string | null): readonly string[] =>
  !text || text === '{}' ? [] : text.slice(1, -1).split(',');
const numbersIn = (text: string | null): readonly number[] => partsOf(text).map(Number);
