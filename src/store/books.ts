import type { LedgerState } from '../core/budget.ts';
import type { Microcredits } from '../core/credits.ts';
import type { Deposit, Dimensions, EntryLine } from '../ledger/rules/entry.ts';
import type { FundRef, FundStanding } from '../ledger/rules/fund.ts';
import type { Window } from '../ledger/rules/window.ts';
import type { Write } from './store.ts';

/** Sets money aside for a request in every fund, in one step: a reservation. Granted or refused. */
export interface HoldOp {
  readonly kind: 'hold';
  /** The decision's ID (core/id.ts), which grows with time and tells the window. */
  readonly id: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly dimensions: Dimensions;
  /** In the order in which a fund that is in the way is looked for. Reused while the same funds apply. */
  readonly funds: readonly FundRef[];
  /** Microcredits. Refused below the first; granted are it, or the greatest of the others that all funds have free twice. */
  readonly amounts: readonly [least: Microcredits, ...wanted: Microcredits[]];
  /** The process that made it. A process that opens the books alone takes over what others left open. */
  readonly owner: string;
  /** Milliseconds since 1970: an unsettled reservation is a defect from then on, and its owner expires it. */
  readonly expiresAt: number;
  /** Kept with the reservation, and moves nothing: the `agent_wallet` of a request. */
  readonly note: string | null;
}

/**
 * A hold that a payment under way will pay for in part. It lives in the process that made it, and ends with it: nothing is
 * written before it is captured. Granted or refused at once.
 */
export interface EarmarkOp extends Omit<HoldOp, 'kind'> {
  readonly kind: 'earmark';
  /** Microcredits that the payment will add to the balance; that much of the amount the balance need not have. */
  readonly expected: Microcredits;
}

/**
 * The payment of an earmark has arrived: books the deposit and makes the earmark a reservation. Refused when the balance was
 * lowered meanwhile and no longer suffices: then the deposit and `also` are booked all the same, and the earmark is gone.
 */
export interface CaptureOp {
  readonly kind: 'capture';
  /** Of the earmark. */
  readonly id: number;
  readonly at: number;
  readonly deposit: Deposit;
}

/** Ends an earmark: no payment has arrived. Harmless after its end. */
export interface ReleaseOp {
  readonly kind: 'release';
  readonly id: number;
}

/** Adds to a reservation. Granted or refused; refused, too, when it is closed. */
export interface ExtendOp {
  readonly kind: 'extend';
  readonly id: number;
  /** Counts the extensions and posts of a reservation from 1. */
  readonly step: number;
  readonly at: number;
  /** Microcredits more, as in a hold. */
  readonly amounts: readonly [least: Microcredits, ...wanted: Microcredits[]];
}

/** Charges a failed attempt as far as the reservation goes, and leaves the rest of it open. Charged. */
export interface PostOp {
  readonly kind: 'post';
  readonly id: number;
  readonly step: number;
  readonly at: number;
  readonly entry: EntryLine;
  /** Microcredits that its maker knows to be left: nothing beyond is charged. */
  readonly most: Microcredits;
}

/** Charges the last attempt, if there was one, and releases the rest. Charged: with all that the reservation was charged. */
export interface SettleOp {
  readonly kind: 'settle';
  readonly id: number;
  readonly at: number;
  readonly entry: EntryLine | null;
  readonly most: Microcredits;
}

/** Closes a reservation that was never settled: charged in full, or released. Charged. */
export interface ExpireOp {
  readonly kind: 'expire';
  readonly id: number;
  readonly at: number;
  readonly rule: 'charge' | 'release';
}

/** An open reservation or earmark draws on other funds from now on, because the budgets changed. It may overdraw the new ones. */
export interface AttachOp {
  readonly kind: 'attach';
  readonly id: number;
  readonly at: number;
  readonly funds: readonly FundRef[];
}

/** A budget's fund has another limit from now on; what is spent and held stays. */
export interface LimitOp {
  readonly kind: 'limit';
  readonly fund: FundRef;
}

