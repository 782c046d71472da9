import { checkDeposit } from '../core/accounting/entry.ts';
import { type FundBlock, fit, isBlocked } from '../core/accounting/fund.ts';
import { idText, timeOfId } from '../core/id.ts';
import { LinkedSet } from '../core/linked-set.ts';
import { type Microcredits, toCredits } from '../core/money/credits.ts';
import type { Timers } from '../core/time/timers.ts';
import type { AttachOp, HoldOp, LedgerBooks, LedgerOp, OpResult } from '../store/books.ts';
import type { Instance } from '../store/instance.ts';
import { StoreError, type Write } from '../store/store.ts';
import type { Account } from './accounts.ts';
import { type FundShortage, shortage } from './available-funds.ts';
import type { Contention } from './contention.ts';
import type { DrawnFund } from './drawn-fund.ts';
import { amountsFor, type FundLook, leastFor, trancheTermsOf } from './first-hold.ts';
import type { Funds } from './funds.ts';
import { type AccountedRequest, type Earmark, type Hold, type HoldTools, LedgerHold } from './hold.ts';
import type { HoldRequest } from './hold-request.ts';
import type { LedgerNotifier } from './notifier.ts';
import { OpenHolds } from './open-holds.ts';
import { applyOnce } from './repeat.ts';

interface HoldDeskOptions {
  readonly books: LedgerBooks;
  readonly funds: Funds;
  readonly contention: Contention;
  readonly notifier: LedgerNotifier;
  readonly timers: Timers;
  readonly instance: GrantingInstance;
  /** Returns ms since 1970. */
  readonly now: () => number;
}

/** The instance of this process, in whose name it grants money. */
export type GrantingInstance = Pick<Instance, 'slot' | 'epoch' | 'isCurrent'>;

/** A request for money, and the account that it draws on. */
interface MoneyRequest extends AccountedRequest {
  readonly request: HoldRequest;
  /** Microcredits that a payment in progress will add to the balance. */
  readonly expected: number;
  /** True if the request may still wait for more money. */
  readonly isPatient: boolean;
}

/** Money that is set aside, and the funds that it draws on. A reload of the policy may change the funds. */
interface OpenEarmark {
  readonly id: number;
  readonly account: Account;
  funds: readonly DrawnFund[];
}

/** A hold in the form in which the ledger's books receive the hold. */
interface DrawingOp extends HoldOp {
  readonly funds: readonly DrawnFund[];
  readonly least: Microcredits;
}

type BookedPromise<Booked> = Promise<Booked | FundShortage>;

/** Requests money from the books. Resolves with the hold or earmark, or with the result of `blocked` for the fund that lacks money. */
type BookingCall<Booked> = <Blocked>(
  money: MoneyRequest,
  op: DrawingOp,
  blocked: (block: FundBlock) => Blocked | Promise<Blocked>,
) => Promise<Booked | Blocked>;

/** Sets money aside for requests, and tracks the open holds and earmarks of this process. State: holds. */
export class HoldDesk {
  readonly #options: HoldDeskOptions;
  readonly #tools: HoldTools;
  readonly #holds = new LinkedSet<LedgerHold>();
  readonly #earmarks = new Set<OpenEarmark>();

