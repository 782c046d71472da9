import { Database, type Statement as Prepared } from 'bun:sqlite';
import { messageOf } from '../../../src/core/thrown.ts';
import { type News, NewsDesk, type NewsNumbers, type NewsSubject } from '../../../src/store/news.ts';
import { raiseOf, SELECT_NUMBERS } from '../../../src/store/sql/news.ts';
import type { SqlParam, SqlRow, SqlTables, SqlValue, SqlWrite, Statement } from '../../../src/store/sql/statement.ts';
import { faultOf, unreadable } from '../../../src/store/sqlite/fault.ts';
import { FENCE_TABLE } from '../../../src/store/sqlite/fence.ts';
import { migrate } from '../../../src/store/sqlite/migrate.ts';
import { NEWS_TABLE } from '../../../src/store/sqlite/news.ts';
import { ALL_TABLES } from '../../../src/store/sqlite/open.ts';
import { sqliteRepositories } from '../../../src/store/sqlite/repositories.ts';
import { runScript } from '../../../src/store/sqlite/script.ts';
import { type Deferral, type Store, StoreError, type Write } from '../../../src/store/store.ts';

/** A change of books or leaders in memory, committed together with writes of repositories. */
interface MemoryWrite extends Write {
  readonly apply: () => void;
}

const isOwn = (write: Write): write is MemoryWrite => 'apply' in write;
const isSql = (write: Write): write is SqlWrite => 'statement' in write;

/**
 * A database in memory with the tables of SQLite. Stores use these tables one after another, because creating the tables takes longer than
 * most tests.
 */
class Tables {
  static readonly #free: Tables[] = [];
  static #laid: Uint8Array | null = null;
  readonly #db: Database;
  readonly #prepared = new Map<string, Prepared<unknown, SqlParam[]>>();

  private constructor(laid: Uint8Array) {
    this.#db = Database.deserialize(laid, { strict: true });
    this.#db.run('PRAGMA foreign_keys = ON');
  }

  static take(): Tables {
    const free = Tables.#free.pop();
    if (free) return free;
    Tables.#laid ??= layTables();
    return new Tables(Tables.#laid);
  }

  giveBack(): void {
    this.#db.run('ROLLBACK');
    Tables.#free.push(this);
  }

  /** Begins a transaction, so that everything a store writes is rolled back when it returns the tables. */
  begin(): void {
    this.#db.run('BEGIN');
  }

  run(text: string): void {
    this.prepare(text).run();
  }

  prepare(text: string): Prepared<unknown, SqlParam[]> {
    let prepared = this.#prepared.get(text);
    if (!prepared) {
      prepared = this.#db.prepare<unknown, SqlParam[]>(text);
      this.#prepared.set(text, prepared);
    }
    return prepared;
  }
}

function layTables(): Uint8Array {
  const db = new Database(':memory:', { strict: true });
  // Small pages suffice, because most tables have a few rows.
  db.run('PRAGMA page_size = 512');
  // The triggers of the other tables need the news table.
  migrate(db, [...new Set([NEWS_TABLE, ...ALL_TABLES, FENCE_TABLE])]);
  const laid = db.serialize();
  db.close();
  return laid;
}

/**
 * A store in memory for tests, with the repositories of SQLite. Each commit runs in the turn in which it is made. A commit may also contain
 * changes of books and leaders in memory.
 */
export class MemoryStore implements Store, Deferral, SqlTables {
  readonly activity = { commits: { counts: new Float64Array(15), sum: 0 }, waiting: 0, errors: 0, isFailing: false };
  readonly unkept = 0;
  /** Errors of appends that were refused. */
  readonly lost: StoreError[] = [];
  /** While this is not null, every commit is refused with it. */
  fault: StoreError | null = null;
  readonly news: News;
  /** Called with the news numbers after each commit that has raised some. */
  readonly newsHeard = new Set<(numbers: NewsNumbers) => void>();
  readonly #desk = new NewsDesk();
  /** The tables; null once the store is closed. */
  #tables: Tables | null = Tables.take();
  #numbers: NewsNumbers;
  #undo: (() => void)[] = [];
  /** Whether the commit in progress has written to the tables. */
  #hasWritten = false;