/** Adds to the balance of a key or a wallet, or takes from it. */
export interface GrantOp {
  readonly kind: 'grant';
  readonly id: number;
  readonly at: number;
  readonly holder: string;
  /** Microcredits; negative for what is taken. */
  readonly amount: Microcredits;
  readonly note: string;
}

/** Gives a charge of a closed reservation back, to the funds that it counts in. Granted: what was given back. */
export interface CorrectOp {
  readonly kind: 'correct';
  readonly id: number;
  readonly at: number;
  readonly reservation: number;
  /** Microcredits; at most what is left of the charge is given back. */
  readonly amount: Microcredits;
  readonly note: string;
}

/** Adds what a wallet has paid in to its balance, less a fee. It counts once it is durable. */
export interface DepositOp {
  readonly kind: 'deposit';
  readonly id: string;
  readonly at: number;
  readonly wallet: string;
  readonly deposit: Deposit;
}

/** Gives a fee back to a wallet's balance. It counts at once, and may ride with a settlement. */
export interface WaiveOp {
  readonly kind: 'waive';
  readonly id: string;
  readonly at: number;
  readonly wallet: string;
  /** Microcredits, at least 0. */
  readonly fee: Microcredits;
  /** ID of the payment. */
  readonly note: string;
}

export type LedgerOp =
  | HoldOp
  | EarmarkOp
  | CaptureOp
  | ReleaseOp
  | ExtendOp
  | PostOp
  | SettleOp
  | ExpireOp
  | AttachOp
  | LimitOp
  | GrantOp
  | CorrectOp
  | DepositOp
  | WaiveOp;

/** The answer to an operation. Amounts are microcredits. */
export type OpResult =
  | { readonly kind: 'granted'; readonly amount: Microcredits }
  | {
      readonly kind: 'refused';
      /** `exhausted`: final; `contended`: open reservations are in the way, and it may be granted later. */
      readonly why: 'exhausted' | 'contended';
      /** The fund that is in the way, as it stands; null where the reservation is closed. */
      readonly fund: FundStanding | null;
    }
  /** `charged`: of this step or, of a settlement, of the whole reservation; `overrun`: what remains with the operator, likewise. */
  | { readonly kind: 'charged'; readonly charged: Microcredits; readonly overrun: Microcredits };

/** A reservation that was open when the books were opened: its process is gone. */
export interface Orphan {
  readonly id: number;
  /** Microcredits. */
  readonly reserved: Microcredits;
  readonly charged: Microcredits;
  /** The key or wallet whose balance it draws on; null without one. */
  readonly holder: string | null;
}

/** The charges of one group of entries. */
export interface Charges {
  readonly dimensions: Dimensions;
  readonly microcredits: Microcredits;
}

/** The charges from which new budgets are counted. `charges` has those of before the count began, and `late` those since. */
export interface Count {
  /** Returns the charges of reservations from `fromMs` on, ms since 1970, by dimensions. */
  charges(fromMs: number): Promise<readonly Charges[]>;
  /**
   * Returns the charges since the count began, by the quarter of an hour of their reservation. Use them in the same turn: more may
   * follow.
   */
  late(): readonly (Charges & { readonly quarter: number })[];
  /** Ends the count. Must be called: until then no checkpoint is written. */
  end(): void;
}

/** A reservation as the books have it. Amounts are microcredits. */
export interface ReservationRecord {
  readonly id: number;
  readonly isOpen: boolean;
  readonly charged: Microcredits;
  /** The sum given back so far, pending corrections included. */
  readonly givenBack: Microcredits;
}

/** Charges of one key at one endpoint in a period, by the times of the reservations. */
export interface EndpointCharges {
  readonly dimensions: Dimensions;
  /** ID of the model; null for corrections and what a crash left behind, which name none. */
  readonly model: string | null;
  /** The provider that served it; null likewise. */
  readonly provider: string | null;
  /** Attempts that were charged; a correction counts as one. */
  readonly charges: number;
  /** Less what was given back. */
  readonly microcredits: Microcredits;
  readonly input: number;
  readonly output: number;
}

