import type { OpResult } from '../../books.ts';
import type { Write } from '../../store.ts';
import type { BookedFund } from './fund-states.ts';

/** An operation that takes effect only once its rows are on the disk. */
export interface PendingOp {
  /** A function that is called when the rows are written. If the function returns a result, this result replaces the earlier result. */
  written(): OpResult | undefined;
  /** A function that is called when the rows could not be written, and that undoes the operation. */
  lost(): void;
}

/**
 * A batch of operations that are decided together and written in a single commit. Each request makes two batches, so rarely used fields of
 * a batch are null.
 */
export class Batch {
  readonly results: OpResult[] = [];
  readonly writes: Write[] = [];
  /** Pending operations, by the index of their result; null if no operation waits for the disk. */
  pending: (PendingOp | undefined)[] | null = null;
  /** Whether any operation of the batch was already granted earlier. */
  isRepeated = false;
  /** The rows of operations that cannot be refused. These rows are written even if the commit fails. Null for no rows. */
  kept: Write[] | null = null;
  /** The funds in which money has become free. These funds are reported once the rows are handed to the disk. */
  freed: (readonly BookedFund[])[] | null = null;

  /** Makes the operation that is being decided wait for the disk. */
  await(step: PendingOp): void {
    this.pending ??= [];
    this.pending[this.results.length] = step;
  }

  /**
   * Marks the operation that was just decided, whose rows begin at `from`, so that its rows are written even if the rest of the batch
   * fails.
   */
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
