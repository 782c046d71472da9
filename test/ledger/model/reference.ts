import { Books } from './books.ts';
import {
  type Adjustment,
  type Answer,
  type Ask,
  type BudgetSpec,
  chargedTo,
  chargeOf,
  type Earmarked,
  type Entry,
  type EntryKind,
  entryOf,
  fit,
  isAddress,
  isBlocked,
  leastOf,
  leftOf,
  type Reservation,
  reservedBy,
  sum,
  sumOf,
  type Terms,
  timeOf,
  type Writing,
} from './entries.ts';

/** Money that a wallet pays in. */
export interface Payment {
  readonly wallet: string;
  readonly note: string;
  readonly paid: number;
  readonly fee: number;
}

/** The fields that a budget keeps if it keeps its count at a reload, as one text. */
const definitionOf = ({ name, match, each, window, zone }: BudgetSpec): string =>
  [name, match, each, window, zone].join();

const paidOf = (kind: 'deposit' | 'fee', { wallet, note }: Payment, amount: number): Entry => ({
  ...{ kind, of: null, keyId: wallet, amount, note },
  ...{ at: 0, adjustment: 0, promised: false, coming: false },
});

/**
 * A second implementation of what the ledger promises: a list of entries that each question adds up again. The reference shares no code
 * with the ledger, its clock or its calendar.
 */
export class Reference extends Books {
  /** The answers to requests that waited, until they are checked. */
  readonly answers = new Map<number, Answer>();
  /** The queues of waiting requests, by pot. */
  readonly lines = new Map<string, Ask[]>();
  /** The writes in progress, in the order of their requests. */
  writing: Writing[] = [];

  // The methods below handle requests and their ends.

  /** @returns null if the request waits */
  reserve(ask: Ask): Answer | null {
    this.at(timeOf(ask.id));
    const pots = this.potsOf(ask, timeOf(ask.id));
    let answer = fit(pots, ask);
    const line = pots.find(({ key }) => this.lines.has(key));
    if (!isBlocked(answer) && line) answer = { why: 'contended', pot: line, needed: leastOf(pots, ask) };
    if (isBlocked(answer) && answer.why === 'contended' && ask.waits) {
      this.#join(answer.pot.key, ask);
      return null;
    }
    if (!isBlocked(answer)) this.#take(ask, answer.got);
    return answer;
  }

  /** @returns null if the raise is allowed and is being written */
  raise(id: number, by: number, least: number): boolean | null {
    const made = this.#get(id);
    const over = made.limit !== null && reservedBy(made) + by > made.limit;
    if (made.state === 'closed' || over) return false;
    if (by === 0) return true;
    const pots = this.drawnBy(made);
    const got = Math.min(by, ...pots.map((pot) => pot.limit - pot.spent - pot.held));
    if (got < leastOf(pots, { amounts: [by], least })) return false;
    if (got === 0) return true;
    made.raising = this.#write('raise', made, got);
    this.writing.push({ entry: made.raising, before: [] });
    return null;
  }

  post(id: number, cost: number): number {
    const made = this.#get(id);
    const { charged, overrun } = chargeOf(made, cost);
    this.#write('post', made, charged);
    if (overrun > 0) this.#write('overrun', made, overrun);
    return charged;
  }

  /** @param waived the payment whose fee is refunded with it */
  settle(id: number, cost: number | null, waived: Payment | null = null): { charged: number; overrun: number } {
    const made = this.#get(id);
    if (made.settlement) return made.settlement;
    const { charged, overrun } = cost === null ? { charged: 0, overrun: 0 } : chargeOf(made, cost);
    this.#write('settle', made, charged);
    if (overrun > 0) this.#write('overrun', made, overrun);
    // The ledger makes both releases before it serves waiting requests.
    if (waived) this.entries.push(paidOf('fee', waived, waived.fee));
    const closed = this.#close(made);
    if (waived) this.#serve(this.balanceOf(waived.wallet).key);
    return closed;
  }

  // Wallets.

  /** Books a deposit and its fee, or only a fee that is refunded. */
  deposit(payment: Payment): Entry {
    const entries = this.#paid(payment);
    const entry = entries.pop()!;
    this.writing.push({ entry, before: entries });
    return entry;
  }

