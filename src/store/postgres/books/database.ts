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
import type { CalledOps, WireAnswer, WireResult } from './wire.ts';

const DECIDE = 'SELECT ledger_decide_1($1, $2, $3, $4, $5, $6) AS answer';

/**
 * The books' statements find all rows by their IDs. With these settings, a plan that PostgreSQL made while the tables were small is also
 * good when they are large, and PostgreSQL does not plan a statement again for its values.
 */
const PLANS = `SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
  SET plan_cache_mode = force_generic_plan`;

/** A column of the answer. It is null if the answer has no row for it. */
type Column<Value> = readonly Value[] | null;
type Numbers = Column<number>;
type DecideAnswer = readonly [
  ...[codes: readonly string[], firsts: Numbers, seconds: Numbers, odd: readonly WireAnswer[]],
  ...[ids: Numbers, most: Numbers, spent: Numbers, held: Numbers, opened: Column<boolean>],
  ...[states: Numbers, amounts: Numbers, charged: Numbers],
];

/** How often a group of operations is decided again if PostgreSQL aborts the group because of a deadlock or another conflict. */
const CONFLICTS_MAX = 10;

/** The connection of the books. Each group of operations is one statement, and groups run one after the other. State: database writes. */
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
    const withOps = calls.filter(({ ops }) => ops.length > 0);
    const plain = plainOf(owner, withOps, awaited);
    const [row] = plain ? await this.#run<PlainRow>(plain.text, plain.values).catch(noneIfKnown) : [];
    if (!plain || !row) return this.#decideByFunction(owner, calls);
    const result = plain.resultOf(row);
    if (withOps.length === calls.length) return result;
    // Calls that only write depend on no operation, so the operations need not wait for the function.
    const writing = calls.filter(({ ops }) => ops.length === 0);
    await this.#decideByFunction(owner, writing).catch((cause: unknown) => {
      // The operations have happened, so the group must be sent again, which returns their results.
      throw new StoreError('the writes of a group failed after its operations', { reason: 'unknown', cause });
    });
    const answers = result.answers.values();
    return { ...result, answers: calls.map(({ ops }) => (ops.length > 0 ? answers.next().value! : [])) };
  };

  async #decideByFunction(owner: number, calls: readonly CalledOps[]): Promise<WireResult> {
    const group = new GroupedOps();
    const lengths = calls.map((call) => group.add(call, this.#rideOf));
    const values = [owner, ...group.values()];
    return resultOf(await this.#run<{ answer: string }>(DECIDE, values), lengths, group.ids);
  }

  /**
   * Runs a statement that is a transaction of its own.
   * @throws StoreError by rejecting. With the reason `unknown`, the statement may have run.
   */
  async #run<Row>(text: string, values: readonly PostgresValue[]): Promise<readonly Row[]> {
    for (let tries = 1; ; tries++) {
      // If no connection can be opened, the statement was not sent, so no operation was decided.
      const connection = await this.#connected();
      try {
        return (await connection.run<Row>(text, values)).rows;
      } catch (cause) {
        if (isConflict(cause) && tries < CONFLICTS_MAX) continue;
        if (isReadOnly(cause) && tries === 1) continue;
        if (cause instanceof StoreError) throw cause;
        if (!isLoss(cause) || isReadOnly(cause)) throw failureOf('the database cannot decide on the operations', cause);
        this.#connection = null;
        void connection.close();
        throw new StoreError('the connection broke before the database answered', { reason: 'unknown', cause });
      }
    }
  }

  async close(): Promise<void> {
    await this.#connection?.close();
  }

  readonly #rideOf = ({ statement, params, follow }: SqlWrite): readonly RidingStatement[] => {
    if (follow)
      throw new RangeError(
        'a write whose next step depends on the rows of a statement cannot be attached to operations',
      );
    const translated = this.#dialect.translate(statement);
    if (translated.text === '') return [];
    return [{ text: withValues(translated, params), must: statement.mustChange === true }];
  };

  async #connected(): Promise<Connection> {
    if (this.#connection?.isLost) this.#connection = null;
    this.#connection ??= await this.#opened();
    return this.#connection;
  }

  async #opened(): Promise<Connection> {
    const connection = await this.#open();
    try {
      await connection.script(PLANS);
      return connection;
    } catch (cause) {
      void connection.close();
      throw failureOf('the database cannot decide on the operations', cause);
    }
  }
}

/** Handles a hold whose ID is already in the table (SQLSTATE 23505): no row, so that the decide function returns the stored result. */
function noneIfKnown(error: unknown): readonly PlainRow[] {
  if (error instanceof StoreError && codeOf(error.cause) === '23505') return [];
  throw error;
}

/**
 * Splits the answer of the decide function by call.
 * @param lengths how many operations each call has
 * @param ids the IDs of the holds that the operations refer to
 */
function resultOf(
  [row]: readonly { readonly answer: string }[],
  lengths: readonly number[],
  ids: readonly number[],
): WireResult {
  if (!row) throw new StoreError('the database returned no decision');
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