  /** @param openSettlement collects the operations of the settlement in progress */
  constructor(options: HoldDeskOptions, openSettlement: HoldTools['openSettlement']) {
    const { books, now, notifier, contention, timers } = options;
    this.#options = options;
    this.#tools = {
      books,
      now,
      notifier,
      contention,
      timers,
      openSettlement,
      closed: (hold) => this.#holds.remove(hold),
    };
  }

  hold(request: HoldRequest, account: Account): Promise<Hold | FundShortage> {
    const isPatient = request.waitMs > 0;
    const { funds } = this.#options;
    const tranche = request.growth
      ? trancheTermsOf(request, funds.of(account, timeOfId(request.id)), this.#look)
      : null;
    const begun = tranche ? { ...request, whole: undefined, ...tranche } : request;
    return this.#setAside({ request: begun, account, expected: 0, grows: tranche !== null, isPatient }, this.#sendHold);
  }

  /** @param expected microcredits that a payment in progress will add to the balance */
  earmark(request: HoldRequest, account: Account, expected: number): Promise<Earmark | FundShortage> {
    return this.#setAside({ request, account, expected, grows: false, isPatient: false }, this.#sendEarmark);
  }

  /** Applies operations as the books do. If the answer of the books is lost, the hold desk sends the batch again. */
  apply(ops: readonly LedgerOp[], also?: readonly Write[]): Promise<readonly OpResult[]> {
    return applyOnce(this.#options, ops, also);
  }

  /**
   * Moves open holds and earmarks to the funds that now apply to these holds and earmarks.
   * @returns the operations that do this in the books
   */
  attachAll(): AttachOp[] {
    const { funds, now } = this.#options;
    const ops: AttachOp[] = [];
    for (const made of [...this.#earmarks, ...this.#holds.all()]) {
      const present = funds.of(made.account, timeOfId(made.id));
      if (present === made.funds) continue;
      // When a hold is made, the ledger decides whether the hold draws on a balance, and a reload never changes this.
      const hasBalance = made.funds.some(({ title }) => title.kind === 'balance');
      made.funds = hasBalance ? present : present.filter(({ title }) => title.kind !== 'balance');
      ops.push({ kind: 'attach', id: made.id, at: now(), funds: made.funds });
    }
    return ops;
  }

  openHolds(): OpenHolds {
    return new OpenHolds([...this.#earmarks, ...this.#holds.all()]);
  }

  /** Charges in full the holds that should have ended, because the upstream may still be working and will bill the work. */
  expire(): void {
    const { notifier, now } = this.#options;
    const time = now();
    for (const hold of this.#holds.all()) {
      if (hold.expiresAt > time || !hold.isBooked) continue;
      void hold.expire().then((charged) =>
        notifier.alarm('a reservation was never settled', {
          decision: idText('dec_', hold.id),
          key: hold.account.keyId,
          charged_credits: toCredits(charged),
        }),
      );
    }
  }

  /**
   * Sets money aside in all funds of an account, and waits for money if waiting helps. The figures of funds that this process reads only
   * decide whether to wait. The books decide whether there is money, because the books may know of holds that this process does not know.
   */
  #setAside<Booked>(money: MoneyRequest, send: BookingCall<Booked>): BookedPromise<Booked> {
    const op = this.#opOf(money);
    const blocked = (block: FundBlock): BookedPromise<Booked> =>
      block.why === 'contended' && money.request.waitMs > 0
        ? this.#wait(block, money, send)
        : Promise.resolve(shortage(block, op.least));
    const block = this.#blockBefore(money, op);
    return block ? blocked(block) : send(money, op, blocked);
  }

  /** @returns the fund that the request must wait for before it is sent to the books, or null if it is sent at once */
  #blockBefore({ request, expected }: MoneyRequest, op: DrawingOp): FundBlock | null {
    const { books, contention } = this.#options;
    if (op.funds.length === 0) return null;
    const line = contention.lineBefore(op.funds);
    if (line < 0 && request.waitMs <= 0) return null;
    const standings = books.standing(op.funds);
    const fitting = fit(standings, op.amounts, expected, op.least);
    // If other instances also draw on the fund (its figures have an age), the request is sent to the books, which poll the fund while the
    // request waits.
    if (isBlocked(fitting)) return fitting.why === 'contended' && fitting.fund.ageMs === 0 ? fitting : null;
    // If other requests already wait for one of the funds, a new request must wait after these requests.
    return line >= 0 ? { fund: standings[line]!, why: 'contended' } : null;
  }

  async #wait<Booked>(first: FundBlock, money: MoneyRequest, send: BookingCall<Booked>): BookedPromise<Booked> {
    const { books, contention } = this.#options;
    const { waitMs, signal } = money.request;
    const until = performance.now() + waitMs;
    let isUrgent = false;
    for (let blocked = first; ; isUrgent = true) {
      let sent: Promise<Booked | FundBlock> | null = null;
      const attempt = (isLast: boolean) => {
        const tried = { ...money, isPatient: money.isPatient && !isLast };
        // Each attempt builds the operation again, because the budgets may have changed.
        const op = this.#opOf(tried);
        const fitting = fit(books.standing(op.funds), op.amounts, money.expected, op.least);
        if (isBlocked(fitting)) return fitting;
        sent = send(tried, op, (block) => block);
        return null;
      };
      const left = isUrgent ? until - performance.now() : waitMs;
      const obstacle = await contention.wait(blocked, { waitMs: left, attempt, signal, isUrgent });
      const booked = obstacle ?? (await (sent ?? nothingSent()));
      if (!isBlock(booked)) return booked;
      if (obstacle || booked.why === 'exhausted')
        return shortage(booked, this.#opOf({ ...money, isPatient: false }).least);
      blocked = booked;
    }
  }

  readonly #sendHold: BookingCall<Hold> = (money, op, blocked) =>
    this.#held(money, op, this.apply([op], money.request.also), (result) => blocked(blockOf(result)));

  readonly #sendEarmark: BookingCall<Earmark> = async (money, op, blocked) => {
    const { account, expected } = money;
    const earmark: OpenEarmark = { id: op.id, account, funds: op.funds };
    this.#earmarks.add(earmark);
    const booking = this.#options.books.apply([{ ...op, kind: 'earmark', expected }]);
    const [result] = await booking.catch((cause: unknown) => {
      this.#earmarks.delete(earmark);
      throw this.#letGo(op.id, cause);
    });
    if (result?.kind === 'granted') return this.#earmarkOf(money, op, earmark, result.amount);
    this.#earmarks.delete(earmark);
    return blocked(blockOf(result));
  };

  readonly #look: FundLook = (funds) => this.#options.books.standing(funds);

  /** Builds the operation that requests a hold, with the funds that apply now. */
  #opOf({ request, account, isPatient }: MoneyRequest): DrawingOp {
    const { id, ample, agentWallet: note, expiresAt } = request;
    const { dimensions } = account;
    const funds = this.#options.funds.of(account, timeOfId(id));
    const at = this.#options.now();
    // If no fund has capped the output, only the whole first amount is enough.
    const isUncapped = request.least === null && request.whole === undefined;
    const amounts = isUncapped ? request.amounts : amountsFor(request, funds);
    const least = isUncapped ? amounts[0] : leastFor(request, funds, isPatient, this.#look);
    return { kind: 'hold', id, at, dimensions, funds, amounts, least, ample, note, expiresAt };
  }

  /**
   * Resolves with the hold once the books have granted it. A process whose lease ended while the request waited, for example because the
   * machine slept, grants nothing: another instance may have taken over its work. The hold then ends without a charge.
   */
  #held<Refused>(
    money: MoneyRequest,
    op: DrawingOp,
    booking: Promise<readonly OpResult[]>,
    refused: (result: OpResult | undefined) => Refused | Promise<Refused>,
  ): Promise<Hold | Refused> {
    const hold = new LedgerHold(this.#tools, money, op.funds);
    const { instance } = this.#options;
    const { slot, epoch } = instance;
    // The hold is added to the open holds before the books answer, so that a reload of the policy moves this hold, too.
    this.#holds.add(hold);
    return booking.then(
      (results) => {
        const result = results[0];
        if (result?.kind === 'granted') {
          hold.granted(result.amount);
          if (instance.isCurrent && instance.slot === slot && instance.epoch === epoch) return hold;
          void hold.settle(null, () => []);
        } else this.#holds.remove(hold);
        return refused(result);
      },
      (cause) => {
        this.#holds.remove(hold);
        throw cause;
      },
    );
  }

  /**
   * Releases an earmark that the books may have made, after a request to the books has failed.
   * @returns the cause
   */
  #letGo(id: number, cause: unknown): unknown {
    void this.#options.books.append([{ kind: 'release', id }]);
    return cause;
  }

  #earmarkOf(money: MoneyRequest, op: DrawingOp, earmark: OpenEarmark, amount: number): Earmark {
    const { books, now } = this.#options;
    const { id } = earmark;
    return {
      amount,
      capture: async (deposit, also) => {
        checkDeposit(deposit);
        if (!this.#earmarks.delete(earmark)) throw new Error('the earmark was already captured or released');
        const booking = this.apply([{ kind: 'capture', id, at: now(), deposit }], also).catch((cause: unknown) => {
          throw this.#letGo(id, cause);
        });
        return this.#held(money, { ...op, funds: earmark.funds }, booking, () => null);
      },
      release: () => {
        if (this.#earmarks.delete(earmark)) books.append([{ kind: 'release', id }]);
      },
    };
  }
}

const isBlock = <Booked>(answer: Booked | FundBlock): answer is FundBlock =>
  typeof answer === 'object' && answer !== null && 'fund' in answer;

/**
 * Returns the fund that lacks the money for a hold or an earmark that the books refused.
 * @throws StoreError `fenced` if the books granted the hold or the earmark to a process whose lease had ended
 */
function blockOf(result: OpResult | undefined): FundBlock {
  if (result?.kind === 'granted')
    throw new StoreError('the lease of this server ended before its hold was granted', { reason: 'fenced' });
  if (result?.kind === 'refused' && result.fund) return { fund: result.fund, why: result.why };
  throw new Error('the books have neither granted nor refused a hold');
}

function nothingSent(): never {
  throw new Error('an attempt succeeded without sending an operation');
}
