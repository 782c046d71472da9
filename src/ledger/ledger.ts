import type { LedgerState } from '../core/budget.ts';
import type { BudgetUse, Caller, KeyBudget } from '../core/caller.ts';
import type { Microcredits } from '../core/credits.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { EndpointCharges, LedgerBooks, UsageFilter } from '../store/books.ts';
import type { Write } from '../store/store.ts';
import type { Earmark } from './earmark.ts';
import type { Hold } from './hold.ts';
import type { OrphansClosed } from './orphans.ts';
import type { ReservationRequest } from './reservation-request.ts';
import type { Deposit } from './rules/entry.ts';
import type { FundStanding } from './rules/fund.ts';
import type { LedgerSample } from './sample.ts';
import type { AvailableFunds, FundShortage } from './standing.ts';

export type { ReservationRequest } from './reservation-request.ts';

/** The part of a policy that concerns money. */
export type LedgerTerms = Pick<PolicySnapshot, 'budgets' | 'ledger' | 'usdPerCredit'>;

/** Reports something about money to an operator. */
export type Alarm = (message: string, details: Readonly<Record<string, string | number>>) => void;

export interface LedgerOptions {
  readonly books: LedgerBooks;
  readonly terms: LedgerTerms;
  /** Milliseconds since 1970; never goes back, and the IDs of requests never lag behind its readings. */
  readonly now: () => number;
  /** Something about money that an operator must see. */
  readonly onAlarm: Alarm;
  /** A budget has reached a fraction of its limit. */
  readonly onAlert?: (fund: FundStanding, fraction: number) => void;
  /** How often to look whether an operator's command has granted or corrected something, ms; absent: only on `refresh`. */
  readonly refreshMs?: number;
}

export interface LedgerStatus {
  /** The sum that callers paid, over all entries, less refunds. */
  readonly charged: Microcredits;
  /** The sum that open reservations may still charge. */
  readonly held: Microcredits;
  /** Reservations that are open. */
  readonly open: number;
  /** Of the budgets and balances in force, those that were drawn on. */
  readonly funds: readonly FundStanding[];
}

export interface Ledger {
  /**
   * Returns what a caller can still spend in the windows of `timeMs` (ms since 1970; left out, now); null when none applies.
   * `windowsOnly`: without its balance, which is yet to be paid in.
   */
  standing(caller: Caller, selector: string, timeMs?: number, windowsOnly?: boolean): AvailableFunds | null;
  /**
   * Sets money aside in every fund that applies, in one step: the greatest of the amounts that they have free,
   * at least the first. The reservation is durable before this resolves. Rejects with StoreError when it could
   * not be written, and then nothing is held.
   */
  reserve(order: ReservationRequest): Promise<Hold | FundShortage>;
  /**
   * Sets money aside for a wallet's request that a payment under way will pay in part: `expected` is the sum that it will
   * add to its balance. Nothing is written before it is captured.
   */
  earmark(order: ReservationRequest, expected: Microcredits): Promise<Earmark | FundShortage>;
  /** Counts a request that was refused for this: the rest of a budget does not show its refusals. */
  refused(shortage: FundShortage): void;
  /** Adds to a wallet's balance, and writes `also` with it. Durable when it resolves; rejects with StoreError. */
  deposit(wallet: string, deposit: Deposit, also: readonly Write[]): Promise<void>;
  /**
   * Gives a fee back to a wallet's balance, at once: within a settlement, in its commit. A commit that may be refused gives
   * it back by a `deposit` with a negative fee. Throws RangeError for a fee below 0 or what is no wallet.
   */
  waiveFee(wallet: string, fee: Microcredits, note: string): void;
  /** The sum that a key or a wallet has paid in or was granted; null for none ever. */
  balanceOf(holder: string): FundStanding | null;
  /**
   * Resolves with true once all settlements so far outlive this process, in the database or in the spool; with false when
   * both have refused one for now. Never rejects.
   */
  written(): Promise<boolean>;
  /**
   * Makes ready for another policy; the function that it resolves with puts that in force, at once, and must be
   * called: the next preparation waits for it.
   */
  prepare(terms: LedgerTerms): Promise<() => void>;
  /** The worth of a Credit and the budgets that a new policy must fit. */
  state(): LedgerState;
  status(): Promise<LedgerStatus>;
  /** How it stands, from what is in memory: asks no store, and takes one pass over the funds. */
  sample(): LedgerSample;
  /** Reads the charges of a period; groups may repeat. */
  usage(filter: UsageFilter): Promise<readonly EndpointCharges[]>;
  /** Every fund that requests of a caller draw on now, asking for a model by any of these names. */
  fundsOf(caller: Pick<Caller, 'keyId' | 'labels'>, names: readonly string[]): readonly FundStanding[];
  /** How full each budget of a key's own is now. */
  budgetUses(keyId: string, budgets: readonly KeyBudget[]): Promise<readonly BudgetUse[]>;
  /** Reservations that are open. */
  readonly open: number;
  /** The greatest ID that an earlier run used; 0 for none. */
  readonly lastId: number;
  /** The reservations of a crash that this start closed. */
  readonly recovered: OrphansClosed;
  /** Takes over what an operator's command has granted or corrected; `isOwn`: what this process has written itself, too. */
  refresh(isOwn?: boolean): Promise<void>;
  /**
   * Gives back, by a correction, what is left of a closed reservation's charge, and returns that: 0 when there is
   * none, or nothing left; at most what the closed reservation `instead` was charged, where that is given. Durable when
   * it resolves. Rejects with StoreError when it could not be written.
   */
  giveBack(reservation: number, note: string, instead?: number): Promise<Microcredits>;
  /** Writes the sums, so that the next start has nothing to read. Ends no hold, and closes no store. */
  close(): Promise<void>;
}
