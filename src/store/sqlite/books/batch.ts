import type { OpResult } from '../../books.ts';
import type { Write } from '../../store.ts';
import type { BookedFund } from './fund-states.ts';

/** An operation that counts only once its rows are on the disk. */
export interface PendingOp {
  /** Called when its rows are written. A returned result replaces the decided one. */
  written(): OpResult | undefined;
  /** Called when its rows could not be written. Undoes the operation. */
  lost(): void;
}

/** Operations that are decided together and written in one commit. Each request makes two, so rarely used fields are null. */
export class Batch {
  readonly results: OpResult[] = [];
  readonly writes: Write[] = [];
  /** By index of the result; null if no operation waits for the disk. */
  pending: (PendingOp | undefined)[] | null = null;
  /** Whether one of its operations was granted before. */
  isRepeated = false;
  /** Rows that are written even if the commit fails, of operations that cannot be refused. Null for none. */
  kept: Write[] | null = null;
  /** Funds in which money has come free, reported once the rows are given to the disk. */
  freed: (readonly BookedFund[])[] | null = null;

  /** Makes the operation that is being decided wait for the disk. */
  await(step: PendingOp): void {
    this.pending ??= [];
    this.pending[this.results.length] = step;
  }

  /** Keeps the operation that was decided last, whose rows begin at `from`, even if the rest of the batch fails. */
  keep(from: number): void {
    this.kept ??= [];
    this.kept.push(...this.writes.slice(from));
  }

  free(funds: readonly BookedFund[]): void {
    if (funds.length === 0) return;
    this.freed ??= [];
    this.freed.push(funds);
  }
}
