import type { Deposit, Dimensions, EntryLine } from '../core/accounting/entry.ts';
import type { FundRef, FundStanding } from '../core/accounting/fund.ts';
import type { Window } from '../core/accounting/window.ts';
import type { Budget, EntryOwner, LedgerState, StoredBudget } from '../core/money/budget.ts';
import type { Microcredits } from '../core/money/credits.ts';
import type { StatedSums } from '../core/money/stated-cost.ts';
import type { StatedLimit } from '../core/policy/rate-limit.ts';
import type { Cursor } from './cursor.ts';
import type { Orphan, StoredReservation } from './ledger-table.ts';
import type { Write } from './store.ts';

/**
 * An operation with an ID. A hold or earmark has the ID of its decision (core/id.ts). The ID of a decision grows with time and therefore
 * determines the budget window. Other operations have IDs of their own.
 */
interface NamedOp<Id = number> {
  readonly id: Id;
  /** When the operation was made, ms since 1970. */
  readonly at: number;
}

/** Makes a hold: sets money aside for a request in every fund, in one step. The ledger's books grant or refuse the hold. */
export interface HoldOp extends NamedOp {
  readonly kind: 'hold';
  readonly dimensions: Dimensions;
  /**
   * The funds that the hold draws on. If several funds lack the money, the result names the first of these funds. Callers reuse the same
   * array while the same funds apply.
   */
  readonly funds: readonly FundRef[];
  /**
   * Amounts in microcredits: first the chosen model, then the fallbacks. The hold gets the largest fallback amount of which every fund has
   * twice as much free, but at least the first amount. If no fund has the first amount free, the books refuse the hold, unless `least`
   * allows less.
   */
  readonly amounts: readonly [choice: Microcredits, ...fallbacks: Microcredits[]];
  /**
   * If the first amount is not free, the hold gets the money that is free, provided that this is at least `least` microcredits. If `least`
   * is absent, the hold gets the first amount or nothing.
   */
  readonly least?: Microcredits;
  /**
   * Caps a hold that gets less than its first amount: at most `ample` microcredits, or a fixed share of the free money if the share is
   * larger. If `ample` is absent, the hold gets all the free money.
   */
  readonly ample?: Microcredits;
  /** The `agent_wallet` that the request named. The wallet is stored with the hold, and none of its money is moved. */
  readonly note: string | null;
  /**
   * When the hold counts as abandoned, ms since 1970; Infinity: never. This time and the instance that made the hold are stored with the
   * hold.
   */
  readonly expiresAt: number;
}

/**
 * Makes an earmark: a hold that a payment in progress will partly pay. An earmark exists only in the memory of its process, and is not
 * written before the payment is captured. The books grant or refuse an earmark at once.
 */
export interface EarmarkOp extends Omit<HoldOp, 'kind'> {
  readonly kind: 'earmark';
  /** Microcredits that the payment will add to the balance. It does not need to have this part of the amount. */
  readonly expected: Microcredits;
}

/**
 * Books the deposit of a payment that has arrived, and turns its earmark into a hold. The books refuse the hold if the balance was lowered
 * after the earmark and is now too low; the deposit and the writes in `also` are still booked, and the earmark ends. The promise rejects
 * with the reason `unmet` if other instances consider this instance dead. After this rejection nothing is booked, and the blockchain shows
 * later whether the payment arrived.
 */
export interface CaptureOp extends NamedOp {
  readonly kind: 'capture';
  readonly deposit: Deposit;
}

/** Ends an earmark whose payment did not arrive. The operation does nothing if the earmark has already ended. */
export interface ReleaseOp {
  readonly kind: 'release';
  readonly id: number;
}

/** Adds money to a hold. The books grant or refuse the extension, and always refuse it if the hold is closed. */
export interface ExtendOp extends NamedOp {
  readonly kind: 'extend';
  /** Number of this step, counted from 1 over all extensions and posts of the hold. */
  readonly step: number;
  /** Additional microcredits, with the same meaning as in a hold. */
  readonly amounts: HoldOp['amounts'];
  readonly least?: Microcredits;
}

