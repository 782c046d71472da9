import type { Deposit, EntryLine, Settlement } from '../core/accounting/entry.ts';
import { type FundBlock, type FundTitle, fit, isBlocked } from '../core/accounting/fund.ts';
import { type HeldSum, isCost, leftOf, openHeldSum, post, raise, settle } from '../core/accounting/held-sum.ts';
import { type Microcredits, toCredits } from '../core/credits.ts';
import { idText } from '../core/id.ts';
import type { Links } from '../core/linked-set.ts';
import type { Timers } from '../core/timers.ts';
import { isPlausible } from '../core/usage.ts';
import type { ExtendOp, LedgerBooks, LedgerOp, OpResult, PostOp, Sequel, SettleOp } from '../store/books.ts';
import type { Write } from '../store/store.ts';
import type { Account } from './accounts.ts';
import type { Contention } from './contention.ts';
import { type DrawnFund, mayCap } from './drawn-fund.ts';
import type { HoldRequest } from './hold-request.ts';
import type { LedgerNotifier } from './notifier.ts';
import { applyOnce } from './repeat.ts';

/** Money set aside for one request. Ends with exactly one settlement, on every path. Amounts are microcredits. */
export type Hold = Pick<
  LedgerHold,
  'id' | 'grows' | 'reserved' | 'left' | 'overrun' | 'scarcest' | 'raise' | 'extend' | 'post' | 'settle'
>;

/**
 * Money set aside, only in memory, for a request that a payment in progress will pay. Budgets hold the whole worst case; the
 * holder's balance holds the part that the payment does not cover. It ends once: captured or released.
 */
export interface Earmark {
  /** Microcredits that the hold will have reserved. */
  readonly amount: Microcredits;
  /**
   * Books the deposit, the hold and `also` in one commit, once the payment has arrived.
   *
   * @returns null if the balance was lowered meanwhile and no longer suffices, or this process has slept past its lease: the deposit
   * and `also` are booked nevertheless, and nothing is held
   * @throws StoreError, by rejecting, when it could not be written: then nothing is booked and nothing held
   */
  capture(deposit: Deposit, also: readonly Write[]): Promise<Hold | null>;
  /** Frees the money: no payment has arrived. Does nothing after the end. */
  release(): void;
}

/** The operations of the settlement in progress, to which its writers may add; null while there is none. */
export interface OpenSettlement {
  ops: LedgerOp[] | null;
}

/** More money for an answer that is being written, in microcredits. */
export interface HoldExtension {
  /** The first amount, or the second where the funds have that twice. */
  readonly amounts: ExtendOp['amounts'];
  /** Where the first is not free, what is free of it from this on. */
  readonly least: Microcredits;
}

/** How an extension waits for money. */
interface ExtensionWait {
  readonly waitMs: number;
  readonly signal: AbortSignal;
  readonly onBlocked: (blocked: FundBlock) => void;
}

/** The parts of its ledger that a hold needs. */
export interface HoldTools {
  readonly books: Pick<LedgerBooks, 'apply' | 'append' | 'standing'>;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly notifier: LedgerNotifier;
  readonly timers: Timers;
  readonly contention: Pick<Contention, 'wait'>;
  /** Collects operations to be written with a settlement. */
  readonly openSettlement: OpenSettlement;
  readonly closed: (hold: LedgerHold) => void;
}

/** A request for a hold, and the account that it draws on. */
export interface AccountedRequest {
  readonly request: Pick<HoldRequest, 'id' | 'expiresAt' | 'limit'>;
  readonly account: Account;
  /** Whether only the first tranche is set aside. */
  readonly grows: boolean;
}

const NOT_BOOKED = openHeldSum(0, null);

const NOTHING_MORE: Sequel = { ops: [], writes: [] };

/** The books answer a charge with its figures. */
function settlementOf(result: OpResult | undefined): Settlement {
  if (result?.kind !== 'charged') throw new Error('the books have not answered a charge');
  return { charged: result.charged, overrun: result.overrun };
}

/** A hold on the books, which alone know what is charged: what it has left is its own reckoning. */
export class LedgerHold implements Links<LedgerHold> {
  readonly id: number;
  readonly account: Account;
  /** The wall-clock time, ms since 1970, from which an unsettled hold counts as forgotten. */
  readonly expiresAt: number;
  /** Whether it has only the first tranche of its answer, and grows with it. */
  readonly grows: boolean;
  /** The funds that it draws on. */
  funds: readonly DrawnFund[];
  /** Whether the books have granted it. Until then they may refuse it. */
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

