import type { OpResult } from '../../books.ts';
import type { Write } from '../../store.ts';
import type { BookedFund } from './fund-states.ts';

/** An operation that has happened only once its rows are on the disk. */
export interface PendingOp {
  /** They are; a result replaces the one that was decided on. */
  written(): OpResult | null;
  /** They could not be written: undoes it. */
  lost(): void;
}

const UNKNOWN: OpResult = { kind: 'refused', why: 'exhausted', fund: null };

/** Operations that are decided together, and written in one commit. Each request makes two: what most have not is null. */
export class Batch {
  readonly results: OpResult[] = [];
  /** Results that have to be looked up, by their places. */
  late: (Promise<OpResult> | undefined)[] | null = null;
  readonly writes: Write[] = [];
  /** By the place of its result; null: nothing waits for the disk. */
  pending: (PendingOp | undefined)[] | null = null;
  /** Rows that are written even where the commit fails: of operations that cannot be refused. Null for none. */
  kept: Write[] | null = null;
  /** Funds in which money has come free, reported once the rows are given to the disk. */
  freed: (readonly BookedFund[])[] | null = null;

  /** The operation that is being decided waits for the disk. */
  await(step: PendingOp): void {
    this.pending ??= [];
    this.pending[this.results.length] = step;
  }

  /** The operation that is being decided repeats one that memory has forgotten. */
  lookUp(result: Promise<OpResult>): void {
    this.late ??= [];
    this.late[this.results.length] = result;
    this.results.push(UNKNOWN);
  }

  /** The operation that was decided last, whose rows begin at `from`, happens even where the others of the batch do not. */
  keep(from: number): void {
    this.kept ??= [];
    this.kept.push(...this.writes.slice(from));
  }

  free(funds: readonly BookedFund[]): void {
    this.freed ??= [];
    this.freed.push(funds);
  }
}
