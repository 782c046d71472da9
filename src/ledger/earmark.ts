import type { Microcredits } from '../core/credits.ts';
import type { Write } from '../store/store.ts';
import type { Account } from './accounts.ts';
import type { DrawnFund } from './drawn-fund.ts';
import type { Hold } from './hold.ts';
import type { ReservationRequest } from './reservation-request.ts';
import { checkDeposit, type Deposit } from './rules/entry.ts';

/**
 * Money set aside, in memory alone, for an order that a payment under way will pay: in every window the worst case, in
 * the wallet's balance the part of it that the payment does not bring. It ends once: captured, or released.
 */
export interface Earmark {
  /** Microcredits that the hold will have reserved. */
  readonly amount: Microcredits;
  /**
   * The payment has arrived: books the deposit, the reservation and `also` in one commit.
   *
   * @returns null when the balance was lowered meanwhile and no longer suffices: then the deposit and `also` are booked all
   * the same, and nothing is held
   * @throws StoreError, by rejecting, when it could not be written: then nothing is booked and nothing held
   */
  capture(deposit: Deposit, also: readonly Write[]): Promise<Hold | null>;
  /** Nothing has arrived. Harmless after the end. */
  release(): void;
}

/** Makes an earmark a reservation, or gives it back. */
export interface EarmarkDesk {
  capture(earmark: FundEarmark, deposit: Deposit, also: readonly Write[]): Promise<Hold | null>;
  release(earmark: FundEarmark): void;
}

/** An earmark on the books. */
export class FundEarmark implements Earmark {
  readonly order: ReservationRequest;
  readonly account: Account;
  funds: readonly DrawnFund[];
  amount: Microcredits = 0;
  readonly #desk: EarmarkDesk;
  #hasEnded = false;

  constructor(
    drawing: { order: ReservationRequest; account: Account; funds: readonly DrawnFund[] },
    desk: EarmarkDesk,
  ) {
    this.order = drawing.order;
    this.account = drawing.account;
    this.funds = drawing.funds;
    this.#desk = desk;
  }

  get id(): number {
    return this.order.id;
  }

  async capture(deposit: Deposit, also: readonly Write[]): Promise<Hold | null> {
    checkDeposit(deposit);
    if (this.#hasEnded) throw new Error('an earmark is captured once, and not after its release');
    this.#hasEnded = true;
    return this.#desk.capture(this, deposit, also);
  }

  release(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#desk.release(this);
  }
}