  /** @returns null if the amount is held now; the deposit if the balance was lowered, so that the payment only adds to the balance */
  capture(id: number, payment: Payment): Entry | null {
    const earmark = this.earmarks.get(id)!;
    const { holder, amount, expected } = earmark;
    const { limit, spent, held } = this.balanceOf(holder);
    const rest = Math.min(amount, expected ?? 0);
    if (limit + payment.paid - payment.fee - spent - held < rest) {
      // The deposit is booked before waiting requests are served with what the earmark releases.
      const entry = this.deposit(payment);
      this.release(id);
      return entry;
    }
    this.earmarks.delete(id);
    // If the payment is smaller than expected, the balance pays the difference from now on.
    const comes = Math.min(expected ?? 0, payment.paid - payment.fee);
    this.#make({ ...earmark, expected: comes }, amount, this.#paid(payment));
    return null;
  }

  release(id: number): void {
    const earmark = this.earmarks.get(id)!;
    this.earmarks.delete(id);
    this.#freed(earmark);
  }

  /** The fees that were kept and not refunded, by payment. */
  get kept(): Payment[] {
    const byNote = new Map<string, Payment>();
    for (const { kind, keyId, note, amount, coming } of this.entries) {
      if (kind === 'fee' && coming) byNote.delete(note);
      else if (kind === 'fee')
        byNote.set(note, { wallet: keyId, note, paid: 0, fee: (byNote.get(note)?.fee ?? 0) - amount });
    }
    return [...byNote.values()].filter(({ fee }) => fee > 0);
  }

