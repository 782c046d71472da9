import type { Deposit, EntryLine, Settlement } from '../core/accounting/entry.ts';
import { type FundBlock, type FundTitle, fit, isBlocked } from '../core/accounting/fund.ts';
import { type HeldSum, isCost, leftOf, openHeldSum, post, raise, settle } from '../core/accounting/held-sum.ts';
import { idText } from '../core/id.ts';
import type { Links } from '../core/linked-set.ts';
import { type Microcredits, toCredits } from '../core/money/credits.ts';
import { isPlausible } from '../core/money/usage.ts';
import type { Timers } from '../core/time/timers.ts';
import type { ExtendOp, LedgerBooks, LedgerOp, OpResult, PostOp, Sequel, SettleOp } from '../store/books.ts';
import type { Write } from '../store/store.ts';
import type { Account } from './accounts.ts';
import type { Contention } from './contention.ts';
import { type DrawnFund, mayCap } from './drawn-fund.ts';
import type { HoldRequest } from './hold-request.ts';
import type { LedgerNotifier } from './notifier.ts';
import { applyOnce } from './repeat.ts';

/** Money set aside for one request. A hold ends with exactly one settlement on every path. Amounts are microcredits. */
export type Hold = Pick<
  LedgerHold,
  'id' | 'grows' | 'reserved' | 'left' | 'overrun' | 'scarcest' | 'raise' | 'extend' | 'post' | 'settle'
>;

/**
 * Money set aside, only in memory, for a request that a payment in progress will pay. Budgets hold the whole worst case. The balance of the
 * holder holds the part that the payment does not cover. An earmark ends once: it is captured or released.
 */
export interface Earmark {
  /** The amount that the hold will have, microcredits. */
  readonly amount: Microcredits;
  /**
   * Books the deposit, the hold and `also` in one commit, after the payment has arrived.
   *
   * @returns null if no money is held although the deposit and `also` are booked, because the balance was lowered and is too small, or the
   * lease of this process has ended
   * @throws StoreError, by rejecting, if the commit failed; after this error nothing is booked and no money is held
   */
  capture(deposit: Deposit, also: readonly Write[]): Promise<Hold | null>;
  /** Releases the money of the earmark because no payment has arrived. The call does nothing if the earmark has ended. */
  release(): void;
}

/**
 * The operations of the settlement that is being written. Code that runs during the settlement may add operations. Null if no settlement is
 * being written.
 */
export interface OpenSettlement {
  ops: LedgerOp[] | null;
}

/** The additional money for an answer that is being written, microcredits. */
export interface HoldExtension {
  /** The amounts to add: the first amount, or the second amount if the funds have twice the second amount free. */
  readonly amounts: ExtendOp['amounts'];
  /** The least amount to add: if the first amount is not free, the free money is granted if it is at least this amount. */
  readonly least: Microcredits;
}

/** How an extension waits for money. */
interface ExtensionWait {
  readonly waitMs: number;
  readonly signal: AbortSignal;
  readonly onBlocked: (blocked: FundBlock) => void;
}

/** The functions and objects that a hold needs from its ledger. */
export interface HoldTools {
  readonly books: Pick<LedgerBooks, 'apply' | 'append' | 'standing'>;
  /** Returns ms since 1970. */
  readonly now: () => number;
  readonly notifier: LedgerNotifier;
  readonly timers: Timers;
  readonly contention: Pick<Contention, 'wait'>;
  /** Collects operations that are written together with a settlement. */
  readonly openSettlement: OpenSettlement;
  readonly closed: (hold: LedgerHold) => void;
}

/** A request for a hold, and the account that it draws on. */
export interface AccountedRequest {
  readonly request: Pick<HoldRequest, 'id' | 'expiresAt' | 'limit'>;
  readonly account: Account;
  /** True if only the first tranche is set aside. */
  readonly grows: boolean;
}

const NOT_BOOKED = openHeldSum(0, null);

const NOTHING_MORE: Sequel = { ops: [], writes: [] };

/** Reads the result of a charge. */
function settlementOf(result: OpResult | undefined): Settlement {
  if (result?.kind !== 'charged') throw new Error('the books answered a charge without its figures');
  return { charged: result.charged, overrun: result.overrun };
}

/** A hold in the books. Only the books know exactly what was charged; the hold computes by itself how much money it has left. */
export class LedgerHold implements Links<LedgerHold> {
  readonly id: number;
  readonly account: Account;
  /** From this time on, ms since 1970, a hold that is not settled counts as forgotten. */
  readonly expiresAt: number;
  /** True if the hold has only the first tranche for its answer and grows with the answer. */
  readonly grows: boolean;
  /** The funds that the hold draws on. */
  funds: readonly DrawnFund[];
  /** True once the books have granted the hold. Before that, the books may refuse the hold. */
  isBooked = false;
  before: LedgerHold | null = null;
  after: LedgerHold | null = null;
  readonly #tools: HoldTools;
  readonly #limit: Microcredits | null;
  #sum: HeldSum = NOT_BOOKED;
  #overrun: Microcredits = 0;
  #steps = 0;
  #isExpired = false;
  #settlement: Promise<Settlement> | null = null;

