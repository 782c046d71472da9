import { type Microcredits, toCredits } from '../core/credits.ts';
import { idText } from '../core/id.ts';
import { isPlausible, type Usage } from '../core/usage.ts';
import type { TokenCounts } from '../store/sqlite/books/tables.ts';
import type { Write } from '../store/store.ts';
import type { Account } from './accounts.ts';
import type { Desk } from './desk.ts';
import { type Fund, fit, hold, isBlocked, release, spend } from './rules/fund.ts';
import { expire, isCost, leftOf, post, type Reservation, raise, type Step, settle } from './rules/reservation.ts';

/** Which model was sold by whom at which price. Each is made once: the ledger knows it by identity. */
export interface Tariff {
  readonly model: string;
  readonly provider: string;
  /** The provider's own name of the model. */
  readonly upstream: string;
  /** JSON of the exact price, so that a cost can be computed again from the entry alone. */
  readonly price: string;
}

/** One attempt at an upstream and what it cost. */
export interface EntryLine {
  readonly tariff: Tariff;
  readonly usage: Usage;
  /** True when tokens were counted here, not reported by the upstream. */
  readonly estimated: boolean;
  readonly cost: Microcredits;
}

/** How a request was paid for, all its attempts together. */
export interface Settlement {
  /** What the caller pays. Never more than was reserved. */
  readonly charged: Microcredits;
  /** What upstreams billed beyond that; the operator's loss. */
  readonly overrun: Microcredits;
}

/** Money set aside for one request. Ends with exactly one settlement, on every path. */
export interface Hold {
  readonly id: number;
  readonly reserved: Microcredits;
  /** What may still be charged; 0 once settled. */
  readonly left: Microcredits;
  /**
   * Reserves `by` more; durable before it resolves. False when the limit or a fund forbids it or the hold was
   * settled: nobody waits for a raise. Rejects with StoreError when it could not be written, and then reserves
   * nothing more. One at a time.
   */
  raise(by: Microcredits): Promise<boolean>;
  /** Posts a failed attempt's known cost, which leaves less for the next. Returns what of it is charged. */
  post(line: EntryLine): Microcredits;
  /**
   * Posts the last attempt, releases the rest and writes what `also` makes of that with it. The first call wins: later ones
   * write nothing and return the same. Never throws; durable within milliseconds.
   */
  settle(line: EntryLine | null, also: (settlement: Settlement) => readonly Write[]): Settlement;
}

/** The hold of a reservation whose row is written, or about to be. */
export class ReservationHold implements Hold {
  readonly id: number;
  readonly account: Account;
  /** On the wall clock, ms since 1970: not settled by then, it never will be. */
  readonly expiresAt: number;
  /** What it draws on, and the same as the journal has it. */
  funds: readonly Fund[];
  fundIds: string | null;
  /** Whether its row is in the store: until then it may still come to nothing. */
  isWritten = false;
  /** Neighbours among the open holds. */
  before: ReservationHold | null = null;
  after: ReservationHold | null = null;
  readonly #desk: Desk;
  #reservation: Reservation;
  #overrun: Microcredits = 0;
  /** What a raise that is being written holds already. */
  #raising: Microcredits = 0;
  #settlement: Settlement | null = null;

  constructor(
    desk: Desk,
    drawing: { id: number; account: Account; expiresAt: number; funds: readonly Fund[]; fundIds: string | null },
    reservation: Reservation,
  ) {
    this.id = drawing.id;
    this.account = drawing.account;
    this.expiresAt = drawing.expiresAt;
    this.funds = drawing.funds;
    this.fundIds = drawing.fundIds;
    this.#desk = desk;
    this.#reservation = reservation;
  }

  get reserved(): Microcredits {
    return this.#reservation.amount;
  }

  get charged(): Microcredits {
    return this.#reservation.charged;
  }

