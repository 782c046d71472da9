import { type Bill, BillWriter, readBill } from '../../../../src/core/accounting/bill.ts';
import { type Deposit, type Dimensions, type EntryLine, labelsOf } from '../../../../src/core/accounting/entry.ts';
import type { Fund } from '../../../../src/core/accounting/fund.ts';
import type { Step } from '../../../../src/core/accounting/held-sum.ts';
import { readPrice } from '../../../../src/core/accounting/stored-price.ts';
import { idAt } from '../../../../src/core/id.ts';
import { plainUsage } from '../../../../src/core/money/usage.ts';
import type { ExpireOp, PostOp, SettleOp } from '../../../../src/store/books.ts';
import type {
  AuditRow,
  BalanceKind,
  EntryKind,
  FundRow,
  JournalReader,
  MoneyEntry,
  MoneyFilter,
  ReservationEntry,
} from '../../../../src/store/journal-reader.ts';
import type { PaymentTable } from '../../../../src/store/payments.ts';
import type { MemoryReservation } from './booked.ts';
import { MemoryFund } from './funds.ts';

/** An entry of a journal in memory, with everything that it refers to. */
export interface MemoryEntry {
  /** Number in the order in which entries become visible. */
  readonly seq: number;
  /** Number in the order in which the commits began, which is also the order of cursors. */
  readonly place: number;
  readonly kind: EntryKind;
  readonly reservation: number | null;
  readonly dimensions: Dimensions;
  readonly amount: number;
  readonly time: number;
  readonly funds: string | null;
  readonly entry: EntryLine | null;
  readonly note: string | null;
  /** The budgets' funds in which a charge was counted when it was made. */
  readonly drawn: readonly MemoryFund[];
}

/** When and why an adjustment was made. */
export interface Occasion {
  readonly at: number;
  readonly note: string;
}

type NewEntry = Pick<MemoryEntry, 'kind' | 'reservation' | 'dimensions' | 'amount' | 'time'> & {
  readonly funds?: readonly Fund[];
  readonly draws?: readonly Fund[];
  readonly entry?: EntryLine | null;
  readonly note?: string | null;
};

/** After this many further entries, an overtaken commit is given up and its number stays unused. */
const OVERTAKEN_MAX = 20;

/** Gives things numbers by their content, from 1. */
class Register {
  readonly #numbers = new Map<string, number>();

  of(value: unknown): number {
    const text = JSON.stringify(value);
    const number = this.#numbers.get(text) ?? this.#numbers.size + 1;
    this.#numbers.set(text, number);
    return number;
  }
}

/** The entries of books in memory, in their order. */
export class MemoryJournal {
  readonly accounts = new Register();
  readonly tariffs = new Register();
  readonly funds: FundRow[] = [];
  readonly #named = new Map<Fund, FundRow>();
  /** Whether the next entry belongs to a commit that other commits overtake, so that its charge appears after later ones. */
  isOvertaken: () => boolean = () => false;
  #entries: MemoryEntry[] = [];
  #seq = 0;
  #place = 0;
  /** A number that is taken but whose charge has not appeared yet. */
  #pending: number | null = null;

  /** The position up to which no entry will appear any more. */
  get horizon(): number {
    return this.#pending === null ? this.#place : this.#pending - 1;
  }

  get entries(): readonly MemoryEntry[] {
    return this.#entries;
  }