/**
 * Charges a failed attempt and leaves the rest of the hold open. The charge is at most the money left in the hold. The result is `charged`.
 */
export interface PostOp extends NamedOp {
  readonly kind: 'post';
  readonly step: number;
  readonly entry: EntryLine;
  /**
   * The microcredits that, to the caller's knowledge, are left in the hold. The books charge no more than the amount that the caller knows
   * to be left.
   */
  readonly most: Microcredits;
}

/**
 * Charges the last attempt, if there was one, and releases the rest of the hold. The result is `charged`, with the charge of the whole
 * hold. If the hold expired before, the books correct the difference: the books refund any excess charge, and charge a released amount only
 * as far as its funds still have it.
 */
export interface SettleOp extends NamedOp {
  readonly kind: 'settle';
  readonly entry: EntryLine | null;
  readonly most: Microcredits;
}

/** Closes a hold that was never settled: charges the hold in full or releases the hold. The result is `charged`. */
export interface ExpireOp extends NamedOp {
  readonly kind: 'expire';
  readonly rule: 'charge' | 'release';
}

/**
 * Ends a hold or an earmark whose owner could not learn whether it was granted. The end of such a hold charges nothing. If the operation
 * that makes the hold arrives later, the books refuse that operation. A hold that has ended is not changed. The result is `charged`.
 */
export interface VoidOp extends NamedOp {
  readonly kind: 'void';
}

/** Moves an open hold or earmark to other funds, because the budgets changed. Moving a hold to other funds can overdraw these funds. */
export interface AttachOp extends NamedOp {
  readonly kind: 'attach';
  readonly funds: readonly FundRef[];
}

/** How far a budget is counted. */
export interface CountPosition {
  /** The position in the journal up to which the budget is counted. */
  readonly through: Cursor;
  /** How many subjects the budget counts; 0 for a budget without separate limits. This number changes if the budget counts another subject. */
  readonly subjects: number;
}

/**
 * Adds charges of holds that did not draw on a budget to the windows of that budget. The books grant the operation if the budget is counted
 * up to exactly `from`; after that, it is counted up to `to`. At any other position they refuse the operation, because another caller has
 * already counted these charges.
 */
export interface CountOp {
  readonly kind: 'count';
  /** The generation number of the budget. */
  readonly budget: number;
  /** The position up to which the budget is counted; null for a budget that has not been counted yet. */
  readonly from: CountPosition | null;
  readonly to: Cursor;
  readonly sums: readonly { readonly fund: FundRef; readonly amount: Microcredits }[];
  /** The subjects that the budget begins to count; absent for none. */
  readonly opening?: Opening;
}

/** Subjects with separate limits in a budget that the budget counts from now on, even while no caller limits them. */
export interface Opening {
  readonly subjects: readonly string[];
  /**
   * The charges of the subjects in their windows up to `to` of the operation, from any fund. These amounts replace the spent amounts of
   * the funds; charges after `to` that drew on the funds stay. A subject without charges has no sum.
   */
  readonly sums: CountOp['sums'];
}

/**
 * States that after this operation the caller's holds draw only on the given budgets. The limit of the newest policy applies to all windows
 * of a budget. The spent and held amounts of the windows stay.
 */
export interface EnforceOp {
  readonly kind: 'enforce';
  readonly budgets: readonly EnforcedBudget[];
}

/** A budget of a policy, identified by its generation number. */
export interface EnforcedBudget {
  readonly budget: number;
  /** The rank of the policy that states the budget. */
  readonly rank: number;
  /**
   * The moment for which the limits hold, ms since 1970. Of limits with the same rank, those of the later moment count, so that a server whose
   * request arrives late does not bring back the limit of a budget that has ended.
   */
  readonly at: number;
  /** The limit in microcredits, and separate limits that replace it for some subjects. */
  readonly limit: Microcredits;
  readonly limits?: ReadonlyMap<string, Microcredits>;
}

/** Adds to the balance of a key or a wallet, or deducts from it. */
export interface GrantOp extends NamedOp {
  readonly kind: 'grant';
  readonly holder: string;
  /** Microcredits; negative to deduct. */
  readonly amount: Microcredits;
  readonly note: string;
}

