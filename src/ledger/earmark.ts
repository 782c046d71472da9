import type { Microcredits } from '../core/credits.ts';
import type { Write } from '../store/store.ts';
import type { Hold } from './hold.ts';

/** Money that came into a wallet's balance from outside. */
export interface Deposit {
  /** What arrived; 0 where only a fee is given back. */
  readonly paid: Microcredits;
  /** What of it the operator keeps for having it settled; negative for what is given back. */
  readonly fee: Microcredits;
  /** Of the payment, for the journal. */
  readonly note: string;
}

/**
 * Money set aside, in memory alone, for an order that a payment under way will pay: in every window the worst case, in
 * the wallet's balance what of it the payment does not bring. It ends once: captured, or released.
 */
export interface Earmark {
  /** What the hold will have reserved. */
  readonly amount: Microcredits;
  /**
   * The payment has arrived: books the deposit, the reservation and `also` in one commit. Null when the balance was
   * lowered meanwhile and no longer suffices: then the deposit and `also` are booked all the same, and nothing is held.
   * Rejects with StoreError when it could not be written: then nothing is booked and nothing held.
   */
  capture(deposit: Deposit, also: readonly Write[]): Promise<Hold | null>;
  /** Nothing has arrived. Harmless after the end. */
  release(): void;
}
