import type { Microcredits } from '../core/credits.ts';
import { isPlausible, type Usage } from '../core/usage.ts';
import type { Store, Write } from '../store/store.ts';
import { isCost, leftOf, post, type Reservation, raise, type Step, settle } from './rules/reservation.ts';
import { chargeReservation, closeReservation, type Entry, insertEntry, raiseReservation } from './tables.ts';

/** One attempt at an upstream and what it cost. */
export interface EntryLine {
  readonly model: string;
  readonly provider: string;
  /** The provider's own name of the model. */
  readonly upstream: string;
  readonly usage: Usage;
  /** True when tokens were counted here, not reported by the upstream. */
  readonly estimated: boolean;
  readonly cost: Microcredits;
  /** The price in force, as text, so that the cost can be computed again from the entry alone. */
  readonly price: string;
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
   * Reserves `by` more; durable before it resolves. False when the limit forbids it or the hold was settled.
   * Rejects with StoreError when it could not be written, and then reserves nothing more. One at a time.
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

export type Alarm = (message: string, details: Readonly<Record<string, unknown>>) => void;

export interface HoldContext {
  readonly store: Store;
  readonly now: () => number;
  readonly onAlarm: Alarm;
  readonly onClose: () => void;
}

export interface HoldOwner {
  readonly id: number;
  readonly keyId: string;
}

/** The hold of a reservation that is durable already. */
export class ReservationHold implements Hold {
  readonly id: number;
  readonly #owner: HoldOwner;
  readonly #context: HoldContext;
  #reservation: Reservation;
  #overrun: Microcredits = 0;
  #raising = false;
  #settlement: Settlement | null = null;

  constructor(owner: HoldOwner, reservation: Reservation, context: HoldContext) {
    this.id = owner.id;
    this.#owner = owner;
    this.#reservation = reservation;
    this.#context = context;
  }

  get reserved(): Microcredits {
    return this.#reservation.amount;
  }

  get left(): Microcredits {
    return leftOf(this.#reservation);
  }

  async raise(by: Microcredits): Promise<boolean> {
    if (this.#raising) throw new Error('a hold is raised by one attempt at a time');
    const wanted = raise(this.#reservation, by);
    if (!wanted) return false;
    if (by === 0) return true;
    this.#raising = true;
    try {
      await this.#context.store.commit([raiseReservation(this.id, wanted.amount)]);
    } finally {
      this.#raising = false;
    }
    // Costs may have been posted meanwhile, or the caller may have gone: the rule is asked again.
    const raised = raise(this.#reservation, by);
    if (raised) this.#reservation = raised;
    return raised !== null;
  }

  post(line: EntryLine): Microcredits {
    const step = post(this.#reservation, line.cost);
    const writes = this.#take(step, line);
    // So that a start after a crash knows it without reading the entries.
    if (step.charged > 0) writes.push(chargeReservation(this.id, step.next.charged));
    this.#context.store.append(writes);
    return step.charged;
  }

  settle(line: EntryLine | null, also: (settlement: Settlement) => readonly Write[]): Settlement {
    if (this.#settlement) return this.#settlement;
    const step = settle(this.#reservation, line ? line.cost : null);
    const writes = line ? this.#take(step, line) : [];
    this.#reservation = step.next;
    const { state, charged } = step.next;
    this.#settlement = { charged, overrun: this.#overrun };
    writes.push(closeReservation(this.id, state, charged, this.#context.now()), ...also(this.#settlement));
    this.#context.store.append(writes);
    this.#context.onClose();
    return this.#settlement;
  }

  /** Takes a step over and returns its entries; alarms when the upstream went beyond what it may. */
  #take(step: Step, line: EntryLine): Write[] {
    this.#reservation = step.next;
    this.#overrun += step.excess;
    const time = this.#context.now();
    const plausible = isPlausible(line.usage);
    const entry = this.#entry(line, plausible, step.charged);
    const writes = [insertEntry(entry, time)];
    if (step.excess > 0) {
      writes.push(insertEntry({ ...entry, kind: 'overrun', microcredits: 0, excess: step.excess, tokens: NONE }, time));
      this.#alarm('an upstream billed more than was reserved', line, step);
    }
    if (!isCost(line.cost) || !plausible) this.#alarm('an upstream reported an impossible usage', line, step);
    return writes;
  }

  #entry(line: EntryLine, plausible: boolean, microcredits: Microcredits): Entry {
    const { model, provider, upstream, usage, price, estimated } = line;
    return {
      reservationId: this.id,
      kind: 'post',
      microcredits,
      excess: 0,
      model,
      provider,
      upstream,
      // What cannot be true must not make the entry unwritable.
      tokens: plausible ? tokensOf(usage) : NONE,
      price,
      estimated,
      keyId: this.#owner.keyId,
    };
  }

  #alarm(message: string, line: EntryLine, step: Step): void {
    const { model, provider, upstream, cost, usage } = line;
    const figures = { charged: step.charged, excess: step.excess, cost: String(cost), usage };
    try {
      this.#context.onAlarm(message, { reservation: this.id, ...this.#owner, model, provider, upstream, ...figures });
    } catch {
      // A settlement runs where nothing may throw; an alarm that fails must not cost the entry.
    }
  }
}

const NONE = [0, 0, 0, 0, 0] as const;

function tokensOf(usage: Usage): Entry['tokens'] {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  return [inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens];
}
