import { type News, NewsDesk, type NewsNumbers, type NewsSubject } from '../../../src/store/news.ts';
import { type Deferral, type Store, StoreError, type Write } from '../../../src/store/store.ts';

/** A change of tables in memory. */
interface MemoryWrite extends Write {
  readonly apply: () => void;
}

const isOwn = (write: Write): write is MemoryWrite => 'apply' in write;

/** Rows by their key, in no order that readers may rely on. Changed by writes alone. */
export class MemoryTable<Key extends string | number, Row> {
  readonly #rows = new Map<Key, Row>();
  readonly #store: MemoryStore;

  constructor(store: MemoryStore) {
    this.#store = store;
  }

  get(key: Key): Row | undefined {
    return this.#rows.get(key);
  }

  rows(): Row[] {
    return [...this.#rows.values()];
  }

  put(key: Key, row: Row): void {
    this.#keep(key);
    this.#rows.set(key, row);
  }

  delete(key: Key): void {
    this.#keep(key);
    this.#rows.delete(key);
  }

  #keep(key: Key): void {
    const isThere = this.#rows.has(key);
    const before = this.#rows.get(key);
    this.#store.undoBy(() => {
      if (isThere) this.#rows.set(key, before!);
      else this.#rows.delete(key);
    });
  }
}

/** A store without a disk: a second implementation of the interface, for tests. */
export class MemoryStore implements Store, Deferral {
  readonly activity = { commits: { counts: new Float64Array(15), sum: 0 }, waiting: 0, errors: 0, isFailing: false };
  readonly unkept = 0;
  /** Errors of appends that were refused. */
  readonly lost: StoreError[] = [];
  /** Refuses every commit while it is not null. */
  fault: StoreError | null = null;
  readonly news: News;
  /** Called with the numbers after each commit that has raised some. */
  readonly newsHeard = new Set<(numbers: NewsNumbers) => void>();
  readonly #desk = new NewsDesk();
  #numbers: NewsNumbers = {
    keys: 0,
    wallets: 0,
    funds: 0,
    budgets: 0,
    policy: 0,
    endpoints: 0,
    learning: 0,
    people: 0,
    logins: 0,
    instances: 0,
  };
  #undo: (() => void)[] = [];
  #isClosed = false;

  constructor() {
    this.news = {
      raise: (subject) => this.write(() => this.raised(subject)),
      on: (subject, listener) => this.#desk.on(subject, listener),
      look: () => this.#desk.tell(this.#numbers),
      ageOf: () => 0,
      lookEveryMs: 100,
    };
    // A listener that fails is called again by the next look.
    this.newsHeard.add((numbers) => void this.#desk.tell(numbers).catch(() => {}));
  }

  get newsNumbers(): NewsNumbers {
    return this.#numbers;
  }

  /** The number of a subject within the commit that is under way, which raises it. */
  raised(subject: NewsSubject): number {
    const before = this.#numbers;
    this.#numbers = { ...before, [subject]: before[subject] + 1 };
    this.undoBy(() => {
      this.#numbers = before;
    });
    return this.#numbers[subject];
  }

  write(apply: () => void): MemoryWrite {
    return { apply };
  }

  undoBy(undo: () => void): void {
    this.#undo.push(undo);
  }

  async commit(writes: readonly Write[]): Promise<void> {
    if (this.#isClosed) throw new StoreError('the store is closed', { reason: 'closed' });
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
    this.#isClosed = true;
  }

  makeRoom(): void {}

  #apply(writes: readonly Write[]): void {
    this.#undo = [];
    const before = this.#numbers;
    try {
      for (const write of writes) {
        if (!isOwn(write)) throw new Error('a write of another store');
        write.apply();
      }
    } catch (error) {
      this.rollBack(this.#undo);
      throw error;
    }
    if (this.#numbers !== before) for (const heard of this.newsHeard) heard(this.#numbers);
  }

  rollBack(undo: readonly (() => void)[]): void {
    for (const step of undo.toReversed()) step();
  }
}

/** Fails the commit of a conditional write. */
export const unmet = (): never => {
  throw new StoreError('its condition is not met', { reason: 'unmet' });
};

/** Fails the commit of a write that breaks a rule of its table. */
export const refuse = (rule: string): never => {
  throw new StoreError(`a write was refused: ${rule}`, { reason: 'refused' });
};