/** The charges to read. */
export interface UsageFilter {
  /** Null for all keys. */
  readonly keyId: string | null;
  /** Ms since 1970, in steps of a quarter of an hour. */
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** A listener for changes. Called when an operation is decided and given to the disk; may call the books, and must not throw. */
export interface BooksWatcher {
  /** Money has come free in these funds. */
  freed(funds: readonly FundStanding[]): void;
  /** A key or a wallet has a balance from now on. */
  opened(holder: string): void;
  /** A grant or a correction counts: what was refused may be granted, and what waits may be in vain. */
  adjusted(): void;
  /** The funds that a reservation of these dimensions counts in, made at `atMs` (ms since 1970): a correction gives back to them. */
  fundsOf(dimensions: Dimensions, atMs: number): readonly FundRef[];
}

/**
 * The books: funds, reservations and entries, behind batches of plain data. Rows, packing, memory and locks are those of an
 * implementation; the rules are `ledger/rules`, the same for all.
 *
 * For every fund, whatever happens in whatever order: spent + held ≤ limit, but for a limit that was lowered, a balance that
 * was taken from, and funds that were attached.
 */
export interface LedgerBooks {
  /**
   * Decides operations one after the other, in the order of all calls. Each is applied at most once under the ID that its
   * maker chose: a repeated one changes nothing and returns the first result. A refusal is not remembered.
   *
   * Resolves when the results survive this process. Rejects with StoreError when they could not be written. Then holds,
   * extensions, captures, grants, corrections and deposits have not happened; settlements, posts, expiries and waivers have,
   * and are written as soon as they can be.
   *
   * @param also writes of repositories that ride in the same commit, granted or refused
   * @returns a result for each operation, in their order
   * @throws RangeError, by rejecting, for an amount or an ID that cannot be: a mistake of the program
   */
  apply(ops: readonly LedgerOp[], also?: readonly Write[]): Promise<readonly OpResult[]>;
  /**
   * Decides operations that cannot be refused, in the order of all calls, for a maker that does not wait for each: posts,
   * settlements, expiries, attachments, releases, limits and waivers. `written` says when they survive. Never throws.
   */
  append(ops: readonly LedgerOp[], also?: readonly Write[]): void;
  /** The figures of funds, of bounded age. A reading that stands in the facts, never a promise. */
  standing(funds: readonly FundRef[]): readonly FundStanding[];
  /** The balance of a key or a wallet; null for one that was never granted anything and has paid nothing in. */
  balanceOf(holder: string): FundStanding | null;
  /** All balances. */
  balances(): readonly FundStanding[];
  /** Sets the listener for changes. One, before the first operation. */
  watch(watcher: BooksWatcher): void;
  /** The reservations of processes that are gone. To be closed before anything else. */
  readonly orphans: readonly Orphan[];
  /** The greatest ID of a hold, and of a grant or a correction, when the books were opened; 0 for none. */
  readonly lastIds: { readonly hold: number; readonly adjustment: number };
  /** True once all operations so far survive this process, false while they do not. Never rejects. */
  written(): Promise<boolean>;
  /** The worth of a Credit of all entries, and the budgets in force. */
  state(): LedgerState;
  /** Writes both down. Rejects with StoreError. */
  putState(state: { readonly usdPerCredit: string; readonly budgets: readonly string[] }): Promise<void>;
  /** Begins a count. One at a time. Rejects with StoreError. */
  count(): Promise<Count>;
  /** Microcredits that callers were charged, over all entries, less what was given back. */
  charged(): Promise<Microcredits>;
  /** Reads the charges of a period; groups may repeat. */
  usage(filter: UsageFilter): Promise<readonly EndpointCharges[]>;
  /** Microcredits that a key was charged for what it reserved in a window, less what was given back. */
  spentIn(keyId: string, window: Window): Promise<Microcredits>;
  /** A reservation by its ID; null for none. */
  reservation(id: number): Promise<ReservationRecord | null>;
  /** Takes over what an operator's command has granted or corrected in another process; `isOwn`: in this one, too. */
  refresh(isOwn?: boolean): Promise<void>;
  /** Makes ready for a quick start: whatever must be summed up is. Rejects with StoreError. */
  checkpoint(): Promise<void>;
  /** The reservations that are open, and microcredits that they may still charge. */
  open(): { readonly count: number; readonly held: Microcredits };
}
