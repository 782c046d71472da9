import { checkHeldSum, isCost } from '../core/accounting/held-sum.ts';
import type { HoldOp, LedgerOp } from './books.ts';

/** Returns the number of holds among operations. @throws RangeError for operations that only a bug in the program can produce */
export function checkOps(ops: readonly LedgerOp[]): number {
  let holds = 0;
  for (let i = 0; i < ops.length; i++) {
    const op = ops[i]!;
    if (op.kind === 'hold' || op.kind === 'earmark' || op.kind === 'extend') checkAmounts(op);
    if (op.kind === 'hold' || op.kind === 'capture') holds++;
    if (i > 0 && (op.kind === 'grant' || op.kind === 'correct')) throw new RangeError(`a ${op.kind} comes alone`);
  }
  return holds;
}

/** @throws RangeError for amounts that no hold can have */
function checkAmounts({ amounts, least, ample }: Pick<HoldOp, 'amounts' | 'least' | 'ample'>): void {
  for (const amount of amounts) checkHeldSum(amount, null);
  if (ample !== undefined) checkHeldSum(ample, null);
  if (least !== undefined && !(isCost(least) && least <= amounts[0]))
    throw new RangeError(`cannot reserve from ${least} up to ${amounts[0]} microcredits`);
}
