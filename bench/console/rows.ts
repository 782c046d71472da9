import { Database, type Statement as Prepared, type SQLQueryBindings } from 'bun:sqlite';
import { BillWriter } from '../../src/core/accounting/bill.ts';
import { quarterOf } from '../../src/core/accounting/window.ts';
import type { DecisionRecord } from '../../src/core/decision/record.ts';
import type { Microcredits } from '../../src/core/money/credits.ts';
import { trafficOf } from '../../src/store/record-traffic.ts';
import type { SqlReader, SqlWrite, Statement } from '../../src/store/sql/statement.ts';
import { additionsTo } from '../../src/store/sql/traffic/rows.ts';
import { indexingWrites } from '../../src/store/sqlite/records/indexing.ts';
import { sqliteRecordLog } from '../../src/store/sqlite/records/log.ts';
import { putBuckets } from '../../src/store/sqlite/traffic/table.ts';
import { keptFromAt } from '../../src/store/traffic.ts';
import { TrafficSums } from '../../src/store/traffic-sums.ts';
import type { Base, MadeKey } from './base.ts';
import type { PlannedRequest } from './plan.ts';

const RESERVE =
  'INSERT INTO journal (seq, kind, reservation, account, amount, time, funds) VALUES (?, ?, ?, ?, ?, ?, ?)';