  /** Numbers an entry. The caller drops the entry if it turns out not to be durable. */
  add({ funds = [], draws = funds, entry = null, note = null, ...rest }: NewEntry): MemoryEntry {
    const ids = funds.map((fund) => this.#rowOf(fund).id);
    const drawn = draws.filter((fund) => fund instanceof MemoryFund);
    const [seq, place] = [++this.#seq, this.#placeOf(rest.kind)];
    const made = { seq, place, ...rest, funds: ids.length === 0 ? null : ids.join(' '), entry, note, drawn };
    this.#entries.push(made);
    return made;
  }

  /** Ends the overtaken commit. The number of the overtaken commit stays unused. */
  giveUp(): void {
    this.#pending = null;
  }

  #placeOf(kind: EntryKind): number {
    const pending = this.#pending;
    if (pending !== null && (kind === 'settle' || this.#place - pending > OVERTAKEN_MAX)) {
      this.#pending = null;
      if (kind === 'settle') return pending;
    }
    if (this.#pending === null && this.isOvertaken()) this.#pending = ++this.#place;
    return ++this.#place;
  }

  reserve(made: MemoryReservation, amount: number, time: number, note: string | null): MemoryEntry {
    const { id: reservation, dimensions, funds } = made;
    return this.add({ kind: 'reserve', reservation, dimensions, amount, time, funds, note });
  }

  charge(made: MemoryReservation, op: PostOp | SettleOp | ExpireOp, step: Step, entry: EntryLine | null): void {
    const { dimensions, id: reservation } = made;
    const of = { dimensions, reservation, time: op.at };
    this.add({ kind: op.kind, ...of, amount: step.charged, entry, draws: made.funds });
    // This entry used no tokens of its own.
    const usage = plainUsage(0, 0);
    if (step.excess > 0 && entry) this.add({ kind: 'overrun', ...of, amount: step.excess, entry: { ...entry, usage } });
  }

  /** Adds an entry that changes only a balance. */
  adjust(kind: BalanceKind, holder: string, amount: number, { at: time, note }: Occasion): MemoryEntry {
    return this.add({ kind, reservation: null, dimensions: { key: holder, selector: '' }, amount, time, note });
  }

  deposit(wallet: string, { paid, fee, note }: Deposit, at: number): MemoryEntry[] {
    const entries = paid === 0 ? [] : [this.adjust('deposit', wallet, paid, { at, note })];
    if (fee !== 0) entries.push(this.adjust('fee', wallet, -fee, { at, note }));
    return entries;
  }

  drop(...entries: readonly MemoryEntry[]): void {
    // Also drops what was done to a reservation before its write was known to have failed.
    const lost = new Set(entries.flatMap(({ kind, reservation }) => (kind === 'reserve' ? [reservation] : [])));
    this.#entries = this.#entries.filter((one) => !entries.includes(one) && !lost.has(one.reservation));
  }

  /** A budget whose limit has changed gets a new row. */
  #rowOf(fund: Fund): FundRow {
    const { kind, name, subject, definition, starts, ends } = fund.title;
    const most = kind === 'balance' ? 0 : fund.limit;
    let row = this.#named.get(fund);
    if (row?.most === most) return row;
    row = {
      ...{ id: this.funds.length + 1, kind, name, subject, definition, starts, most, opening: fund.spent },
      ...{ ends: Number.isFinite(ends) ? ends : null, afterSeq: this.#seq, counted: null },
    };
    this.#named.set(fund, row);
    this.funds.push(row);
    return row;
  }
}

const MONEY: ReadonlySet<string> = new Set([
  'post',
  'settle',
  'expire',
  'overrun',
  'correct',
  'grant',
  'deposit',
  'fee',
]);

async function* onePage<Row>(rows: readonly Row[]) {
  if (rows.length > 0) yield rows;
}

/** Reads a journal in memory. The journal never sums up its entries, so its checkpoint is before the first entry. */
export const memoryJournal = (
  journal: MemoryJournal,
  payments: PaymentTable,
  usdPerCredit: () => string | null,
): JournalReader => ({
  horizon: async () => journal.horizon,
  checkpoint: async () => ({ through: 0, open: [], charged: 0 }),
  damages: async () => [],
  funds: () => onePage(journal.funds),
  rows: () => onePage(journal.entries.map((entry) => rowOf(journal, entry))),
  priced: () =>
    onePage(
      journal.entries.flatMap(({ seq, kind, reservation, amount, entry }) =>
        entry && reservation !== null
          ? [{ seq, kind, reservation, amount, bill: billIn(kind, entry), price: entry.tariff.price }]
          : [],
      ),
    ),
  spend: () => onePage([]),
  async payments() {
    const all = await payments.list({ state: null, payer: null, limit: Number.MAX_SAFE_INTEGER, before: null });
    return onePage(all.toReversed());
  },
  balances: async () => [],
  wrongCells: async () => [],
  reservation: async (id) =>
    journal.entries.filter(({ kind, reservation }) => reservation === id && kind !== 'correct').map(reservationEntry),
  money: (filter) => onePage(moneyOf(journal, filter)),
  usdPerCredit: async () => usdPerCredit(),
});

/** An overrun belongs to the bill of its charge. */
const billIn = (kind: string, entry: EntryLine | null): Bill | null =>
  entry && kind !== 'overrun'
    ? readBill(new BillWriter(readPrice(entry.tariff.price)).text(entry.usage, entry.pricedAt))
    : null;

function rowOf(
  journal: MemoryJournal,
  { entry, dimensions, note, drawn: _, place: __, ...row }: MemoryEntry,
): AuditRow {
  const { key: keyId = '', holder: payer = null } = dimensions;
  const tariff = entry && journal.tariffs.of(entry.tariff);
  return {
    ...row,
    ...{ account: journal.accounts.of(dimensions), keyId, payer },
    ...{ tariff, knownTariff: tariff, input: billIn(row.kind, entry)?.input ?? null },
    output: billIn(row.kind, entry)?.output ?? null,
    note: row.kind === 'deposit' || row.kind === 'fee' ? note : null,
  };
}

function reservationEntry({ kind, amount, time, entry }: MemoryEntry): ReservationEntry {
  const { model = null, provider = null, upstream = null, price = null } = entry?.tariff ?? {};
  return {
    kind,
    amount,
    time,
    model,
    provider,
    upstream,
    price,
    bill: billIn(kind, entry),
    estimated: entry?.estimated ?? false,
  };
}

function moneyOf({ entries }: MemoryJournal, { from, to, keyId, model }: MoneyFilter): MoneyEntry[] {
  const isWanted = ({ kind, reservation, time, amount, entry, dimensions }: MemoryEntry) =>
    MONEY.has(kind) &&
    (entry !== null || amount !== 0) &&
    (reservation === null ? time >= from && time < to : reservation >= idAt(from) && reservation < idAt(to)) &&
    (keyId === null || dimensions.key === keyId) &&
    (model === null || entry?.tariff.model === model);
  return entries
    .filter(isWanted)
    .map(({ seq, place: _, funds: __, drawn: ___, dimensions, entry, note, kind, ...row }) => {
      const next = entries.find((one) => one.seq === seq + 1 && one.reservation === row.reservation);
      const { model = '', provider = '', upstream = '', price = null } = entry?.tariff ?? {};
      return {
        ...{ kind: kind as MoneyEntry['kind'], ...row, keyId: dimensions.key ?? '', labels: labelsOf(dimensions) },
        overrun: next?.kind === 'overrun' && (kind === 'post' || kind === 'settle') ? next.amount : 0,
        ...{
          selector: dimensions.selector ?? '',
          session: dimensions.session ?? '',
          agent: dimensions.agent ?? '',
          team: dimensions.team ?? '',
          user: dimensions.user ?? '',
          model,
          provider,
          upstream,
          price,
        },
        ...{ bill: billIn(kind, entry), estimated: entry?.estimated ?? false, note: note ?? '' },
      };
    });
}
