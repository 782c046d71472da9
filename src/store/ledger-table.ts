import type { Window } from '../core/accounting/window.ts';
import type { LedgerState, StoredBudget } from '../core/money/budget.ts';
import type { Microcredits } from '../core/money/credits.ts';
import type { Write } from './store.ts';

/** An open hold without an owner: the epoch of its instance is dead, or the hold expired long ago. */
export interface Orphan {
  readonly id: number;
  /** The amount of the orphaned hold in microcredits. */
  readonly reserved: Microcredits;
  readonly charged: Microcredits;
  /** The holder whose balance the hold draws on; null for none. */
  readonly holder: string | null;
}

/** A hold that expired longer ago than this, ms, counts as a hold without an owner. */
export const FORGOTTEN_MS = 60_000;

/** A reservation in the tables of a store. Amounts are microcredits. */
export interface StoredReservation {
  readonly reservation: number;
  /** The number of the account (key, labels, selector, session …) that the reservation counts for. */
  readonly account: number;
  readonly keyId: string;
  /** The wallet that paid instead of the key; null if the key's own balance paid, or no balance paid. */
  readonly payer: string | null;
  readonly isOpen: boolean;
  /** Whether a balance paid for the reservation. */
  readonly onBalance: boolean;
  readonly charged: Microcredits;
  /** Microcredits that upstreams billed beyond the charge, in entries before the end of the reservation. */
  readonly overrun: Microcredits;
  /** The sum refunded so far, including refunds that are requested but not applied yet. */
  readonly givenBack: Microcredits;
  /** The last adjustment that requested a refund; 0 for none. */
  readonly lastAdjustment: number;
}

/** The stored balance of a key or a wallet. */
export interface StoredBalance {
  /** Microcredits granted or paid in. */
  readonly granted: Microcredits;
  readonly spent: Microcredits;
}

/**
 * The ledger of a store, for commands that run while another process has the books open. Commands request grants and refunds in this table.
 * The process that has the books open applies the requests, or else the next process that opens the books. Reading methods reject with
 * StoreError. State: ledger name.
 */
export interface LedgerTable {
  /** @returns whether the store has a ledger */
  exists(): Promise<boolean>;
  /** @returns the name of the ledger, 32 hexadecimal digits; null if the store has no ledger */
  identity(): Promise<string | null>;
  /** @returns the terms that a policy must match */
  state(): Promise<LedgerState>;
  /** @returns the budgets of the active policy, in the order of the policy. Requires a ledger. */
  budgets(): Promise<readonly StoredBudget[]>;
  /** @returns the microcredits that a key was charged for its holds of a window, less refunds */
  spentIn(keyId: string, window: Window): Promise<Microcredits>;
  /**
   * Returns a balance, including requested grants.
   * @param holder the ID of a key, or the address of a wallet
   * @returns null for a key that was never granted anything. A wallet always has a balance.
   */
  balance(holder: string): Promise<StoredBalance | null>;
  /** @returns all balances by holder, including requested grants */
  balances(): Promise<ReadonlyMap<string, StoredBalance>>;
  /** @returns the microcredits ever granted to a key, or paid in by a wallet less fees, including requested grants */
  granted(holder: string): Promise<Microcredits>;
  /**
   * @returns a reservation by its ID; null if no reservation has the ID. The result is consistent if the reader reads a snapshot of one
   * moment.
   */
  reservation(id: number): Promise<StoredReservation | null>;
  /**
   * Deletes the stored results of holds that were made before a time (ms since 1970) and have ended. The journal entries of holds whose
   * results are deleted stay. Rejects with StoreError.
   * @returns the number of holds
   */
  prune(before: number): Promise<number>;
  /** @returns whether the process with the open books has applied every refund that was requested for a reservation */
  isAdopted(reservation: number): Promise<boolean>;
  /**
   * Requests a grant to a key or a wallet.
   * @param time ms since 1970
   */
  grant(holder: string, amount: Microcredits, note: string, time: number): Write;
  /**
   * Requests a refund. The commit fails with the reason `unmet` if another refund was requested after the reservation was read.
   * @param time ms since 1970
   */
  refund(reservation: StoredReservation, amount: Microcredits, note: string, time: number): Write;
}