/**
 * Refunds a charge of a closed hold to the funds in which the charge counts. The result is `granted`, with the amount. The ID is built from
 * the refunded hold and the reason for the refund.
 */
export interface CorrectOp extends NamedOp<string> {
  readonly kind: 'correct';
  readonly reservation: number;
  /** Microcredits. The books refund at most what is left of the charge. */
  readonly amount: Microcredits;
  readonly note: string;
}

/**
 * Adds a wallet's payment, less a fee, to the wallet's balance. The deposit counts once it is durable. A deposit that only refunds a fee
 * has the same effect as a waiver with the same ID.
 */
export interface DepositOp extends NamedOp<string> {
  readonly kind: 'deposit';
  readonly holder: string;
  readonly deposit: Deposit;
}

/** Refunds a fee to a holder's balance. The refund counts at once, and can be written together with a settlement. */
export interface WaiveOp extends NamedOp<string> {
  readonly kind: 'waive';
  readonly holder: string;
  /** The fee to refund in microcredits, at least 0. */
  readonly fee: Microcredits;
  /** The ID of the payment. */
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
  | EnforceOp
  | GrantOp
  | CorrectOp
  | DepositOp
  | WaiveOp;

/** The result of an operation. Amounts are microcredits. */
export type OpResult =
  | { readonly kind: 'granted'; readonly amount: Microcredits }
  | {
      readonly kind: 'refused';
      /**
       * Why the operation was refused. `exhausted`: the refusal is final. `contended`: open holds have the money, so the operation may be
       * granted later.
       */
      readonly why: 'exhausted' | 'contended';
      /** The fund that lacks the money, with its figures; null if the hold is closed. */
      readonly fund: FundStanding | null;
    }
  /**
   * `charged`: the charge of this step, or of the whole hold for a settlement. `overrun`: the part of the upstream's bill that the operator
   * loses, for the same step or the same hold.
   */
  | { readonly kind: 'charged'; readonly charged: Microcredits; readonly overrun: Microcredits };

/**
 * A follow-up to the results of other operations: operations that cannot be refused, and writes of repositories. The store commits them
 * together with these results.
 */
export interface Sequel {
  readonly ops: readonly LedgerOp[];
  readonly writes: readonly Write[];
}

/** The charges of a group of entries, such as all charges of an account. */
export interface Charges {
  readonly dimensions: Dimensions;
  /** Charges less refunds. */
  readonly microcredits: Microcredits;
}

/** Charges, grouped by the quarter of an hour of their holds. All charges of a window may be summed under a single quarter of it. */
export type QuarterCharges = readonly (Charges & { readonly quarter: number })[];

/** Charges that a budget has not counted yet. */
export interface UncountedCharges {
  /** How far the budget is counted; null if it was never counted. */
  readonly from: CountPosition | null;
  /** The end of the journal when the charges were read. */
  readonly to: Cursor;
  /** The charges that did not draw on the budget, also of accounts that the budget does not concern. */
  readonly charges: QuarterCharges;
  /** All charges of the window up to `to` of the requested owners; empty if the budget was never counted. */
  readonly ofOwners: QuarterCharges;
}

/** The terms of a policy that the books are to accept. */
export interface OfferedTerms {
  /** The value of a Credit in USD, as written in the policy. */
  readonly usdPerCredit: string;
  /** The policy's budgets. The books store the budgets for commands that do not load a policy. */
  readonly budgets: readonly StoredBudget[];
  /** The policy's rate limits. The books store the rate limits for servers that still run an older policy; absent for none. */
  readonly rateLimits?: readonly StatedLimit[];
  /** All budgets to count: budgets of the policy and budgets of keys. */
  readonly counted: readonly Pick<Budget, 'name' | 'definition'>[];
  /** The rank that the caller got earlier for a policy with the same budgets and rate limits; null otherwise. */
  readonly rank: number | null;
}

/** The result of accepting terms: a rank and the generation numbers of the budgets. */
export interface AcceptedTerms {
  /** The rank of the terms. The most recently accepted terms have the greatest rank. */
  readonly rank: number;
  /**
   * The generation number of each budget to count, in the same order. All callers get the same number as long as any caller uses the
   * budget. A budget whose count was given up gets a new number.
   */
  readonly generations: readonly number[];
}

/** The charges of a key at an endpoint in a period. The times of the holds decide which charges are in the period. */
export interface EndpointCharges extends Charges, StatedSums {
  /** The ID of the model; null for corrections and for holds that were closed after a crash. */
  readonly model: string | null;
  /** The provider that served the request; null when `model` is null. */
  readonly provider: string | null;
  /** Number of charged attempts. A correction counts as one attempt. */
  readonly charges: number;
  readonly input: number;
  readonly output: number;
}

/** Selects the charges to read. */
export interface UsageFilter extends Partial<Record<'team' | 'user', string | null>> {
  /** The key whose charges are read; null for all keys. Without `team` or `user`, charges of all teams or users are read. */
  readonly keyId: string | null;
  readonly keyIds?: ReadonlySet<string> | null;
  /** False if charges need not be separated by selector, session and agent. Reading charges without this separation is much faster. */
  readonly hasRuns?: boolean;
  /** Start of the period, ms since 1970, in steps of a quarter of an hour. */
  readonly from: number;
  /** End of the period, exclusive. */
  readonly to: number;
}

/**
 * Receives changes of the books. The books call a watcher after an operation is decided and the rows of the operation are handed to the
 * disk. A watcher may call the books, and must not throw.
 */
export interface BooksWatcher {
  /** The books call this method when money has become free in these funds. */
  freed(funds: readonly FundStanding[]): void;
  /** The books call this method when a holder gets a balance. */
  opened(holder: string): void;
  /**
   * The books call this method when a grant or a correction takes effect. After a grant, refused requests may be granted; after a
   * deduction, waiting requests may have no chance.
   */
  adjusted(): void;
  /** Returns the funds in which a hold made at `atMs` (ms since 1970) counts. A correction refunds money to these funds. */
  fundsOf(dimensions: Dimensions, atMs: number): readonly FundRef[];
  /**
   * Reads the data that `fundsOf` needs about a revoked key. Callers must await this method before they call `fundsOf`. If the method is
   * absent, nothing needs to be read. Rejects with StoreError.
   */
  prepare?(dimensions: Dimensions): Promise<void>;
}

/**
 * The books of a ledger: its funds, holds and entries. Callers change the books with batches of operations that are plain data. Each
 * implementation has its own rows, encoding, memory and locks. The rules of money are the same for all implementations, and are in
 * `core/accounting/`.
 *
 * For every fund, after any sequence of operations: spent + held ≤ limit. The exceptions are a lowered limit, a lowered balance, and funds
 * that were attached to an open hold.
 */
export interface LedgerBooks {
  /**
   * Decides operations one after the other, in the order of all calls. The caller chooses the ID of each operation, and the books apply
   * each ID at most once. A repeated operation changes nothing and returns its first result, which the books look up in the store; the
   * writes in its `also` are not written again. The books do not remember refused operations.
   *
   * The promise resolves once the results survive the end of this process. It rejects with StoreError if the results could not be written.
   * After a rejection, holds, extensions, captures, grants, corrections and deposits have not happened. Settlements, posts, expiries and
   * waivers have happened, and are written as soon as possible. With the reason `unknown`, operations of the first group may have happened:
   * repeat or void them.
   *
   * @param also writes of repositories for the same commit, whether the operations are granted or refused. If the only operation is a hold
   * and the hold is refused, these writes are dropped.
   * @returns a result for each operation, in the same order
   * @throws RangeError, by rejecting, for an impossible amount or ID, which is a bug in the program
   */
  apply(ops: readonly LedgerOp[], also?: readonly Write[]): Promise<readonly OpResult[]>;
  /**
   * Decides operations that cannot be refused, in the order of all calls: posts, settlements, expiries, voids, attachments, releases,
   * counts, joins, enforcements and waivers. The promise resolves with the results of the operations, which may be shown to callers.
   * `written` reports when the results survive the end of this process.
   *
   * @param follow called once with the results. If the books are in this process, `follow` is called before this method returns. Only
   * errors of `follow` are thrown, at once or by rejecting; the operations are booked even then.
   */
  append(ops: readonly LedgerOp[], follow?: (results: readonly OpResult[]) => Sequel): Promise<readonly OpResult[]>;
  /**
   * Returns the figures of funds, which may be a little old. Old figures of funds inform decisions, but do not guarantee that a hold will
   * be granted.
   */
  standing(funds: readonly FundRef[]): readonly FundStanding[];
  /**
   * Returns the figures of a budget's windows that begin at a time, ms since 1970, which may be a little old. The result includes every
   * window that any caller has drawn on.
   */
  windowsOf(budget: number, starts: number): readonly FundStanding[];
  /** Returns the balance of a holder; null if nothing was ever granted to the holder and the holder never paid in. */
  balanceOf(holder: string): FundStanding | null;
  /** Returns all balances. */
  balances(): readonly FundStanding[];
  /** Adds a listener for changes. Each caller adds a listener before its first operation. */
  watch(watcher: BooksWatcher): void;
  /**
   * The time, in ms, in which an instance that lost its lease may come back before other instances resolve its holds; 0 if the store proves
   * that all earlier epochs are dead.
   */
  readonly graceMs: number;
  /**
   * Returns the open holds of dead epochs, and holds of living epochs that expired more than a minute ago. A dead epoch stays dead, and a
   * hold ends only once. Two instances that resolve the same hold therefore have the same effect as a single instance.
   */
  orphans(): Promise<readonly Orphan[]>;
  /**
   * Resolves with true once all operations so far survive the end of this process, and with false if any operation does not. Never rejects.
   */
  written(): Promise<boolean>;
  /** Returns the value of a Credit in all entries, and the active budgets. */
  state(): LedgerState;
  /**
   * Stores the terms of a policy. Rejects with StoreError; the reason is `unmet` if Credits already have another value. The value of a
   * Credit is set once. Only the books of a single process may change this value until the first hold.
   */
  accept(terms: OfferedTerms): Promise<AcceptedTerms>;
  /**
   * Reads charges of holds that did not draw on a budget and that the budget has not counted. If no query is needed, the method returns the
   * charges at once, and the result is complete at that moment. Rejects with StoreError.
   *
   * @param budget its generation number
   * @param window for a budget that was never counted, and for `owners`: the window to count, with everything after it
   * @param owners the owners whose charges are read in full, because the budget begins to count them. All members must have the same form.
   */
  uncounted(
    budget: number,
    window: Window,
    owners?: readonly EntryOwner[],
  ): UncountedCharges | Promise<UncountedCharges>;
  /**
   * Returns the given subjects that a budget with separate limits counts. A budget of several processes never stops counting a
   * subject. Rejects with StoreError.
   */
  countedOf(budget: number, subjects: readonly string[]): ReadonlySet<string> | Promise<ReadonlySet<string>>;
  /** Returns the microcredits charged over all entries, less refunds. */
  charged(): Promise<Microcredits>;
  /** Reads the charges of a period. The same group of charges may appear several times in the result. */
  usage(filter: UsageFilter): Promise<readonly EndpointCharges[]>;
  /** Returns the microcredits that a key was charged for its holds of a window, less refunds. */
  spentIn(keyId: string, window: Window): Promise<Microcredits>;
  /** Returns the hold with an ID; null if no hold has the ID. */
  reservation(id: number): Promise<Pick<StoredReservation, 'isOpen' | 'charged' | 'givenBack'> | null>;
  /** Applies the grants and corrections that any process has requested through `LedgerTable`. */
  refresh(): Promise<void>;
  /** Writes a checkpoint, so that the next start is fast. Rejects with StoreError. */
  checkpoint(): Promise<void>;
  /** Returns the number of open holds, and the microcredits that the open holds may still charge. */
  open(): { readonly count: number; readonly held: Microcredits };
}