  constructor() {
    this.#open.begin();
    this.#numbers = this.#readNumbers();
    this.news = {
      raise: raiseOf,
      on: (subject, listener) => this.#desk.on(subject, listener),
      look: () => this.#desk.tell(this.#numbers),
      ageOf: () => 0,
      lookEveryMs: 100,
    };
    // A listener that fails is called again at the next poll.
    this.newsHeard.add((numbers) => void this.#desk.tell(numbers).catch(() => {}));
  }

  get newsNumbers(): NewsNumbers {
    return this.#numbers;
  }

  /** Raises a subject within the commit in progress. */
  raised(subject: NewsSubject): void {
    this.#write(raiseOf(subject));
  }

  write(apply: () => void): MemoryWrite {
    return { apply };
  }

  undoBy(undo: () => void): void {
    this.#undo.push(undo);
  }

  async query<Row>(statement: Statement, params: readonly SqlValue[] = []): Promise<Row[]> {
    // A database in memory has no write-ahead log to empty.
    if (statement.sql.startsWith('PRAGMA wal_checkpoint')) return [];
    try {
      return this.#open.prepare(statement.sql).all(...params) as Row[];
    } catch (error) {
      throw unreadable(error);
    }
  }

  async commit(writes: readonly Write[]): Promise<void> {
    if (this.fault) throw this.fault;
    this.#apply(writes);
  }

  defer(write: Write): void {
    this.append([write]);
  }

  append(writes: readonly Write[]): void {
    try {
      this.#apply(writes);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      this.lost.push(error);
    }
  }

  async written(): Promise<boolean> {
    return true;
  }

  async flush(): Promise<void> {}

  async close(): Promise<void> {
    this.#tables?.giveBack();
    this.#tables = null;
  }

  makeRoom(): void {}

  get #open(): Tables {
    if (!this.#tables) throw new StoreError('the store is closed', { reason: 'closed' });
    return this.#tables;
  }

  #apply(writes: readonly Write[]): void {
    const tables = this.#open;
    this.#undo = [];
    this.#hasWritten = false;
    try {
      for (const write of writes) {
        if (isOwn(write)) write.apply();
        else if (isSql(write)) this.#write(write);
        else throw new Error('a write of another store');
      }
      if (this.#hasWritten) tables.run('RELEASE a_commit');
    } catch (error) {
      for (const step of this.#undo.toReversed()) step();
      if (this.#hasWritten) {
        tables.run('ROLLBACK TO a_commit');
        tables.run('RELEASE a_commit');
      }
      throw error;
    }
    if (this.#hasWritten) this.#tellNews();
  }

  #write({ statement, params, follow }: SqlWrite): void {
    const tables = this.#open;
    if (!this.#hasWritten) tables.run('SAVEPOINT a_commit');
    this.#hasWritten = true;
    let count = 0;
    try {
      const prepared = tables.prepare(statement.sql);
      if (follow) {
        const rows = prepared.all(...params) as SqlRow[];
        count = rows.length;
        if (count > 0) runScript(follow(rows), (step) => tables.prepare(step.statement.sql));
      } else count = prepared.run(...params).changes;
    } catch (cause) {
      throw new StoreError(`a write was refused: ${messageOf(cause)}`, { reason: faultOf(cause), cause });
    }
    if (count === 0 && statement.mustChange) unmet();
  }

  #readNumbers(): NewsNumbers {
    return this.#open.prepare(SELECT_NUMBERS.sql).get() as NewsNumbers;
  }

  #tellNews(): void {
    const numbers = this.#readNumbers();
    if (Bun.deepEquals(numbers, this.#numbers)) return;
    this.#numbers = numbers;
    for (const heard of this.newsHeard) heard(numbers);
  }
}

/** A store in memory with its repositories. Closing the store returns its tables for the next test. */
export function storeInMemory() {
  const store = new MemoryStore();
  const repositories = sqliteRepositories(store);
  const { all } = repositories.instanceReports;
  // This store has no leases, so every instance that has reported counts as running.
  const present = async () => (await all()).map(({ slot, epoch }) => ({ slot, epoch, renewed: null }));
  return Object.assign(store, repositories, { instanceReports: { ...repositories.instanceReports, present } });
}

/** Fails the commit of a conditional write. */
export const unmet = (): never => {
  throw new StoreError('its condition is not met', { reason: 'unmet' });
};
