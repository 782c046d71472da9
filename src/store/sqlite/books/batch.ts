import { checkHeldSum, isCost } from '../../../accounting/held-sum.ts';
import type { HoldOp, OpResult } from '../../books.ts';
import type { Write } from '../../store.ts';
import type { BookedFund } from './fund-states.ts';

/** An operation that counts only once its rows are on the disk. */
export interface PendingOp {
  /** Called when its rows are written. A returned result replaces the decided one. */
  written(): OpResult | undefined;
  /** Called when its rows could not be written. Undoes the operation. */
  lost(): void;
}

const UNKNOWN: OpResult = { kind: 'refused', why: 'exhausted', fund: null };

/** Operations that are decided together and written in one commit. Each request makes two, so rarely used fields are null. */
export class Batch {
  readonly results: OpResult[] = [];
  /** Results that must be looked up, by index. */
  late: (Promise<OpResult> | undefined)[] | null = null;
  readonly writes: Write[] = [];
  /** By index of the result; null if no operation waits for the disk. */
  pending: (PendingOp | undefined)[] | null = null;
  /** Rows that are written even if the commit fails, of operations that cannot be refused. Null for none. */
  kept: Write[] | null = null;
  /** Funds in which money has come free, reported once the rows are given to the disk. */
  freed: (readonly BookedFund[])[] | null = null;

  /** Makes the operation that is being decided wait for the disk. */
  await(step: PendingOp): void {
    this.pending ??= [];
    this.pending[this.results.length] = step;
  }

  /** Takes the result of the operation that is being decided from a query: it repeats one that memory has forgotten. */
  lookUp(result: Promise<OpResult>): void {
    this.late ??= [];
    this.late[this.results.length] = result;
    this.results.push(UNKNOWN);
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

/** Throws RangeError for amounts that no reservation can have. */
export function checkAmounts({ amounts, least, ample }: Pick<HoldOp, 'amounts' | 'least' | 'ample'>): void {
  for (const amount of amounts) checkHeldSum(amount, null);
  if (ample !== undefined) checkHeldSum(ample, null);
  if (least !== undefined && !(isCost(least) && least <= amounts[0]))
    throw new RangeError(`cannot reserve from ${least} up to ${amounts[0]} microcredits`);
}

/** The results of a batch, with those that were looked up. */
export async function resultsOf({ results, late }: Batch): Promise<readonly OpResult[]> {
  return late ? Promise.all(results.map((result, at) => late[at] ?? result)) : results;
}
