import type { SqlValue, SqlWrite, Statement } from '../../../src/store/sql/statement.ts';
import type { SqlStore } from '../../../src/store/sqlite/statement.ts';
import { StoreError } from '../../../src/store/store.ts';

interface Unit {
  readonly writes: readonly SqlWrite[];
  /** The promise of a commit; an append has none. */
  readonly answer: { resolve(): void; reject(error: StoreError): void } | null;
}

/**
 * A store whose disk can stall and fail in the order of a real disk. While the gate is shut, commits are pending and appends wait. When the
 * gate opens, either everything is written, or commits fail one by one and the appends stay queued.
 */
export class GatedStore implements SqlStore {
  readonly inner: SqlStore;
  /** The commits that are being written. */
  readonly busy = new Set<Promise<void>>();
  #shut = false;
  #queue: Unit[] = [];
  readonly #opened: (() => void)[] = [];

  constructor(inner: SqlStore) {
    this.inner = inner;
  }

  get isShut(): boolean {
    return this.#shut;
  }

  shut(): void {
    this.#shut = true;
  }

  /** Writes everything that waits. */
  open(): void {
    this.#shut = false;
    for (const { writes, answer } of this.#queue.splice(0)) {
      if (answer) this.#pass(writes).then(answer.resolve, answer.reject);
      else this.inner.append(writes);
    }
    for (const tell of this.#opened.splice(0)) tell();
  }

  /**
   * Makes the first pending commit fail.
   * @returns the writes of that commit, or null if there is none
   */
  failFirst(): readonly SqlWrite[] | null {
    const at = this.#queue.findIndex(({ answer }) => answer !== null);
    if (at < 0) return null;
    const [{ writes, answer } = { writes: [], answer: null }] = this.#queue.splice(at, 1);
    answer?.reject(new StoreError('the disk is full'));
    return writes;
  }

  commit(writes: readonly SqlWrite[]): Promise<void> {
    if (!this.#shut) return this.#pass(writes);
    return new Promise((resolve, reject) => this.#queue.push({ writes, answer: { resolve, reject } }));
  }

  append(writes: readonly SqlWrite[]): void {
    if (this.#shut) this.#queue.push({ writes, answer: null });
    else this.inner.append(writes);
  }

  /** While the gate is shut, nothing is written, and the answer comes only after it opens. */
  async written(): Promise<boolean> {
    if (this.#shut) await new Promise<void>((resolve) => this.#opened.push(resolve));
    return this.inner.written();
  }

  query<Row>(statement: Statement, params?: readonly SqlValue[]): Promise<Row[]> {
    return this.inner.query(statement, params);
  }
  flush(): Promise<void> {
    return this.inner.flush();
  }
  close(): Promise<void> {
    return this.inner.close();
  }

  #pass(writes: readonly SqlWrite[]): Promise<void> {
    const done = this.inner.commit(writes);
    this.busy.add(done);
    const end = () => this.busy.delete(done);
    done.then(end, end);
    return done;
  }
}