  #paid(payment: Payment): Entry[] {
    const [deposit, fee] = [paidOf('deposit', payment, payment.paid), paidOf('fee', payment, -payment.fee)];
    const entries = [deposit, fee].filter(({ amount }) => amount !== 0);
    for (const entry of entries) entry.coming = true;
    this.entries.push(...entries);
    return entries;
  }

  /** Closes holds that should have ended, by the rule of the policy. */
  expire(now: number): void {
    for (const made of this.living()) {
      if (made.expiresAt > now) continue;
      this.#write('expire', made, leftOf(made));
      this.#close(made);
    }
  }

  /** Everything in progress is now on disk. */
  written(): void {
    for (let writing = this.writing.shift(); writing; writing = this.writing.shift()) {
      const { entry, before } = writing;
      const made = entry.of;
      const come = [...before, entry].filter(({ coming }) => coming);
      for (const one of [...before, entry]) {
        one.promised = true;
        one.coming = false;
      }
      if (made?.raising === entry) {
        made.raising = null;
        // The hold was settled in the meantime, so the raise releases nothing more.
        if (made.state === 'closed') this.#freed(made);
      } else if (made?.state === 'writing') made.state = 'open';
      if (come[0]) this.#serve(this.balanceOf(come[0].keyId).key);
    }
  }

  /** The first write in progress failed: it counts as if it had never been requested. */
  failed(): Writing {
    const writing = this.writing.shift()!;
    const { entry, before } = writing;
    const made = entry.of;
    this.entries = this.entries.filter((other) => other !== entry && !before.includes(other));
    if (made) {
      made.entries.splice(made.entries.indexOf(entry), 1);
      if (made.raising === entry) made.raising = null;
      else this.reservations.delete(made.id);
      this.#freed(made);
    }
    return writing;
  }

  /** The wait of a request is over: the request tries one last time. */
  giveUp(id: number): void {
    for (const [key, line] of this.lines) {
      const ask = line.find((one) => one.id === id);
      if (!ask) continue;
      this.#leave(key, ask);
      this.#answer(ask, this.#try(ask, true));
      this.#serve(key);
      return;
    }
  }

  /** @param preparedAt when the ledger began to prepare these terms, ms */
  reload(terms: Terms, preparedAt: number): void {
    const known = new Set(this.terms.budgets.map(definitionOf));
    this.preparedAt.clear();
    for (const spec of terms.budgets) if (!known.has(definitionOf(spec))) this.preparedAt.set(spec, preparedAt);
    this.terms = terms;
    this.reloadedAt = this.time;
    for (const key of [...this.lines.keys()]) this.#serve(key);
  }

  adopt(rows: readonly Adjustment[]): void {
    for (const { id, kind, keyId, reservation, amount } of rows) {
      if (this.entries.some(({ adjustment }) => adjustment === id)) continue;
      const of = reservation === null ? null : this.#get(reservation);
      const entry: Entry = {
        kind,
        of,
        keyId,
        amount,
        note: '',
        at: this.time,
        adjustment: id,
        promised: false,
        coming: false,
      };
      this.entries.push(entry);
      of?.entries.push(entry);
      for (const key of [...this.lines.keys()]) this.#serve(key);
    }
  }

  /**
   * Starts again with the first entries, and closes what is open by the rule of the policy.
   * @returns what it closed
   */
  restart(
    kept: number,
    terms: Terms,
    adjustments: readonly Adjustment[],
  ): { ids: number[]; charged: number; held: number } {
    this.terms = terms;
    this.preparedAt.clear();
    this.lines.clear();
    this.earmarks.clear();
    this.writing = [];
    this.#keepFirst(kept);
    // Windows never go back before the latest window that was drawn on.
    this.time = Math.max(0, ...[...this.reservations.values()].map(({ time }) => time));
    this.reloadedAt = this.time;
    const left = this.living().map((made) => ({ made, held: leftOf(made) }));
    let charged = 0;
    for (const { made, held } of left) {
      // A hold that a wallet pays for is released.
      const isPaid = isAddress(made.holder ?? '') || isAddress(made.who.keyId);
      const amount = terms.onCrash === 'charge' && !isPaid ? held : 0;
      this.#write('expire', made, amount);
      this.#close(made);
      charged += amount;
    }
    this.adopt(adjustments);
    return { ids: left.map(({ made }) => made.id), charged, held: sum(left.map(({ held }) => held)) };
  }

  #keepFirst(count: number): void {
    this.entries = this.entries.slice(0, count);
    for (const entry of this.entries) entry.coming = false;
    const left = new Set(this.entries);
    for (const made of [...this.reservations.values()]) {
      made.entries.splice(0, made.entries.length, ...made.entries.filter((entry) => left.has(entry)));
      made.raising = null;
      if (made.entries.length === 0) this.reservations.delete(made.id);
      const closed = made.entries.some(({ kind }) => kind === 'settle' || kind === 'expire');
      made.state = closed ? 'closed' : 'open';
      if (!closed) made.settlement = null;
    }
  }

  #get(id: number): Reservation {
    const made = this.reservations.get(id);
    if (!made) throw new Error(`there is no reservation ${id}`);
    return made;
  }

  /** @param before entries that are written with it, before it */
  #make(ask: Ask, amount: number, before: readonly Entry[] = []): void {
    const time = timeOf(ask.id);
    const rest = { entries: [], state: 'writing', raising: null, settlement: null } as const;
    const made: Reservation = { ...ask, time, holder: this.holderOf(ask), ...rest, entries: [] };
    this.reservations.set(ask.id, made);
    const entry = entryOf('reserve', made, amount);
    made.entries.push(entry);
    this.entries.push(entry);
    this.writing.push({ entry, before });
  }

  /** Takes the requested amount, for a hold or only in memory. */
  #take(ask: Ask, amount: number): void {
    if (ask.expected === null) this.#make(ask, amount);
    else this.earmarks.set(ask.id, { ...ask, amount, time: timeOf(ask.id), holder: this.holderOf(ask)! });
  }

  #write(kind: EntryKind, made: Reservation, amount: number): Entry {
    const entry = entryOf(kind, made, amount);
    this.entries.push(entry);
    made.entries.push(entry);
    return entry;
  }

  #close(made: Reservation): { charged: number; overrun: number } {
    made.state = 'closed';
    made.settlement = { charged: chargedTo(made), overrun: sumOf(made, 'overrun') };
    this.#freed(made);
    return made.settlement;
  }

  #freed(made: Reservation | Earmarked): void {
    for (const { key } of this.drawnBy(made)) this.#serve(key);
  }

  // Adds a waiting request. Each pot has a queue, first in, first out.

  #join(key: string, ask: Ask): void {
    const line = this.lines.get(key);
    if (line) line.push(ask);
    else this.lines.set(key, [ask]);
  }

  #leave(key: string, ask: Ask): void {
    const line = this.lines.get(key)!.filter((other) => other !== ask);
    if (line.length === 0) this.lines.delete(key);
    else this.lines.set(key, line);
  }

  #try(ask: Ask, isLast = false): Answer {
    return fit(this.potsOf(ask, timeOf(ask.id)), ask, isLast);
  }

  #serve(key: string): void {
    for (let first = this.lines.get(key)?.[0]; first; first = this.lines.get(key)?.[0]) {
      const answer = this.#try(first);
      const blocked = isBlocked(answer) && answer.why === 'contended' ? answer : null;
      if (blocked?.pot.key === key) return;
      this.#leave(key, first);
      if (blocked) this.#join(blocked.pot.key, first);
      else this.#answer(first, answer);
    }
  }

  #answer(ask: Ask, answer: Answer): void {
    this.answers.set(ask.id, answer);
    if (!isBlocked(answer)) this.#take(ask, answer.got);
  }
}
