import { type Span, spanOf } from './calendar.ts';
import {
  type Ask,
  type BudgetSpec,
  CHARGES,
  type Earmarked,
  type Entry,
  heldBy,
  isAddress,
  keyOf,
  movesBalance,
  needOf,
  type Pot,
  type Reservation,
  subjectOf,
  sum,
  type Terms,
  type Who,
} from './entries.ts';

/** The caller and the payer whose pots a request draws on. */
type Drawing = Pick<Ask, 'who' | 'payer'>;

/** The books as sums over a list of entries. Each question adds up the entries again. */
export class Books {
  terms: Terms;
  /** The entries in the order of the journal. */
  entries: Entry[] = [];
  readonly reservations = new Map<number, Reservation>();
  readonly earmarks = new Map<number, Earmarked>();
  /** The latest time that was read: windows never go back. */
  time = 0;
  reloadedAt = 0;
  /**
   * When the last reload began to prepare the budgets that are new in it. The ledger counts their windows of that time, and keeps them if
   * they end before the budgets apply.
   */
  readonly preparedAt = new Map<BudgetSpec, number>();
  /** The times that were read before. */
  readonly #times: number[] = [];

  constructor(terms: Terms) {
    this.terms = terms;
  }

  at(timeMs: number): void {
    if (timeMs <= this.time) return;
    this.#times.push(this.time);
    this.time = timeMs;
  }

  /**
   * True if refunds still reach the windows that requests of this time draw on: the current windows, and the windows that were read just
   * before. A window that was over at the last reload gets nothing.
   */
  reaches(time: number): boolean {
    return this.terms.budgets.every(({ window, zone }) => {
      const { starts, ends } = spanOf(window, zone, time);
      if (ends <= this.reloadedAt || ends > this.time) return true;
      const present = spanOf(window, zone, this.time);
      const before = this.#times.findLast((looked) => looked < present.starts);
      return before !== undefined && before >= starts && before < ends;
    });
  }

  get charged(): number {
    return sum(this.entries.flatMap(({ kind, amount }) => (CHARGES.has(kind) || kind === 'correct' ? [amount] : [])));
  }
  get held(): number {
    return sum(this.living().map(heldBy));
  }
  /** The holds that are not closed, including holds that are being written. */
  living(): Reservation[] {
    return [...this.reservations.values()].filter(({ state }) => state !== 'closed');
  }

  /** The pots that a request draws on at a time; now by default. */
  potsOf(drawing: Drawing, time = this.time): Pot[] {
    return this.#with(this.windowsOf(drawing.who, time), this.holderOf(drawing));
  }

  /** The pots that a hold draws on, in the windows of its own time. */
  drawnBy({ who, time, holder }: Pick<Reservation, 'who' | 'time' | 'holder'>): Pot[] {
    return this.#with(this.windowsOf(who, time), holder);
  }

  #with(pots: Pot[], holder: string | null): Pot[] {
    return holder === null ? pots : [...pots, this.balanceOf(holder)];
  }

  /** The holder whose balance is drawn on from now on. A wallet always has one. */
  holderOf({ who, payer }: Drawing): string | null {
    const holder = payer ?? who.keyId;
    const has = isAddress(holder) || this.entries.some((entry) => entry.kind === 'grant' && entry.keyId === holder);
    return has ? holder : null;
  }

  /** The windows at this time, except windows that were over at the last reload and were not prepared for it. */
  windowsOf(who: Who, time: number): Pot[] {
    return this.terms.budgets.flatMap((spec) => {
      const subject = subjectOf(spec, who);
      const span = spanOf(spec.window, spec.zone, time);
      const preparedAt = this.preparedAt.get(spec) ?? Number.POSITIVE_INFINITY;
      const isKept = span.ends > this.reloadedAt || (preparedAt >= span.starts && preparedAt < span.ends);
      return subject === null || !isKept ? [] : [this.#potOf(spec, span, subject)];
    });
  }

  /** All current pots that have spending or holds. */
  pots(): Pot[] {
    const drawing = [...this.reservations.values(), ...this.earmarks.values()];
    const pots = this.terms.budgets.flatMap((spec) => {
      const span = spanOf(spec.window, spec.zone, this.time);
      const subjects = new Set(drawing.map(({ who }) => subjectOf(spec, who)));
      return [...subjects].flatMap((subject) => (subject === null ? [] : [this.#potOf(spec, span, subject)]));
    });
    const holders = new Set(
      this.entries.flatMap((entry) => (movesBalance(entry) && !entry.coming ? [entry.keyId] : [])),
    );
    return [...pots, ...[...holders].map((holder) => this.balanceOf(holder))];
  }

  balanceOf(holder: string): Pot {
    let [limit, spent] = [0, 0];
    for (const entry of this.entries) {
      const { kind, of, keyId, amount, coming } = entry;
      if (movesBalance(entry)) limit += keyId === holder && !coming ? amount : 0;
      else if (of?.holder === holder && (CHARGES.has(kind) || kind === 'correct')) spent += amount;
    }
    const mine = (one: { readonly holder: string | null }) => one.holder === holder;
    const held =
      sum(this.#holding().filter(mine).map(heldOfBalance)) +
      sum([...this.earmarks.values()].filter(mine).map((one) => needOf(BALANCE, one.amount, one.expected)));
    const span = { starts: 0, ends: Number.POSITIVE_INFINITY };
    const title = { key: `key ${holder}`, kind: 'balance', name: holder, subject: '' } as const;
    return { ...title, ...span, limit, action: 'cap', spent, held };
  }

  #potOf(spec: BudgetSpec, { starts, ends }: Span, subject: string): Pot {
    const counts = (made: Pick<Reservation, 'time' | 'who'> | null): boolean =>
      made !== null && made.time >= starts && made.time < ends && subjectOf(spec, made.who) === subject;
    let spent = 0;
    for (const { kind, of, amount } of this.entries) {
      if ((CHARGES.has(kind) || kind === 'correct') && counts(of)) spent += amount;
    }
    const held =
      sum(this.#holding().filter(counts).map(heldBy)) +
      sum([...this.earmarks.values()].filter(counts).map(({ amount }) => amount));
    const { name, limit, action } = spec;
    const title = { key: keyOf(spec, starts, subject), kind: 'budget', name, subject } as const;
    return { ...title, starts, ends, limit, action, spent, held };
  }

  #holding(): Reservation[] {
    return [...this.reservations.values()].filter(({ state, raising }) => state !== 'closed' || raising);
  }
}

const BALANCE = { kind: 'balance' } as const;

/** While the capture is being written, its payment has not arrived yet. */
const heldOfBalance = (made: Reservation): number =>
  made.state === 'writing' ? needOf(BALANCE, heldBy(made), made.expected) : heldBy(made);
