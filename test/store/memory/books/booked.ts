import { checkDeposit, type Dimensions } from '../../../../src/core/accounting/entry.ts';
import type { Fund, FundStanding } from '../../../../src/core/accounting/fund.ts';
import * as rules from '../../../../src/core/accounting/held-sum.ts';
import { isAddress } from '../../../../src/core/money/holder-address.ts';
import type { EarmarkOp, LedgerOp, OpResult } from '../../../../src/store/books.ts';
import type { InstanceName } from '../../../../src/store/instance.ts';

export interface MemoryReservation {
  readonly id: number;
  readonly owner: InstanceName;
  readonly expiresAt: number;
  readonly dimensions: Dimensions;
  funds: readonly Fund[];
  state: rules.HeldSum;
  readonly first: OpResult;
  readonly steps: Map<number, OpResult>;
  closing: OpResult | null;
  /** For an expired hold: its sums without the expiry, until the hold is settled after all. */
  late: rules.HeldSum | null;
  /** The result of the settlement after the expiry; null before. */
  corrected: OpResult | null;
  overrun: number;
  extending: number;
  givenBack: number;
}

/** A grant or a refund (negative) that a command has requested. */
export interface MemoryRequest {
  /** The hold to refund; null for a grant. */
  readonly reservation: number | null;
  readonly holder: string;
  readonly amount: number;
  readonly note: string;
  readonly time: number;
  isAdopted: boolean;
}

export interface MemoryEarmark {
  readonly owner: InstanceName;
  readonly op: EarmarkOp;
  readonly amount: number;
  funds: readonly Fund[];
}

export const granted = (amount: number): OpResult => ({ kind: 'granted', amount });
/** The initial fields of every reservation. */
export const openReservation = (amount: number) => ({
  state: rules.openHeldSum(amount, null),
  first: granted(amount),
  steps: new Map<number, OpResult>(),
  closing: null,
  late: null,
  corrected: null,
  overrun: 0,
  extending: 0,
  givenBack: 0,
});
export const refused = (why: 'exhausted' | 'contended', fund: FundStanding | null): OpResult => ({
  kind: 'refused',
  why,
  fund,
});
/** A step that the store must confirm. Call `undo` if the store could not write it. */
export interface PendingStep {
  done(): OpResult | null;
  undo(): void;
}

export function check(op: LedgerOp): void {
  if (op.kind === 'hold' || op.kind === 'earmark' || op.kind === 'extend') {
    const ample = op.kind === 'extend' ? 0 : (op.ample ?? 0);
    for (const amount of [...op.amounts, ample]) rules.openHeldSum(amount, null);
    if (op.least !== undefined) rules.openHeldSum(op.least, op.amounts[0]);
  }
  if (op.kind === 'deposit' || op.kind === 'capture') checkDeposit(op.deposit);
  if ((op.kind === 'deposit' || op.kind === 'waive') && !isAddress(op.holder)) throw new RangeError('not a wallet');
}

/** Charges at most `most`. */
export function capped(
  { state }: Pick<MemoryReservation, 'state'>,
  most: number,
  charge: (state: rules.HeldSum) => rules.Step,
): rules.Step {
  const step = charge({ ...state, amount: Math.min(state.amount, state.charged + most) });
  return { ...step, next: { ...step.next, amount: state.amount } };
}
