import { codeOf } from '../../../core/thrown.ts';
import type { SqlWrite } from '../../sql/statement.ts';
import { StoreError } from '../../store.ts';
import type { Connection, PostgresValue } from '../connection.ts';
import { type PostgresDialect, withValues } from '../dialect.ts';
import { failureOf, isConflict, isLoss, isReadOnly } from '../fault.ts';
import type { BooksDatabase } from './books.ts';
import { GroupedOps, type RidingStatement } from './grouped-ops.ts';
import type { BooksQuery } from './names.ts';
import { type PlainRow, plainOf } from './plain.ts';
import type { WireAnswer, WireResult } from './wire.ts';

const DECIDE = 'SELECT ledger_decide_2($1, $2, $3, $4, $5, $6) AS answer';

/** A column is null where nothing has a row in it. */
type Column<Value> = readonly Value[] | null;
type Numbers = Column<number>;
type DecideAnswer = readonly [
  ...[codes: readonly string[], firsts: Numbers, seconds: Numbers, odd: readonly WireAnswer[]],
  ...[ids: Numbers, most: Numbers, spent: Numbers, held: Numbers, opened: Column<boolean>],
  ...[states: Numbers, amounts: Numbers, charged: Numbers],
];

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

  readonly decide: BooksDatabase['decide'] = async (owner, calls, awaited) => {
    const plain = plainOf(owner, calls, awaited);
    if (plain) {
      const [row] = await this.#run<PlainRow>(plain.text, plain.values).catch(noneIfKnown);
      if (row) return plain.resultOf(row);
    }
    const group = new GroupedOps();
    const lengths = calls.map((call) => group.add(call, this.#rideOf));
    const values = [owner, ...group.values()];
    return resultOf(await this.#run<{ answer: string }>(DECIDE, values), lengths, group.ids);
  };

  /** Runs a statement that is a commit of its own. Rejects with StoreError: with the reason `unknown` it may have run. */
  async #run<Row>(text: string, values: readonly PostgresValue[]): Promise<readonly Row[]> {
    for (let tries = 1; ; tries++) {
      // It cannot be reached: nothing was decided.
      const connection = await this.#connected();
      try {
        return (await connection.run<Row>(text, values)).rows;
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
  }

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

/** A hold whose ID the database has already is decided by the function. */
function noneIfKnown(error: unknown): readonly PlainRow[] {
  if (error instanceof StoreError && codeOf(error.cause) === '23505') return [];
  throw error;
}

/** @param lengths of the calls; @param ids of the holds that they are on */
function resultOf(
  [row]: readonly { readonly answer: string }[],
  lengths: readonly number[],
  ids: readonly number[],
): WireResult {
  if (!row) throw new StoreError('the database has decided nothing');
  const decided: DecideAnswer = JSON.parse(row.answer);
  const [codes, firsts, seconds, odd, funds, most, spent, held, opened, states, amounts, charged] = decided;
  const others = odd.values();
  const answers = codes.map((code, at): WireAnswer => {
    if (code === 'g') return ['granted', firsts![at]!];
    return code === 'c' ? ['charged', firsts![at]!, seconds![at]!] : others.next().value!;
  });
  let at = 0;
  return {
    answers: lengths.map((length) => {
      at += length;
      return answers.slice(at - length, at);
    }),
    figures: (funds ?? []).map((id, n) => [id, most![n]!, spent![n]!, held![n]!, opened![n]!]),
    openHolds: ids.flatMap((id, n) => (states?.[n] === 1 ? [[id, amounts![n]! - charged![n]!] as const] : [])),
  };
}