  get left(): Microcredits {
    return leftOf(this.#reservation);
  }

  /** What its funds hold for it. */
  get held(): Microcredits {
    return this.left + this.#raising;
  }

  async raise(by: Microcredits): Promise<boolean> {
    if (this.#raising > 0) throw new Error('a hold is raised by one attempt at a time');
    if (!raise(this.#reservation, by)) return false;
    if (by === 0) return true;
    if (isBlocked(fit(this.funds, [by]))) return false;
    // Held from now on, so that nobody else takes it while it is written.
    hold(this.funds, by);
    this.#raising = by;
    try {
      await this.#desk.raise(this, by);
    } catch (cause) {
      this.#giveBack(by);
      throw cause;
    } finally {
      this.#raising = 0;
    }
    const raised = raise(this.#reservation, by);
    // The caller may have gone meanwhile: what was closed stays closed.
    if (raised) this.#reservation = raised;
    else this.#giveBack(by);
    return raised !== null;
  }

  post(line: EntryLine): Microcredits {
    // Closed as never settled, and the exchange runs on.
    if (this.#settlement) return 0;
    const step = post(this.#reservation, line.cost);
    this.#desk.append(this.#take('post', step, line));
    return step.charged;
  }

  settle(line: EntryLine | null, also: (settlement: Settlement) => readonly Write[]): Settlement {
    if (this.#settlement) return this.#settlement;
    const step = settle(this.#reservation, line ? line.cost : null);
    const rest = leftOf(this.#reservation) - step.charged;
    const writes = line ? this.#take('settle', step, line) : this.#close('settle', step);
    this.#settlement = { charged: step.next.charged, overrun: this.#overrun };
    this.#desk.append([...writes, ...also(this.#settlement)]);
    this.#end(rest);
    return this.#settlement;
  }

  /** Closes what nobody settled: charged in full. Returns what was charged by that. */
  expire(): Microcredits {
    if (this.#settlement) return 0;
    const step = expire(this.#reservation, 'charge');
    const rest = leftOf(this.#reservation) - step.charged;
    this.#desk.append(this.#close('expire', step));
    this.#settlement = { charged: step.next.charged, overrun: this.#overrun };
    this.#end(rest);
    return step.charged;
  }

  /** Draws on other funds from now on: the budgets have changed. */
  attach(funds: readonly Fund[], fundIds: string | null): void {
    this.funds = funds;
    this.fundIds = fundIds;
  }

  #end(rest: Microcredits): void {
    this.#giveBack(rest);
    this.#desk.closed(this);
  }

  #giveBack(amount: Microcredits): void {
    release(this.funds, amount);
    this.#desk.freed(this.funds);
  }

  #close(kind: 'settle' | 'expire', step: Step): Write[] {
    this.#reservation = step.next;
    spend(this.funds, step.charged);
    return [this.#desk.closing(this, kind, step.charged)];
  }

  /** Takes a step over and returns its rows; alarms when the upstream went beyond what it may. */
  #take(kind: 'post' | 'settle', step: Step, line: EntryLine): Write[] {
    this.#reservation = step.next;
    this.#overrun += step.excess;
    spend(this.funds, step.charged);
    const plausible = isPlausible(line.usage);
    // What cannot be true must not make the entry unwritable.
    const tokens = plausible ? tokensOf(line.usage) : NO_TOKENS;
    const writes = [this.#desk.charge(this, kind, step.charged, line, tokens)];
    if (step.excess > 0) {
      writes.push(this.#desk.overrun(this, step.excess, line));
      this.#alarm('an upstream billed more than was reserved', line, step);
    }
    if (!isCost(line.cost) || !plausible) this.#alarm('an upstream reported an impossible usage', line, step);
    return writes;
  }

  #alarm(message: string, { tariff, cost, usage }: EntryLine, { charged, excess }: Step): void {
    const { model, provider, upstream } = tariff;
    this.#desk.alarm(message, {
      decision: idText('dec_', this.id),
      key: this.account.keyId,
      model,
      provider,
      upstream,
      charged_credits: toCredits(charged),
      excess_credits: toCredits(excess),
      // What cannot be true cannot be put into Credits either.
      cost_microcredits: String(cost),
      usage: JSON.stringify(usage),
    });
  }
}

export const NO_TOKENS: TokenCounts = [0, 0, 0, 0, 0];

function tokensOf(usage: Usage): TokenCounts {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  return [inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens];
}
