import { type Span, spanOf } from './calendar.ts';
import {
  type Adjustment,
  type Answer,
  type Ask,
  type BudgetSpec,
  CHARGES,
  chargedTo,
  chargeOf,
  type Entry,
  type EntryKind,
  entryOf,
  fit,
  heldBy,
  isBlocked,
  keyOf,
  leftOf,
  type Pot,
  type Reservation,
  reservedBy,
  subjectOf,
  sum,
  sumOf,
  type Terms,
  timeOf,
  type Who,
} from './entries.ts';

/**
 * What the ledger promises, written down a second time: a list of entries that is summed anew whenever somebody
 * asks. It shares no code with the ledger, its clock or its calendar.
 */
export class Reference {
  terms: Terms;
  /** In the order of the journal. */
  entries: Entry[] = [];
  readonly reservations = new Map<number, Reservation>();
  /** What was answered to those who waited, until it is looked at. */
  readonly answers = new Map<number, Answer>();
  /** Who waits, by pot. */
  readonly lines = new Map<string, Ask[]>();
  /** In flight: reservations and raises, in the order in which they were asked to be written. */
  writing: Entry[] = [];
  /** Entries of those who waited: they are written once what let them in is. */
  #late: Entry[] = [];
  /** The latest moment that was looked at: windows never go back. */
  #time = 0;
  #reloadedAt = 0;

  constructor(terms: Terms) {
    this.terms = terms;
  }

  at(timeMs: number): void {
    this.#time = Math.max(this.#time, timeMs);
  }

  get time(): number {
    return this.#time;
  }

  // What is asked.

  get charged(): number {
    return sum(this.entries.flatMap(({ kind, amount }) => (CHARGES.has(kind) || kind === 'correct' ? [amount] : [])));
  }
  get held(): number {
    return sum(this.living().map(heldBy));
  }
  /** Reservations that are not closed, those being written included. */
  living(): Reservation[] {
    return [...this.reservations.values()].filter(({ state }) => state !== 'closed');
  }

  /** The pots that a request of a time draws on, now where none is given. */
  potsOf(who: Who, time = this.#time): Pot[] {
    const pots = this.#windowsOf(who, time);
    return this.#hasBalance(who.keyId) ? [...pots, this.#balanceOf(who.keyId)] : pots;
  }

