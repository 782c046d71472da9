import type { OpResult } from '../../books.ts';
import type { Write } from '../../store.ts';
import type { BookedFund } from './fund-states.ts';

/** An operation that takes effect only once its rows are on the disk. */
export interface PendingOp {
  /** Called when the rows are written. If it returns a result, this replaces the earlier result. */
  written(): OpResult | undefined;
  /** Called when the rows could not be written. Undoes the operation. */
  lost(): void;
}

/** Operations that are decided together and written in one commit. Each request makes two batches, so rarely used fields are null. */
export class Batch {
  readonly results: OpResult[] = [];
  readonly writes: Write[] = [];
  /** Pending operations, by the index of their result; null if no operation waits for the disk. */
  pending: (PendingOp | undefined)[] | null = null;
  /** Whether one of its operations was already granted earlier. */
  isRepeated = false;
  /** Rows of operations that cannot be refused. They are written even if the commit fails. Null for none. */
  kept: Write[] | null = null;
  /** Funds in which money has become free. They are reported once the rows are handed to the disk. */
  freed: (readonly BookedFund[])[] | null = null;

  /** Makes the operation that is being decided wait for the disk. */
  await(step: PendingOp): void {
    this.pending ??= [];
    this.pending[this.results.length] = step;
  }

  /** Marks the operation that was just decided, whose rows begin at `from`: its rows are written even if the rest of the batch fails. */
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
