import type { OpResult } from '../../books.ts';
import type { Write } from '../../store.ts';
import type { BookedFund } from './fund-states.ts';

/** An operation that has happened only once its rows are on the disk. */
export interface Pending {
  /** They are; a result replaces the one that was decided on. */
  written(): OpResult | null;
  /** They could not be written: undoes it. */
  lost(): void;
}

/** Operations that are decided together, and written in one commit. */
export class Batch {
  readonly results: (OpResult | Promise<OpResult>)[] = [];
  readonly writes: Write[] = [];
  /** With the place of its result. Empty: nothing waits for the disk. */
  readonly pending: { readonly at: number; readonly step: Pending }[] = [];
  /** Funds in which money has come free, told once the rows are given to the disk. */
  readonly freed: (readonly BookedFund[])[] = [];

  /** The operation that is being decided waits for the disk. */
  await(step: Pending): void {
    this.pending.push({ at: this.results.length, step });
  }
}