  /** The windows of that time, but for those that were over at the last reload. */
  #windowsOf(who: Who, time: number): Pot[] {
    return this.terms.budgets.flatMap((spec) => {
      const subject = subjectOf(spec, who);
      const span = spanOf(spec.window, spec.zone, time);
      return subject === null || span.ends <= this.#reloadedAt ? [] : [this.#potOf(spec, span, subject)];
    });
  }

  /** All pots of this moment with anything in them. */
  pots(): Pot[] {
    const pots = this.terms.budgets.flatMap((spec) => {
      const span = spanOf(spec.window, spec.zone, this.#time);
      const subjects = new Set([...this.reservations.values()].map(({ who }) => subjectOf(spec, who)));
      return [...subjects].flatMap((subject) => (subject === null ? [] : [this.#potOf(spec, span, subject)]));
    });
    const keys = new Set(this.entries.flatMap(({ kind, keyId }) => (kind === 'grant' ? [keyId] : [])));
    return [...pots, ...[...keys].map((key) => this.#balanceOf(key))];
  }

  // What happens.

  /** Null: it waits. */
  reserve(ask: Ask): Answer | null {
    this.at(timeOf(ask.id));
    const pots = this.potsOf(ask.who, timeOf(ask.id));
    let answer = fit(pots, ask.amounts);
    const line = pots.find(({ key }) => this.lines.has(key));
    if (!isBlocked(answer) && line) answer = { why: 'contended', pot: line };
    if (isBlocked(answer) && answer.why === 'contended' && ask.waits) {
      this.#join(answer.pot.key, ask);
      return null;
    }
    if (!isBlocked(answer)) this.#make(ask, answer.got, this.entries);
    return answer;
  }

  /** Null: allowed, and being written. */
  raise(id: number, by: number): boolean | null {
    const made = this.#get(id);
    const over = made.limit !== null && reservedBy(made) + by > made.limit;
    if (made.state === 'closed' || over) return false;
    if (by === 0) return true;
    if (this.#drawnBy(made).some((pot) => by > pot.limit - pot.spent - pot.held)) return false;
    made.raising = this.#write('raise', made, by);
    this.writing.push(made.raising);
    return null;
  }

  post(id: number, cost: number): number {
    const made = this.#get(id);
    const { charged, overrun } = chargeOf(made, cost);
    this.#write('post', made, charged);
    if (overrun > 0) this.#write('overrun', made, overrun);
    return charged;
  }

  settle(id: number, cost: number | null): { charged: number; overrun: number } {
    const made = this.#get(id);
    if (made.settlement) return made.settlement;
    const { charged, overrun } = cost === null ? { charged: 0, overrun: 0 } : chargeOf(made, cost);
    this.#write('settle', made, charged);
    if (overrun > 0) this.#write('overrun', made, overrun);
    return this.#close(made);
  }

  /** Closes by rule what should have ended. */
  expire(now: number): void {
    for (const made of this.living()) {
      if (made.expiresAt > now) continue;
      this.#write('expire', made, leftOf(made));
      this.#close(made);
    }
  }

  /** All that is in flight is on the disk. */
  written(): void {
    for (let entry = this.writing.shift(); entry; entry = this.writing.shift()) {
      const made = entry.of!;
      entry.promised = true;
      if (made.raising === entry) {
        made.raising = null;
        // Settled meanwhile: it gives nothing more.
        if (made.state === 'closed') this.#freed(made);
      } else if (made.state === 'writing') made.state = 'open';
    }
  }

  /** The first that is in flight could not be written: as if it had never been asked for. */
  failed(): Entry {
    const entry = this.writing.shift()!;
    const made = entry.of!;
    this.entries = this.entries.filter((other) => other !== entry);
    made.entries.splice(made.entries.indexOf(entry), 1);
    if (made.raising === entry) made.raising = null;
    else this.reservations.delete(made.id);
    this.#freed(made);
    return entry;
  }

  /** The wait of a request is over: it tries a last time. */
  giveUp(id: number): void {
    for (const [key, line] of this.lines) {
      const ask = line.find((one) => one.id === id);
      if (!ask) continue;
      this.#leave(key, ask);
      this.#answer(ask, this.#try(ask));
      this.#serve(key);
      return;
    }
  }

  reload(terms: Terms): void {
    this.terms = terms;
    this.#reloadedAt = this.#time;
    for (const key of [...this.lines.keys()]) this.#serve(key);
  }

  adopt(rows: readonly Adjustment[]): void {
    for (const { id, kind, keyId, reservation, amount } of rows) {
      if (this.entries.some(({ adjustment }) => adjustment === id)) continue;
      // Whose account it is has to be read first, and meanwhile those are written whom the one before let in.
      if (kind === 'correct') this.settleDown();
      const of = reservation === null ? null : this.#get(reservation);
      const balance = of?.balance ?? false;
      const entry: Entry = { kind, of, keyId, amount, balance, at: this.#time, adjustment: id, promised: false };
      this.entries.push(entry);
      of?.entries.push(entry);
      for (const key of [...this.lines.keys()]) this.#serve(key);
    }
  }

  /** Whether somebody was let in whose entry is not in the list yet. */
  get isUnsettled(): boolean {
    return this.#late.length > 0;
  }

  /** Those who waited are let in; their entries follow what let them in. */
  settleDown(): void {
    this.entries.push(...this.#late.splice(0));
  }

  /** A new start that finds the first so many entries: what is open is closed by rule. Returns what that was. */
  restart(
    kept: number,
    terms: Terms,
    adjustments: readonly Adjustment[],
  ): { ids: number[]; charged: number; held: number } {
    this.terms = terms;
    this.lines.clear();
    this.writing = [];
    this.#late = [];
    this.#keepFirst(kept);
    // No window goes back behind the last that was drawn on.
    this.#time = Math.max(0, ...[...this.reservations.values()].map(({ time }) => time));
    this.#reloadedAt = this.#time;
    const left = this.living().map((made) => ({ made, held: leftOf(made) }));
    let charged = 0;
    for (const { made, held } of left) {
      const amount = terms.onCrash === 'charge' ? held : 0;
      this.#write('expire', made, amount);
      this.#close(made);
      charged += amount;
    }
    this.adopt(adjustments);
    return { ids: left.map(({ made }) => made.id), charged, held: sum(left.map(({ held }) => held)) };
  }

  #keepFirst(count: number): void {
    this.entries = this.entries.slice(0, count);
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

  #hasBalance(keyId: string): boolean {
    return this.entries.some((entry) => entry.kind === 'grant' && entry.keyId === keyId);
  }

  #balanceOf(keyId: string): Pot {
    let [limit, spent] = [0, 0];
    for (const { kind, of, keyId: owner, amount, balance } of this.entries) {
      if (owner !== keyId) continue;
      if (kind === 'grant') limit += amount;
      else if (kind === 'correct' ? balance : of?.balance && CHARGES.has(kind)) spent += amount;
    }
    const held = sum(this.#holding().map((made) => (made.who.keyId === keyId && made.balance ? heldBy(made) : 0)));
    const span = { starts: 0, ends: Number.POSITIVE_INFINITY };
    return {
      key: `key ${keyId}`,
      kind: 'balance',
      name: keyId,
      subject: '',
      ...span,
      limit,
      downgrade: false,
      spent,
      held,
    };
  }

  #potOf(spec: BudgetSpec, { starts, ends }: Span, subject: string): Pot {
    const counts = (made: Reservation | null): boolean =>
      made !== null && made.time >= starts && made.time < ends && subjectOf(spec, made.who) === subject;
    let spent = 0;
    for (const { kind, of, amount } of this.entries) {
      if ((CHARGES.has(kind) || kind === 'correct') && counts(of)) spent += amount;
    }
    const held = sum(this.#holding().map((made) => (counts(made) ? heldBy(made) : 0)));
    const { name, limit, downgrade } = spec;
    return {
      key: keyOf(spec, starts, subject),
      kind: 'budget',
      name,
      subject,
      starts,
      ends,
      limit,
      downgrade,
      spent,
      held,
    };
  }

  #holding(): Reservation[] {
    return [...this.reservations.values()].filter(({ state, raising }) => state !== 'closed' || raising);
  }

  /** What a reservation draws on: windows of its own time. */
  #drawnBy({ who, time, balance }: Reservation): Pot[] {
    const pots = this.#windowsOf(who, time);
    return balance ? [...pots, this.#balanceOf(who.keyId)] : pots;
  }

  #make(ask: Ask, amount: number, list: Entry[]): void {
    const { id, who } = ask;
    const made: Reservation = {
      ...ask,
      time: timeOf(id),
      balance: this.#hasBalance(who.keyId),
      entries: [],
      state: 'writing',
      raising: null,
      settlement: null,
    };
    this.reservations.set(id, made);
    const entry = entryOf('reserve', made, amount);
    list.push(entry);
    made.entries.push(entry);
    this.writing.push(entry);
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

  #freed(made: Reservation): void {
    for (const { key } of this.#drawnBy(made)) this.#serve(key);
  }

  // Who waits: first in, first out for each pot.

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

  #try(ask: Ask): Answer {
    return fit(this.potsOf(ask.who, timeOf(ask.id)), ask.amounts);
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
    if (!isBlocked(answer)) this.#make(ask, answer.got, this.#late);
  }
}
