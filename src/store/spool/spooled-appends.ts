import { messageOf } from '../../core/thrown.ts';
import type { WriteUnit } from '../group-commit.ts';
import type { SqlWrite } from '../sql/statement.ts';
import { SpoolError, StoreError } from '../store.ts';
import { type Spool, spooledRows } from './spool.ts';

/**
 * The appends that a database refuses. If there is a spool, the spool stores the settlements in these appends; without a spool, the appends
 * wait only in memory. State: writes.
 */
export class SpooledAppends {
  spool: Pick<Spool, 'add' | 'clear'> | null = null;
  /** Returns the rows of a unit that the spool keeps. */
  encode = spooledRows;
  /** The number of appends that should survive the process, but are neither in the database nor in the spool. */
  unkept = 0;
  readonly #kept = new WeakSet<WriteUnit<SqlWrite>>();
  readonly #onError: (error: StoreError, isFirst: boolean) => void;
  #isFailing = false;

  /** @param onError called each time that the spool fails; `isFirst`: the spool worked before */
  constructor(onError: (error: StoreError, isFirst: boolean) => void) {
    this.#onError = onError;
  }

  /** Has the same contract as `GroupedDatabase.keep`. */
  keep(appends: readonly WriteUnit<SqlWrite>[]): boolean {
    const fresh = appends.filter((unit) => !this.#kept.has(unit));
    const rows = fresh.map(({ writes }) => this.encode(writes)).filter(({ length }) => length > 0);
    const isKept = rows.length === 0 || this.#try((spool) => spool.add(rows));
    if (isKept) for (const unit of fresh) this.#kept.add(unit);
    this.unkept = isKept ? 0 : rows.length;
    return isKept;
  }

  /** Has the same contract as `GroupedDatabase.written`. */
  written(synced: boolean): void {
    this.unkept = 0;
    if (synced) this.#try((spool) => spool.clear());
  }

  #try(work: (spool: Pick<Spool, 'add' | 'clear'>) => void): boolean {
    try {
      if (!this.spool) return false;
      work(this.spool);
      this.#isFailing = false;
      return true;
    } catch (cause) {
      this.#onError(
        cause instanceof StoreError ? cause : new SpoolError(messageOf(cause), { cause }),
        !this.#isFailing,
      );
      this.#isFailing = true;
      return false;
    }
  }
}