const SETTLE = `INSERT INTO journal (seq, kind, reservation, account, amount, time, tariff, bill, estimated)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const CLOSE = 'INSERT INTO journal (seq, kind, reservation, account, amount, time) VALUES (?, ?, ?, ?, ?, ?)';
const ADD_ACCOUNT = `INSERT INTO accounts (id, key_id, labels, selector, session, team_id, user_id) VALUES (?, ?, ?, ?, ?, ?, ?)`;
const ADD_FUND = `INSERT INTO funds (id, kind, name, subject, definition, starts, ends, most, opening, after_seq)
    VALUES (?, 'budget', ?, '', ?, ?, ?, ?, 0, ?)`;
const FIND_FUND = 'SELECT id FROM funds WHERE name = ? AND definition = ? AND starts = ?';
const ADD_SPEND = `INSERT INTO spend (quarter, account, tariff, charges, microcredits, input_tokens, output_tokens)
    VALUES (?, ?, ?, ?, ?, ?, ?)`;
const CHECKPOINT = 'UPDATE checkpoint SET through = ?, charged = charged + ?';
const COUNTED = `UPDATE traffic_counting SET version = version + 1, records_through = (SELECT max(seq) FROM records),
    journal_through = (SELECT max(seq) FROM journal)`;
const LAST_USE = 'UPDATE keys SET last_used = ? WHERE id = ?';
const INDEXES = `SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name IN ('record_index', 'spend') AND sql IS NOT NULL`;
const LAST = `SELECT (SELECT coalesce(max(seq), 0) FROM journal) AS seq, (SELECT coalesce(max(id), 0) FROM accounts) AS account,
    (SELECT coalesce(max(id), 0) FROM funds) AS fund`;

/** A window of a budget that requests draw on. */
export interface WindowFund {
  readonly name: string;
  readonly definition: string;
  readonly starts: number;
  readonly ends: number;
  readonly limit: Microcredits;
}

/** The sums of a quarter of an hour: charges, microcredits, input and output. */
type SpendSum = [number, number, number, number];

/** Writes requests directly into a data folder in the order of time, as its server would have written them. */
export class RowWriter implements Disposable {
  readonly #db: Database;
  readonly #base: Base;
  readonly #prepared = new Map<string, Prepared>();
  readonly #log: ReturnType<typeof sqliteRecordLog>;
  readonly #reader: SqlReader;
  readonly #now: number;
  /** The indexes are created at the end, because sorting once is faster. */
  readonly #indexes: readonly { readonly name: string; readonly sql: string }[];
  readonly #accounts = new Map<string, number>();
  readonly #fundIds = new Map<string, number>();
  readonly #lastUses = new Map<string, number>();
  #sums: TrafficSums;
  #spend = new Map<string, { readonly place: readonly [number, number, number]; readonly sum: SpendSum }>();
  #seq: number;
  #account: number;
  #fund: number;

  constructor(file: string, base: Base, now: number) {
    this.#db = new Database(file, { strict: true });
    // After a crash of the machine, the folder is generated again.
    this.#db.run('PRAGMA synchronous = OFF');
    this.#db.run('PRAGMA cache_size = -400000');
    this.#db.run('PRAGMA wal_autocheckpoint = 20000');
    this.#base = base;
    this.#now = now;
    this.#sums = new TrafficSums(keptFromAt(now));
    this.#reader = {
      query: async <Row>(statement: Statement, params = []) => this.#prepare(statement.sql).all(...params) as Row[],
    };
    this.#log = sqliteRecordLog({
      ...this.#reader,
      commit: () => Promise.reject(new Error('rows are written straight')),
    });
    this.#indexes = this.#db.query<{ name: string; sql: string }, []>(INDEXES).all();
    for (const { name } of this.#indexes) this.#db.run(`DROP INDEX ${name}`);
    const last = this.#db.query<{ seq: number; account: number; fund: number }, []>(LAST).get()!;
    [this.#seq, this.#account, this.#fund] = [last.seq, last.account, last.fund];
  }

  /** Writes the requests of a stretch of time in one transaction. @param fundsOf the windows that a request draws on */
  async write(
    requests: Iterable<PlannedRequest>,
    fundsOf: (request: PlannedRequest) => readonly WindowFund[],
  ): Promise<number> {
    this.#db.run('BEGIN IMMEDIATE');
    let count = 0;
    for (const request of requests) {
      this.#record(request.record);
      this.#book(request, fundsOf(request));
      this.#count(request);
      count++;
    }
    let charged = 0;
    for (const { place, sum } of this.#spend.values()) {
      this.#run(ADD_SPEND, ...place, ...sum);
      charged += sum[1];
    }
    this.#spend = new Map();
    // The index is created first, because charges use it to find their record.
    for (const write of indexingWrites(count)) this.#write(write);
    for (const write of await additionsTo(this.#reader, { put: putBuckets }, this.#sums)) this.#write(write);
    this.#sums = new TrafficSums(keptFromAt(this.#now));
    this.#run(CHECKPOINT, this.#seq, charged);
    this.#db.run(COUNTED);
    this.#db.run('COMMIT');
    return count;
  }

  [Symbol.dispose](): void {
    this.#db.run('BEGIN IMMEDIATE');
    for (const [id, time] of this.#lastUses) this.#run(LAST_USE, time, id);
    this.#db.run('COMMIT');
    for (const prepared of this.#prepared.values()) prepared.finalize();
    for (const { sql } of this.#indexes) this.#db.run(sql);
    this.#db.run('PRAGMA wal_checkpoint(TRUNCATE)');
    this.#db.run('PRAGMA optimize');
    this.#db.close();
  }

  #record(record: DecisionRecord): void {
    this.#write(this.#log.add(record) as SqlWrite);
    this.#lastUses.set(record.keyId, record.time);
  }

  #book(
    { record: { id, time, session }, outcome, key, selector, paid }: PlannedRequest,
    funds: readonly WindowFund[],
  ): void {
    const account = this.#accountOf(key, selector, session);
    const { charged, usage, totalMs } = outcome;
    const ids = funds.map((fund) => this.#fundOf(fund)).join(' ');
    this.#run(
      RESERVE,
      ++this.#seq,
      'reserve',
      id,
      account,
      Math.ceil(charged * 1.6) + 1_000,
      time,
      ids === '' ? null : ids,
    );
    const closing = [++this.#seq, 'settle', id, account, charged, time + totalMs] as const;
    if (paid === null || !usage) {
      this.#run(CLOSE, ...closing);
      return;
    }
    const { inputTokens, outputTokens } = usage;
    const { id: tariff, price } = this.#base.tariffs.get(paid)!;
    this.#run(SETTLE, ...closing, tariff, new BillWriter(price).text(usage), 0);
    const place = [quarterOf(time), account, tariff] as const;
    const { sum } = this.#spend.getOrInsertComputed(place.join(' '), () => ({ place, sum: [0, 0, 0, 0] }));
    sum[0]++;
    sum[1] += charged;
    sum[2] += inputTokens;
    sum[3] += outputTokens;
  }

  #count({ record, outcome, paid }: PlannedRequest): void {
    const traffic = trafficOf(record);
    this.#sums.addRequest(traffic);
    if (paid !== null) this.#sums.addMoney(traffic, outcome.charged);
  }

  #accountOf({ id, use, teamId, userId }: MadeKey, selector: string, session: string | null): number {
    const name = `${id} ${selector} ${session}`;
    let number = this.#accounts.get(name);
    if (number === undefined) {
      number = ++this.#account;
      this.#accounts.set(name, number);
      this.#run(ADD_ACCOUNT, number, id, JSON.stringify({ use }), selector, session, teamId, userId);
    }
    return number;
  }

  #fundOf({ name, definition, starts, ends, limit }: WindowFund): number {
    const text = `${name} ${starts}`;
    let number = this.#fundIds.get(text);
    if (number === undefined) {
      // The server that created the folder may have begun the window.
      number = this.#db.query<{ id: number }, SQLQueryBindings[]>(FIND_FUND).get(name, definition, starts)?.id;
      number ??= this.#addFund({ name, definition, starts, ends, limit });
      this.#fundIds.set(text, number);
    }
    return number;
  }

  #addFund({ name, definition, starts, ends, limit }: WindowFund): number {
    this.#run(ADD_FUND, ++this.#fund, name, definition, starts, ends, limit, this.#seq);
    return this.#fund;
  }

  #write({ statement, params }: SqlWrite): void {
    this.#prepare(statement.sql).run(...(params as SQLQueryBindings[]));
  }

  #run(text: string, ...params: SQLQueryBindings[]): void {
    this.#prepare(text).run(...params);
  }

  #prepare(text: string): Prepared {
    return this.#prepared.getOrInsertComputed(text, () => this.#db.prepare(text));
  }
}
