import type { SqlValue, SqlWrite, Statement } from '../../../../src/store/sql/statement.ts';
import type { SqlStore } from '../../../../src/store/sqlite/statement.ts';

/** How much of a commit is on the disk if the process dies during the commit: nothing, only earlier appends, or everything. */
export type DiskRemains = 'nothing' | 'appends' | 'all';

/** A dead process never answers. */
const never = <T>(): Promise<T> => new Promise<T>(() => {});

/** The store of a process that may die: between two commits or during one, with appends that are not written yet. */
export class MortalStore implements SqlStore {
  readonly died = Promise.withResolvers<void>();
  readonly #inner: SqlStore;
  #appended: (readonly SqlWrite[])[] = [];
  #isDead = false;
  #death: { commits: number; readonly left: DiskRemains } | null = null;

  constructor(inner: SqlStore) {
    this.#inner = inner;
  }

  /** Makes the process die during a commit, after a number of commits. */
  dieAt(commits: number, left: DiskRemains): void {
    this.#death = { commits, left };
  }

  liveOn(): void {
    this.#death = null;
  }

  die(): void {
    this.#isDead = true;
    this.died.resolve();
  }

  commit(writes: readonly SqlWrite[]): Promise<void> {
    if (this.#isDead) return never();
    if (this.#death && this.#death.commits-- === 0) {
      if (this.#death.left !== 'nothing') this.#forward();
      if (this.#death.left === 'all') void this.#inner.commit(writes);
      this.die();
      return never();
    }
    this.#forward();
    return this.#unlessDead(this.#inner.commit(writes));
  }

  append(writes: readonly SqlWrite[]): void {
    if (!this.#isDead) this.#appended.push(writes);
  }

  written(): Promise<boolean> {
    this.#forward();
    return this.#unlessDead(this.#inner.written());
  }

  query<Row>(statement: Statement, params?: readonly SqlValue[]): Promise<Row[]> {
    return this.#unlessDead(this.#inner.query<Row>(statement, params));
  }

  flush(): Promise<void> {
    this.#forward();
    return this.#unlessDead(this.#inner.flush());
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #forward(): void {
    if (this.#isDead) return;
    for (const writes of this.#appended.splice(0)) this.#inner.append(writes);
  }

  async #unlessDead<T>(told: Promise<T>): Promise<T> {
    const value = await told;
    return this.#isDead ? never() : value;
  }
}