  constructor(tools: HoldTools, { request, account, grows }: AccountedRequest, funds: readonly DrawnFund[]) {
    this.id = request.id;
    this.account = account;
    this.expiresAt = request.expiresAt;
    this.grows = grows;
    this.funds = funds;
    this.#tools = tools;
    this.#limit = request.limit;
  }

  /**
   * Marks the hold as granted by the books.
   * @returns this hold
   */
  granted(amount: Microcredits): this {
    this.#sum = openHeldSum(amount, this.#limit);
    this.isBooked = true;
    return this;
  }

  get reserved(): Microcredits {
    return this.#sum.amount;
  }

  /** The amount that the hold may still be charged, microcredits; 0 after the settlement. */
  get left(): Microcredits {
    return this.#isExpired ? 0 : leftOf(this.#sum);
  }

  /** The amount that upstreams have billed beyond the hold, microcredits. */
  get overrun(): Microcredits {
    return this.#overrun;
  }

  /** The fund with the least free money; null if the hold draws on no fund. */
  get scarcest(): FundTitle | null {
    const standings = this.#tools.books.standing(this.funds);
    return standings.toSorted((a, b) => a.free - b.free)[0]?.title ?? null;
  }

  /**
   * Reserves more money for another attempt. The additional amount of the hold is durable when the promise resolves. A raise never waits
   * for money. The caller must wait for the end of a raise before the next raise of the same hold.
   *
   * @param amounts microcredits: the first amount, or the last amount if the funds have twice the last amount free. If a fund must not cap
   * outputs, the hold gets the last amount or nothing.
   * @param least the least amount to add: if the first amount is not free, the free money is granted if it is at least this amount
   * @returns false if the limit or a fund forbids the raise, or if the hold was settled
   * @throws StoreError, by rejecting, if the raise could not be written; after this error no more money is reserved
   */
  async raise(amounts: ExtendOp['amounts'], least: Microcredits = amounts[0]): Promise<boolean> {
    const whole = amounts.at(-1)!;
    if (this.#isExpired || !raise(this.#sum, whole)) return false;
    if (whole === 0) return true;
    return (await (mayCap(this.funds) ? this.#reserve(amounts, least) : this.#reserve([whole]))) === null;
  }

  /**
   * Reserves more money for an answer that is being written. The additional amount of the hold is durable when the promise resolves. An
   * extension gets free money before all requests that have not started. The caller must wait for the end of an extension before the next
   * extension of the same hold.
   *
   * @param waitMs the longest time to wait, ms
   * @param signal ends the wait
   * @param onBlocked called when a fund lacks the money
   * @returns false if the extension was not granted, or if the request has ended
   * @throws StoreError, by rejecting, if the extension could not be written; after this error no more money is reserved
   */
  async extend({ amounts, least }: HoldExtension, { waitMs, signal, onBlocked }: ExtensionWait): Promise<boolean> {
    if (this.#isExpired || !amounts.every((by) => raise(this.#sum, by))) return false;
    const until = performance.now() + waitMs;
    let sent: Promise<FundBlock | 'closed' | null> = this.#reserve(amounts, least);
    for (;;) {
      const refused = await sent;
      if (refused === null || refused === 'closed') return refused === null;
      onBlocked(refused);
      if (refused.why === 'exhausted') return false;
      const attempt = () => {
        const fitting = fit(this.#tools.books.standing(this.funds), amounts, 0, least);
        if (isBlocked(fitting)) return fitting;
        sent = this.#reserve(amounts, least);
        return null;
      };
      // The books may refuse an amount that seemed to fit, because other instances draw on the funds, too.
      const left = Math.min(waitMs, until - performance.now());
      const obstacle = await this.#tools.contention.wait(refused, { waitMs: left, attempt, signal, isUrgent: true });
      if (obstacle !== null) return false;
    }
  }

  async #reserve(amounts: ExtendOp['amounts'], least: Microcredits = amounts[0]): Promise<FundBlock | 'closed' | null> {
    const { id } = this;
    const op = { kind: 'extend', id, step: ++this.#steps, at: this.#tools.now(), amounts, least } as const;
    const [result] = await applyOnce(this.#tools, [op]);
    if (result?.kind === 'refused' && result.fund) return { fund: result.fund, why: result.why };
    // The request of an extension may have ended while it waited for money. A hold that was closed during the wait stays closed.
    const raised = result?.kind === 'granted' ? raise(this.#sum, result.amount) : null;
    if (!raised) return 'closed';
    this.#sum = raised;
    return null;
  }

  /**
   * Charges the known cost of a failed attempt, which leaves less for the next attempt. The charge is durable within milliseconds.
   * @returns the part of the cost that the books charge, microcredits
   */
  async post(line: EntryLine): Promise<Microcredits> {
    const { id } = this;
    const most = leftOf(this.#sum);
    const op: PostOp = { kind: 'post', id, step: ++this.#steps, at: this.#tools.now(), entry: line, most };
    this.#sum = post(this.#sum, line.cost).next;
    const [result] = await this.#tools.books.append([op], this.#looking);
    const { charged, overrun } = settlementOf(result);
    this.#overrun += overrun;
    this.#judge(charged, overrun, line);
    return charged;
  }

  /**
   * Charges the last attempt, releases the rest, and writes in the same commit the writes that `also` returns. The result is the amount
   * that the books have charged, which may differ from the amount that this hold knows. The settlement is durable within milliseconds. Only
   * the first call of `settle` settles the hold: later calls write nothing and return the same settlement. A hold that has expired is
   * corrected to its settlement.
   *
   * @param line the last attempt; null if nothing is to be charged
   * @param also called once; before this returns, if the books are in this process. If `also` throws, this method throws the same error, at
   * once or by rejecting. This method throws no other error, and the money is booked in any case.
   */
  settle(line: EntryLine | null, also: (settlement: Settlement) => readonly Write[]): Promise<Settlement> {
    if (this.#settlement) return this.#settlement;
    const most = leftOf(this.#sum);
    const op: SettleOp = { kind: 'settle', id: this.id, at: this.#tools.now(), entry: line, most };
    this.#sum = settle(this.#sum, line ? line.cost : null).next;
    const answer = Promise.withResolvers<Settlement>();
    this.#settlement = answer.promise;
    let isAnswered = false;
    const follow = ([result]: readonly OpResult[]): Sequel => {
      const settlement = settlementOf(result);
      answer.resolve(settlement);
      isAnswered = true;
      return this.#settled(settlement, line, also);
    };
    try {
      const booked = this.#tools.books.append([op], follow);
      return isAnswered ? answer.promise : booked.then(() => answer.promise);
    } finally {
      this.#tools.closed(this);
    }
  }

  /**
   * Handles the answer of the books.
   * @returns what is written together with the settlement
   */
  #settled(settlement: Settlement, line: EntryLine | null, also: (settlement: Settlement) => readonly Write[]): Sequel {
    const excess = settlement.overrun - this.#overrun;
    this.#overrun = settlement.overrun;
    const { openSettlement } = this.#tools;
    const ops: LedgerOp[] = [];
    openSettlement.ops = ops;
    try {
      return { ops, writes: also(settlement) };
    } finally {
      // The hold ends in `finally`, so that a request whose record cannot be made does not hold its money forever.
      openSettlement.ops = null;
      if (this.funds.length > 0) this.#tools.notifier.look(this.funds);
      if (line) this.#judge(settlement.charged, excess, line);
    }
  }

  /**
   * Closes a hold that was not settled, and charges the hold in full.
   * @returns the charge of the hold, microcredits
   */
  async expire(): Promise<Microcredits> {
    if (this.#settlement || this.#isExpired) return 0;
    this.#isExpired = true;
    const before = this.#sum.charged;
    const op = { kind: 'expire', id: this.id, at: this.#tools.now(), rule: 'charge' } as const;
    const booked = this.#tools.books.append([op], this.#looking);
    this.#tools.closed(this);
    const [result] = await booked;
    return settlementOf(result).charged - before;
  }

  /** Checks the funds for alerts after the books have answered. */
  readonly #looking = (): Sequel => {
    this.#tools.notifier.look(this.funds);
    return NOTHING_MORE;
  };

  /** Raises an alarm if the upstream billed more than was reserved, or reported an impossible usage. */
  #judge(charged: Microcredits, excess: Microcredits, line: EntryLine): void {
    if (excess > 0) this.#alarm('an upstream billed more than was reserved', line, charged, excess);
    if (line.impossible || !isCost(line.cost) || !isPlausible(line.usage)) {
      this.#alarm('an upstream reported an impossible usage', line, charged, excess);
    }
  }

  #alarm(
    message: string,
    { tariff, cost, usage, impossible }: EntryLine,
    charged: Microcredits,
    excess: Microcredits,
  ): void {
    const { model, provider, upstream } = tariff;
    this.#tools.notifier.alarm(message, {
      decision: idText('dec_', this.id),
      key: this.account.keyId,
      model,
      provider,
      upstream,
      charged_credits: toCredits(charged),
      excess_credits: toCredits(excess),
      // An impossible cost is written as text, because it cannot be converted to Credits.
      cost_microcredits: String(cost),
      usage: JSON.stringify(impossible ?? usage),
    });
  }
}
