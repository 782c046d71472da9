import type { Microcredits } from '../core/credits.ts';
import { timeOfId } from '../core/id.ts';
import type { Write } from '../store/store.ts';
import type { Account, Accounts } from './accounts.ts';
import { checkDeposit, type Deposits } from './deposits.ts';
import type { Desk } from './desk.ts';
import type { Deposit, Earmark } from './earmark.ts';
import type { Funds } from './funds.ts';
import { type Hold, ReservationHold } from './hold.ts';
import type { Order } from './ledger.ts';
import type { OpenHolds } from './open-holds.ts';
import { type Fund, hold, release } from './rules/fund.ts';
import { openReservation } from './rules/reservation.ts';

export interface BookingParts {
  readonly desk: Desk;
  readonly accounts: Accounts;
  readonly funds: Funds;
  readonly holds: OpenHolds;
  readonly deposits: Deposits;
}

/** What was taken for an order, and nothing is written of it. */
interface Taken {
  readonly order: Order;
  readonly account: Account;
  readonly amount: Microcredits;
  readonly funds: readonly Fund[];
}

/** Writes down what was taken out of funds, and keeps it right while budgets change. */
export class Bookings {
  readonly #parts: BookingParts;
  readonly #earmarks = new Set<FundEarmark>();

  constructor(parts: BookingParts) {
    this.#parts = parts;
  }

  /** The reservation's row is durable when this resolves. Rejects with StoreError, and then nothing is held. */
  async reserve(order: Order, account: Account, funds: readonly Fund[], amount: Microcredits): Promise<Hold> {
    const made = this.#open(order, account, funds, amount);
    const { fundIds } = made;
    try {
      this.#parts.desk.makeRoom(this.#parts.holds.size);
      await this.#parts.desk.reserve(made, order.agentWallet);
    } catch (cause) {
      this.#drop(made, amount, 0);
      throw cause;
    }
    return this.#written(made, fundIds);
  }

  earmark(taken: Taken, expected: Microcredits): Earmark {
    const made = new FundEarmark(taken, expected, this);
    this.#earmarks.add(made);
    return made;
  }

  /** Gives back what an earmark holds. */
  release(earmark: FundEarmark): void {
    const { funds, amount, expected } = earmark;
    this.#earmarks.delete(earmark);
    release(funds, amount, expected);
    this.#parts.desk.freed(funds);
  }

  /** Makes an earmark a reservation, in one commit with the deposit that pays for it. */
  async capture(earmark: FundEarmark, deposit: Deposit, also: readonly Write[]): Promise<Hold | null> {
    const { desk, deposits, holds } = this.#parts;
    const { account, amount, expected, order } = earmark;
    const balance = earmark.funds.find(isBalance)!;
    const adds = deposit.paid - deposit.fee;
    const promised = Math.min(amount, expected);
    if (balance.free + adds < promised) {
      this.release(earmark);
      await deposits.add(account.holder, deposit, also);
      return null;
    }
    this.#earmarks.delete(earmark);
    // Of what comes, so much is held already; where less comes than was promised, the balance holds the difference from now on.
    const comes = Math.min(promised, adds);
    balance.held += promised - comes;
    const made = this.#open(order, account, earmark.funds, amount);
    const { fundIds } = made;
    // A limit that was lowered meanwhile does not undo what was promised: it is drawn on as by what is open already.
    const roomy = made.funds.filter((fund) => isBalance(fund) || fund.free >= 0);
    const first = roomy.length === made.funds.length ? fundIds : desk.idsOf(roomy);
    const coming = deposits.begin(account.holder, deposit);
    try {
      desk.makeRoom(holds.size);
      await desk.capture(made, { deposit: coming.writes, first, note: order.agentWallet, also });
    } catch (cause) {
      deposits.lost(coming);
      this.#drop(made, amount, comes);
      throw cause;
    }
    // From here on the balance holds all of it, and has what came.
    balance.held += comes;
    deposits.arrived(coming);
    return this.#written(made, fundIds);
  }

  /** What a reservation draws on by now; what is new holds its money from here on, and what is gone no longer. */
  moved(from: readonly Fund[], account: Account, time: number, held: Microcredits): readonly Fund[] {
    const present = this.#parts.funds.of(account, time);
    if (present === from) return from;
    // A balance is drawn on from the start of a reservation or not at all.
    const drawn = present.filter((fund) => !isBalance(fund) || from.includes(fund));
    hold(
      drawn.filter((fund) => !from.includes(fund)),
      held,
    );
    release(
      from.filter((fund) => !drawn.includes(fund)),
      held,
    );
    return drawn;
  }

  /** Open reservations and earmarks draw on what applies to them now. */
  moveAll(): void {
    const { desk, holds } = this.#parts;
    for (const earmark of this.#earmarks) {
      const { funds, account, order, amount } = earmark;
      earmark.funds = this.moved(funds, account, timeOfId(order.id), amount);
    }
    for (const made of holds.all()) {
      const drawn = this.moved(made.funds, made.account, timeOfId(made.id), made.held);
      const fundIds = desk.idsOf(drawn);
      // A limit that was changed has a row of its own: what is raised from now on is within that.
      if (fundIds === made.fundIds) continue;
      made.attach(drawn, fundIds);
      // What may still come to nothing leaves no row; it is told of once it is written.
      if (made.isWritten) desk.attach(made);
    }
  }

  /** What earmarks draw on. */
  get earmarked(): Set<Fund> {
    return new Set([...this.#earmarks].flatMap(({ funds }) => funds));
  }

  #open(
    { id, limit, expiresAt }: Order,
    account: Account,
    funds: readonly Fund[],
    amount: Microcredits,
  ): ReservationHold {
    const { desk, accounts, holds } = this.#parts;
    accounts.number(account);
    const fundIds = idsOf(desk, account, funds);
    const reservation = openReservation(amount, limit);
    const made = new ReservationHold(desk, { id, account, expiresAt, funds, fundIds }, reservation);
    holds.add(made);
    return made;
  }

  #written(made: ReservationHold, fundIds: string | null): Hold {
    made.isWritten = true;
    if (made.fundIds !== fundIds) this.#parts.desk.attach(made);
    return made;
  }

  #drop(made: ReservationHold, amount: Microcredits, expected: Microcredits): void {
    const { desk, holds } = this.#parts;
    holds.remove(made);
    release(made.funds, amount, expected);
    desk.freed(made.funds);
  }
}

class FundEarmark implements Earmark, Taken {
  readonly order: Order;
  readonly account: Account;
  readonly amount: Microcredits;
  readonly expected: Microcredits;
  funds: readonly Fund[];
  readonly #bookings: Bookings;
  #hasEnded = false;

  constructor({ order, account, amount, funds }: Taken, expected: Microcredits, bookings: Bookings) {
    this.order = order;
    this.account = account;
    this.amount = amount;
    this.expected = expected;
    this.funds = funds;
    this.#bookings = bookings;
  }

  async capture(deposit: Deposit, also: readonly Write[]): Promise<Hold | null> {
    checkDeposit(deposit);
    if (this.#hasEnded) throw new Error('an earmark is captured once, and not after its release');
    this.#hasEnded = true;
    return this.#bookings.capture(this, deposit, also);
  }

  release(): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#bookings.release(this);
  }
}

const isBalance = ({ title }: Fund): boolean => title.kind === 'balance';

function idsOf(desk: Desk, account: Account, funds: readonly Fund[]): string | null {
  if (account.funds !== funds) return desk.idsOf(funds);
  if (account.fundIds === undefined) account.fundIds = desk.idsOf(funds);
  return account.fundIds;
}
