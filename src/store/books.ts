import type { Deposit, Dimensions, EntryLine } from '../core/accounting/entry.ts';
import type { FundRef, FundStanding } from '../core/accounting/fund.ts';
import type { Window } from '../core/accounting/window.ts';
import type { Budget, LedgerState, StoredBudget } from '../core/budget.ts';
import type { Microcredits } from '../core/credits.ts';
import type { StatedLimit } from '../core/rate-limit.ts';
import type { Cursor } from './cursor.ts';
import type { Orphan, StoredReservation } from './ledger-table.ts';
import type { Write } from './store.ts';

/**
 * The ID of a hold or an earmark is the decision's (core/id.ts), which grows with time and tells the window. Other
 * operations have IDs of their own.
 */
interface NamedOp<Id = number> {
  readonly id: Id;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Sets money aside for a request in every fund, in one step: a hold. Granted or refused. */
export interface HoldOp extends NamedOp {
  readonly kind: 'hold';
  readonly dimensions: Dimensions;
  /** In the order in which a fund that lacks the money is looked for. The same array is reused while the same funds apply. */
  readonly funds: readonly FundRef[];
  /**
   * Microcredits. The hold gets the first amount, or the greatest of the others that all funds have free twice. It is refused if
   * the first is not free, unless `least` is.
   */
  readonly amounts: readonly [choice: Microcredits, ...fallbacks: Microcredits[]];
  /** Where the first amount is not free, the hold gets what is, from this on, microcredits. Absent: the first amount or nothing. */
  readonly least?: Microcredits;
  /** It then gets no more than this, or than its share of what is free if that is more, microcredits. Absent: all that is free. */
  readonly ample?: Microcredits;
  /** The `agent_wallet` of the request. Stored with the hold; moves no money. */
  readonly note: string | null;
  /** When it counts as forgotten, ms since 1970; Infinity: never. Stored with it, beside the instance whose books were asked. */
  readonly expiresAt: number;
}

/**
 * A hold that a payment in progress will pay in part. It lives in the memory of its process: nothing is written before it is
 * captured. Granted or refused at once.
 */
export interface EarmarkOp extends Omit<HoldOp, 'kind'> {
  readonly kind: 'earmark';
  /** Microcredits that the payment will add to the balance, which need not have that part of the amount. */
  readonly expected: Microcredits;
}

/**
 * Books the deposit of an earmark, whose payment has arrived, and makes the earmark a hold. Refused if the balance was
 * lowered meanwhile and no longer suffices: the deposit and `also` are booked nevertheless, and the earmark ends. Rejected with the
 * reason `unmet` where its instance was dead for the others: then nothing is booked, and the chain tells of the payment.
 */
export interface CaptureOp extends NamedOp {
  readonly kind: 'capture';
  readonly deposit: Deposit;
}

/** Ends an earmark: no payment has arrived. Does nothing after its end. */
export interface ReleaseOp {
  readonly kind: 'release';
  readonly id: number;
}

/** Adds to a hold. Granted or refused; refused if it is closed. */
export interface ExtendOp extends NamedOp {
  readonly kind: 'extend';
  /** Counts the extensions and posts of a hold from 1. */
  readonly step: number;
  /** The additional microcredits, as in a hold. */
  readonly amounts: HoldOp['amounts'];
  readonly least?: Microcredits;
}

/** Charges a failed attempt, at most what is left of the hold, and leaves the rest open. The result is `charged`. */
export interface PostOp extends NamedOp {
  readonly kind: 'post';
  readonly step: number;
  readonly entry: EntryLine;
  /** Microcredits that the caller knows to be left. Nothing beyond is charged. */
  readonly most: Microcredits;
}

/**
 * Charges the last attempt, if there was one, and releases the rest. The result is `charged`, with the whole hold's charge. Where the
 * hold was expired meanwhile, the difference is booked as a correction: what was charged beyond is given back, and of what was
 * released as much is charged as its funds still have.
 */
export interface SettleOp extends NamedOp {
  readonly kind: 'settle';
  readonly entry: EntryLine | null;
  readonly most: Microcredits;
}

/** Closes a hold that was never settled, charged in full or released. The result is `charged`. */
export interface ExpireOp extends NamedOp {
  readonly kind: 'expire';
  readonly rule: 'charge' | 'release';
}

/**
 * Ends a hold or an earmark whose owner could not learn whether it was granted: nothing is charged. One that has not come yet is
 * refused when it comes. Does nothing to one that has ended. The result is `charged`.
 */
export interface VoidOp extends NamedOp {
  readonly kind: 'void';
}

/** Moves an open hold or earmark to other funds, because the budgets changed. It may overdraw the new ones. */
export interface AttachOp extends NamedOp {
  readonly kind: 'attach';
  readonly funds: readonly FundRef[];
}

/**
 * Counts charges of holds that did not draw on a budget into its windows. Granted where the budget is counted up to `from`, which
 * it is up to `to` from then on; else refused: another caller has counted them.
 */
export interface CountOp {
  readonly kind: 'count';
  /** The generation of the budget. */
  readonly budget: number;
  /** Null for a budget that is not counted yet. */
  readonly from: Cursor | null;
  readonly to: Cursor;
  readonly sums: readonly { readonly fund: FundRef; readonly amount: Microcredits }[];
}

/** Adds what subjects have spent in the windows of a budget while it did not apply to them. */
export interface JoinOp {
  readonly kind: 'join';
  readonly sums: CountOp['sums'];
}

/** The caller's holds draw on these budgets alone from now on. The newest policy's limit holds for all its windows; spent and held money stays. */
export interface EnforceOp {
  readonly kind: 'enforce';
  readonly budgets: readonly EnforcedBudget[];
}

/** A budget of a policy, by its generation. */
export interface EnforcedBudget {
  readonly budget: number;
  /** The rank of the policy. */
  readonly rank: number;
  /** Microcredits, and those of some subjects in its place. */
  readonly limit: Microcredits;
  readonly limits?: ReadonlyMap<string, Microcredits>;
}

/** Adds to the balance of a key or a wallet, or deducts from it. */
export interface GrantOp extends NamedOp {
  readonly kind: 'grant';
  readonly holder: string;
  /** Microcredits; negative for what is taken. */
  readonly amount: Microcredits;
  readonly note: string;
}

/**
 * Gives back a charge of a closed hold, to the funds in which it counts. The result is `granted`, with the amount. Its ID is
 * made of what it gives back, and of what for.
 */
export interface CorrectOp extends NamedOp<string> {
  readonly kind: 'correct';
  readonly reservation: number;
  /** Microcredits; limited to what is left of the charge. */
  readonly amount: Microcredits;
  readonly note: string;
}

/**
 * Adds what a wallet has paid in to its balance, less a fee. It counts once it is durable. One that only gives a fee back counts as the
 * waiver of the same ID.
 */
export interface DepositOp extends NamedOp<string> {
  readonly kind: 'deposit';
  readonly holder: string;
  readonly deposit: Deposit;
}

/** Gives a fee back to a holder's balance. It counts at once, and can be written with a settlement. */
export interface WaiveOp extends NamedOp<string> {
  readonly kind: 'waive';
  readonly holder: string;
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
  | VoidOp
  | AttachOp
  | CountOp
  | JoinOp
  | EnforceOp
  | GrantOp
  | CorrectOp
  | DepositOp
  | WaiveOp;

/** The answer to an operation. Amounts are microcredits. */
export type OpResult =
  | { readonly kind: 'granted'; readonly amount: Microcredits }
  | {
      readonly kind: 'refused';
      /** `exhausted`: final; `contended`: open holds have the money, and it may be granted later. */
      readonly why: 'exhausted' | 'contended';
      /** The fund that lacks the money, with its figures; null if the hold is closed. */
      readonly fund: FundStanding | null;
    }
  /** `charged`: the charge of this step, or of the whole hold for a settlement; `overrun`: the operator's loss, likewise. */
  | { readonly kind: 'charged'; readonly charged: Microcredits; readonly overrun: Microcredits };

/** Operations that cannot be refused, and writes of repositories, which follow from results and ride in their commit. */
export interface Sequel {
  readonly ops: readonly LedgerOp[];
  readonly writes: readonly Write[];
}

/** The charges of one group of entries. */
export interface Charges {
  readonly dimensions: Dimensions;
  /** Less refunds. */
  readonly microcredits: Microcredits;
}

/** Charges that a budget has not counted. */
export interface UncountedCharges {
  /** The place up to which it is counted; null for nowhere. */
  readonly from: Cursor | null;
  /** The end of the journal when they were read. */
  readonly to: Cursor;
  /**
   * By the quarter of an hour of their holds. Those of one window may be summed up under one of its quarters. Charges of accounts
   * that the budget does not concern may be among them.
   */
  readonly charges: readonly (Charges & { readonly quarter: number })[];
}

/** The terms of a policy, as the books accept them. */
export interface OfferedTerms {
  /** USD, as the policy states it. */
  readonly usdPerCredit: string;
  /** The policy's budgets, for commands that see no policy. */
  readonly budgets: readonly StoredBudget[];
  /** For servers with an older policy; absent for none. */
  readonly rateLimits?: readonly StatedLimit[];
  /** All budgets to count: the policy's, and those of keys. */
  readonly counted: readonly Pick<Budget, 'name' | 'definition'>[];
  /** The rank under which the caller accepted the same budgets and rate limits of a policy before; null for others. */
  readonly rank: number | null;
}

/** Terms that the books have accepted. */
export interface AcceptedTerms {
  /** The terms accepted last have the greatest. */
  readonly rank: number;
  /**
   * Of each budget to count, in their order: equal for all callers, as long as one of them has the budget in force. A budget whose
   * count was given up gets another.
   */
  readonly generations: readonly number[];
}

/** Charges of one key at one endpoint in a period, by the times of the holds. */
export interface EndpointCharges extends Charges {
  /** ID of the model; null for corrections and for holds closed after a crash. */
  readonly model: string | null;
  /** The provider that served it; null likewise. */
  readonly provider: string | null;
  /** Attempts that were charged; a correction counts as one. */
  readonly charges: number;
  readonly input: number;
  readonly output: number;
}

/** The charges to read. */
export interface UsageFilter extends Partial<Record<'team' | 'user', string | null>> {
  /** Null for all keys; so are a team and a user that are absent. */
  readonly keyId: string | null;
  readonly keyIds?: ReadonlySet<string> | null;
  /** False where selectors, sessions and agents need not be told apart, which costs far less. */
  readonly hasRuns?: boolean;
  /** Ms since 1970, in steps of a quarter of an hour. */
  readonly from: number;
  /** Exclusive. */
  readonly to: number;
}

/** Hears of changes once an operation is decided and its rows are handed to the disk. It may call the books, and must not throw. */
export interface BooksWatcher {
  /** Money has come free in these funds. */
  freed(funds: readonly FundStanding[]): void;
  /** A holder has a balance from now on. */
  opened(holder: string): void;
  /** A grant or a correction counts from now on. A refused request may now be granted, and a waiting one may never be. */
  adjusted(): void;
  /** Returns the funds in which a hold made at `atMs` (ms since 1970) counts. A correction gives back to them. */
  fundsOf(dimensions: Dimensions, atMs: number): readonly FundRef[];
  /** Reads what `fundsOf` has to know of a revoked key. To be awaited before it; absent: nothing is read. Rejects with StoreError. */
  prepare?(dimensions: Dimensions): Promise<void>;
}

/**
 * The books: funds, holds and entries, behind batches of plain data. Rows, packing, memory and locks are those of an
 * implementation; the rules are `accounting/`, the same for all.
 *
 * For every fund, in any order of operations: spent + held ≤ limit, except after a limit was lowered, a balance was lowered, or
 * funds were attached.
 */
export interface LedgerBooks {
  /**
   * Decides operations one after the other, in the order of all calls. Each is applied at most once under the ID that its
   * caller chose: a repeated one changes nothing and returns the first result, which is found in the store, and its `also` is not
   * written again. Refusals are not remembered.
   *
   * Resolves when the results survive this process. Rejects with StoreError when they could not be written. Then holds,
   * extensions, captures, grants, corrections and deposits have not happened; settlements, posts, expiries and waivers have,
   * and are written as soon as they can be. With the reason `unknown` the former may have happened, too: repeat them, or void them.
   *
   * @param also writes of repositories that ride in the same commit, granted or refused; those of a hold alone that is refused
   * are dropped with it
   * @returns a result for each operation, in their order
   * @throws RangeError, by rejecting, for an impossible amount or ID, a mistake in the program
   */
  apply(ops: readonly LedgerOp[], also?: readonly Write[]): Promise<readonly OpResult[]>;
  /**
   * Decides operations that cannot be refused, in the order of all calls: posts, settlements, expiries, voids, attachments,
   * releases, counts, joins, enforcements and waivers. `written` reports when they survive. Resolves with their results, which callers are told.
   *
   * @param follow called once with the results, before the call returns where the books are in this process. Its errors alone are
   * thrown, at once or by rejecting, with the operations booked nevertheless.
   */
  append(ops: readonly LedgerOp[], follow?: (results: readonly OpResult[]) => Sequel): Promise<readonly OpResult[]>;
  /** Returns the figures of funds, of bounded age. A reading for the facts, never a promise. */
  standing(funds: readonly FundRef[]): readonly FundStanding[];
  /** The figures of the windows of a budget that begin at a time, ms since 1970, of bounded age: those that any caller has drawn on. */
  windowsOf(budget: number, starts: number): readonly FundStanding[];
  /** The balance of a holder; null for one that was never granted anything and has paid nothing in. */
  balanceOf(holder: string): FundStanding | null;
  /** All balances. */
  balances(): readonly FundStanding[];
  /** Adds a listener for changes: one of each caller, before its first operation. */
  watch(watcher: BooksWatcher): void;
  /**
   * How long instances are given to come back before their holds are resolved, ms; 0 where the store proves that every epoch before
   * this one is dead.
   */
  readonly graceMs: number;
  /**
   * Returns the open holds of dead epochs, and those of living ones that expired more than a minute ago. A dead epoch stays dead, and
   * a hold ends once, so that two who resolve the same one do what one does.
   */
  orphans(): Promise<readonly Orphan[]>;
  /** True once all operations so far survive this process, false while they do not. Never rejects. */
  written(): Promise<boolean>;
  /** The worth of a Credit in all entries, and the budgets in force. */
  state(): LedgerState;
  /**
   * Stores the terms of a policy. Rejects with StoreError; its reason is `unmet` where Credits have another worth. That is set once:
   * books of one process alone may let it change until something is reserved.
   */
  accept(terms: OfferedTerms): Promise<AcceptedTerms>;
  /**
   * Reads the charges of holds that did not draw on a budget and that it has not counted. Returns them at once where that takes no
   * query, and then they are all, in this turn. Rejects with StoreError.
   *
   * @param budget its generation
   * @param window of a budget that is not counted yet: the one to count, with what follows it
   */
  uncounted(budget: number, window: Window): UncountedCharges | Promise<UncountedCharges>;
  /** Microcredits charged over all entries, less refunds. */
  charged(): Promise<Microcredits>;
  /** Reads the charges of a period; groups may repeat. */
  usage(filter: UsageFilter): Promise<readonly EndpointCharges[]>;
  /** Microcredits that a key was charged for its holds of a window, less refunds. */
  spentIn(keyId: string, window: Window): Promise<Microcredits>;
  /** A hold by its ID; null for none. */
  reservation(id: number): Promise<Pick<StoredReservation, 'isOpen' | 'charged' | 'givenBack'> | null>;
  /** Applies the grants and corrections that were asked for through `LedgerTable`, by whichever process. */
  refresh(): Promise<void>;
  /** Writes a checkpoint, so that the next start is quick. Rejects with StoreError. */
  checkpoint(): Promise<void>;
  /** The holds that are open, and microcredits that they may still charge. */
  open(): { readonly count: number; readonly held: Microcredits };
}
