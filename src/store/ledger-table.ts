import type { Window } from '../core/accounting/window.ts';
import type { LedgerState, StoredBudget } from '../core/budget.ts';
import type { Microcredits } from '../core/credits.ts';
import type { Write } from './store.ts';

/** An open hold whose owner is gone: the epoch of its instance is dead, or it expired long ago. */
export interface Orphan {
  readonly id: number;
  /** Microcredits. */
  readonly reserved: Microcredits;
  readonly charged: Microcredits;
  /** The holder whose balance it draws on; null without one. */
  readonly holder: string | null;
}

/** A hold that expired so long ago has no owner who would end it, ms. */
export const FORGOTTEN_MS = 60_000;

/** A reservation as its store has it. Amounts are microcredits. */
export interface StoredReservation {
  readonly reservation: number;
  /** The group of dimensions that it counts for. */
  readonly account: number;
  readonly keyId: string;
  /** The wallet that paid in the place of the key; null where the key's own balance did, or none. */
  readonly payer: string | null;
  readonly isOpen: boolean;
  /** Whether a balance paid for it. */
  readonly onBalance: boolean;
  readonly charged: Microcredits;
  /** Billed beyond that by upstreams, of what stands before its end. */
  readonly overrun: Microcredits;
  /** The sum given back so far, pending corrections included. */
  readonly givenBack: Microcredits;
  /** The last adjustment that requested it; 0 for none. */
  readonly lastAdjustment: number;
}

/** The balance of a key or a wallet as its store has it. */
export interface StoredBalance {
  /** Granted or paid in. */
  readonly granted: Microcredits;
  readonly spent: Microcredits;
}

/**
 * The ledger of a store, for commands beside the process that has the books open. Grants and refunds are requested here;
 * that process adopts them, or the next one that opens the books. Reading methods reject with StoreError. State: ledger name.
 */
export interface LedgerTable {
  /** @returns whether there is a ledger of this version. */
  exists(): Promise<boolean>;
  /** @returns the name of the ledger, 32 hexadecimal digits; null for one that has none: an empty one, or one of 0.1. */
  identity(): Promise<string | null>;
  /** @returns the terms that a policy must fit, of a ledger of any version. */
  state(): Promise<LedgerState>;
  /** @returns the budgets of the policy in force, in its order, of a ledger of this version. */
  budgets(): Promise<readonly StoredBudget[]>;
  /** @returns microcredits that a key was charged for what it reserved in a window, less what was given back. */
  spentIn(keyId: string, window: Window): Promise<Microcredits>;
  /**
   * Includes requested grants.
   * @param holder the ID of a key, or the address of a wallet
   * @returns null for a key without a grant. A wallet has a balance in any case.
   */
  balance(holder: string): Promise<StoredBalance | null>;
  /** @returns all balances, requested grants included, by their holders. */
  balances(): Promise<ReadonlyMap<string, StoredBalance>>;
  /** @returns microcredits that were ever granted to a key, or paid in by a wallet less fees, requested grants included. */
  granted(holder: string): Promise<Microcredits>;
  /** @returns null for no such reservation. Consistent where the store is read at one moment. */
  reservation(id: number): Promise<StoredReservation | null>;
  /**
   * Forgets the results of holds that were made before a moment, ms since 1970, and have ended. Their entries stay. Rejects with StoreError.
   * @returns the number of holds
   */
  prune(before: number): Promise<number>;
  /** @returns whether the process with the open books has taken over every refund that was requested for a reservation. */
  isAdopted(reservation: number): Promise<boolean>;
  /**
   * Requests a grant to a key or a wallet.
   * @param time ms since 1970
   */
  grant(holder: string, amount: Microcredits, note: string, time: number): Write;
  /**
   * Requests a refund. Fails its commit with the reason `unmet` when another was requested since the reservation was read.
   * @param time ms since 1970
   */
  refund(reservation: StoredReservation, amount: Microcredits, note: string, time: number): Write;
}