  /** Marks it as granted by the books. Returns itself. */
  granted(amount: Microcredits): this {
    this.#sum = openHeldSum(amount, this.#limit);
    this.isBooked = true;
    return this;
  }

  get reserved(): Microcredits {
    return this.#sum.amount;
  }

  /** The sum that may still be charged; 0 once settled. */
  get left(): Microcredits {
    return this.#isExpired ? 0 : leftOf(this.#sum);
  }

  /** The sum that upstreams have billed beyond the hold. */
  get overrun(): Microcredits {
    return this.#overrun;
  }

  /** The fund that has the least free money; null for none. */
  get scarcest(): FundTitle | null {
    const standings = this.#tools.books.standing(this.funds);
    return standings.toSorted((a, b) => a.free - b.free)[0]?.title ?? null;
  }

  /**
   * Reserves more for another attempt; durable before it resolves. A raise waits for no money. One at a time.
   *
   * @param amounts microcredits: the first, or the last where the funds have that twice; where one of the funds must not cap
   * outputs, the last or nothing
   * @param least where the first is not free, what is free of it from this on
   * @returns false when the limit or a fund forbids it or the hold was settled
   * @throws StoreError, by rejecting, when it could not be written: then nothing more is reserved
   */
  async raise(amounts: ExtendOp['amounts'], least: Microcredits = amounts[0]): Promise<boolean> {
    const whole = amounts.at(-1)!;
    if (this.#isExpired || !raise(this.#sum, whole)) return false;
    if (whole === 0) return true;
    return (await (mayCap(this.funds) ? this.#reserve(amounts, least) : this.#reserve([whole]))) === null;
  }

  /**
   * Reserves more for an answer that is being written; durable before it resolves. Waits for money before all requests that wait
   * for their first. One at a time.
   *
   * @param waitMs the most that it waits
   * @param signal ends the wait
   * @param onBlocked called where a fund lacks the money
   * @returns false where it was not granted, or the request has ended
   * @throws StoreError, by rejecting, when it could not be written: then nothing more is reserved
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
      // The books may refuse what seemed to fit: others draw on the funds, too.
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
    // The request may have ended meanwhile. A closed hold stays closed.
    const raised = result?.kind === 'granted' ? raise(this.#sum, result.amount) : null;
    if (!raised) return 'closed';
    this.#sum = raised;
    return null;
  }

  /**
   * Posts a failed attempt's known cost, which leaves less for the next. Resolves with the part of it that the books charge; durable
   * within milliseconds.
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
   * Posts the last attempt, releases the rest, and writes in the same commit what `also` returns for the settlement. Resolves with what
   * the books have charged, which may differ from what this hold knows; durable within milliseconds. The first call wins: later ones
   * write nothing and return the same settlement. A hold that has expired is settled all the same, by a correction.
   *
   * @param line the last attempt; null if none is to be charged
   * @param also called once, before this returns where the books are in this process. Its errors alone are thrown, at once or by
   * rejecting, with the money booked nevertheless.
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

  /** Takes the answer of the books. Returns what is written with it. */
  #settled(settlement: Settlement, line: EntryLine | null, also: (settlement: Settlement) => readonly Write[]): Sequel {
    const excess = settlement.overrun - this.#overrun;
    this.#overrun = settlement.overrun;
    const { openSettlement } = this.#tools;
    const ops: LedgerOp[] = [];
    openSettlement.ops = ops;
    try {
      return { ops, writes: also(settlement) };
    } finally {
      // A request whose record cannot be made must not hold its money for good.
      openSettlement.ops = null;
      if (this.funds.length > 0) this.#tools.notifier.look(this.funds);
      if (line) this.#judge(settlement.charged, excess, line);
    }
  }

  /** Closes an unsettled hold and charges it in full. Resolves with that charge. */
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

  /** Reports the funds once the books have answered. */
  readonly #looking = (): Sequel => {
    this.#tools.notifier.look(this.funds);
    return NOTHING_MORE;
  };

  /** Alarms if the upstream billed more than was reserved, or an impossible usage. */
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
      // Text, because an impossible cost cannot be converted to Credits.
      cost_microcredits: String(cost),
      usage: JSON.stringify(impossible ?? usage),
    });
  }
}
