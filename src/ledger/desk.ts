import type { Microcredits } from '../core/credits.ts';
import type { OpenReservation } from '../store/sqlite/books/recover.ts';
import { Sums } from '../store/sqlite/books/sums.ts';
import {
  type Adjustment,
  insertAdjusting,
  insertCharge,
  insertClosing,
  insertFund,
  insertHolding,
  insertPaid,
  insertTariff,
  type JournalRow,
  type TokenCounts,
} from '../store/sqlite/books/tables.ts';
import type { Store, Write } from '../store/store.ts';
import { Numbers } from './accounts.ts';
import { type EntryLine, NO_TOKENS, type ReservationHold, type Tariff } from './hold.ts';
import type { LedgerOptions } from './ledger.ts';
import type { Fund } from './rules/fund.ts';

/** Tells an operator about money. */
export type Alarm = (message: string, details: Readonly<Record<string, string | number>>) => void;

export interface DeskOptions {
  readonly store: Store;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  readonly onAlarm: Alarm;
  /** A budget has reached a fraction of its limit. */
  readonly onAlert: (fund: Fund, fraction: number) => void;
  readonly makeRoom: LedgerOptions['makeRoom'];
  /** The last numbers that were given. */
  readonly last: { readonly seq: number; readonly tariff: number; readonly fund: number };
  readonly onFreed: (funds: readonly Fund[]) => void;
  readonly onClosed: (hold: ReservationHold) => void;
}

/** What is written with a reservation that a payment pays for. */
interface Captured {
  readonly deposit: readonly Write[];
  /** The funds that it draws on at first: those that have room. */
  readonly first: string | null;
  readonly note: string | null;
  readonly also: readonly Write[];
}

/**
 * Writes the journal: gives each row its number, in the order in which things happen in memory, and keeps the
 * sums. Rows are written in the order of their numbers, so whoever reads up to one has all before it.
 */
export class Desk {
  readonly sums = new Sums();
  readonly #options: DeskOptions;
  readonly #tariffs: Numbers;
  /** Tariffs are made once, so most are known by identity. */
  readonly #known = new WeakMap<Tariff, number>();
  /** By number, of all that were given a number here. */
  readonly #numbered = new Map<number, Tariff>();
  #seq: number;
  #fundId: number;

  constructor(options: DeskOptions) {
    this.#options = options;
    this.#seq = options.last.seq;
    this.#fundId = options.last.fund;
    this.#tariffs = new Numbers(options.last.tariff);
  }

  /** The number of the last row. */
  get seq(): number {
    return this.#seq;
  }

  get now(): number {
    return this.#options.now();
  }

  /** Returns the tariff of a number; null for one that was not used since the start. */
  tariffOf(number: number): Tariff | null {
    return this.#numbered.get(number) ?? null;
  }

  append(writes: readonly Write[]): void {
    this.#options.store.append(writes);
  }

  /** To be called before a reservation is written: whatever becomes of the disk, its settlement must find room. Throws StoreError. */
  makeRoom(reservations: number): void {
    this.#options.makeRoom?.(reservations);
  }

  alarm(message: string, details: Parameters<Alarm>[1]): void {
    this.#tell(() => this.#options.onAlarm(message, details));
  }

  freed(funds: readonly Fund[]): void {
    if (funds.length > 0) this.#options.onFreed(funds);
  }

  closed(hold: ReservationHold): void {
    this.#options.onClosed(hold);
  }

  /** Writes a new reservation; `note` is what its request named as `agent_wallet`. Rejects with StoreError when it could not be written. */
  reserve({ id, account, reserved, fundIds }: ReservationHold, note: string | null): Promise<void> {
    return this.#options.store.commit([
      insertHolding(++this.#seq, 'reserve', id, account.id, reserved, this.now, fundIds, note),
    ]);
  }

  /** Writes a new reservation behind the deposit that pays for it, which has its numbers already. */
  capture(
    { id, account, reserved, fundIds }: ReservationHold,
    { deposit, first, note, also }: Captured,
  ): Promise<void> {
    const rows = [insertHolding(++this.#seq, 'reserve', id, account.id, reserved, this.now, first, note)];
    if (first !== fundIds) rows.push(insertHolding(++this.#seq, 'attach', id, account.id, 0, this.now, fundIds));
    return this.#options.store.commit([...deposit, ...rows, ...also]);
  }

  raise({ id, account }: ReservationHold, by: Microcredits): Promise<void> {
    return this.#options.store.commit([insertHolding(++this.#seq, 'raise', id, account.id, by, this.now, null)]);
  }

  /** Writes that an open reservation draws on other funds. */
  attach({ id, account, fundIds }: ReservationHold): void {
    this.append([insertHolding(++this.#seq, 'attach', id, account.id, 0, this.now, fundIds)]);
  }

  /** The row of a closing that names no model; what it charges is added to the sums. */
  closing({ id, account, funds }: ReservationHold, kind: 'settle' | 'expire', charged: Microcredits): Write {
    if (charged > 0) {
      this.sums.add(account, { reservation: id, tariff: 0, microcredits: charged, input: 0, output: 0 });
      this.#look(funds);
    }
    return insertClosing(++this.#seq, kind, id, account.id, charged, this.now);
  }

  /** Closes what an earlier run left behind. */
  orphan({ reservation, account, keyId }: OpenReservation, charged: Microcredits): { row: JournalRow; write: Write } {
    const seq = ++this.#seq;
    const time = this.now;
    const bare = { funds: null, tariff: null, input: null, output: null };
    return {
      row: { seq, kind: 'expire', reservation, account, keyId, amount: charged, time, ...bare },
      write: insertClosing(seq, 'expire', reservation, account, charged, time),
    };
  }

  /** The row of an attempt, added to the sums. */
  charge(
    { id, account, funds }: ReservationHold,
    kind: 'post' | 'settle',
    charged: Microcredits,
    { tariff, estimated }: EntryLine,
    tokens: TokenCounts,
  ): Write {
    const number = this.#tariffOf(tariff);
    const [input, , , output] = tokens;
    this.sums.add(account, { reservation: id, tariff: number, microcredits: charged, input, output });
    this.#look(funds);
    return insertCharge(++this.#seq, kind, id, account.id, charged, this.now, number, tokens, estimated);
  }

  overrun({ id, account }: ReservationHold, excess: Microcredits, { tariff, estimated }: EntryLine): Write {
    const number = this.#tariffOf(tariff);
    return insertCharge(++this.#seq, 'overrun', id, account.id, excess, this.now, number, NO_TOKENS, estimated);
  }

  /** The row of a grant or a correction. */
  adjusting(adjustment: Adjustment, account: number, funds: string | null): Write {
    return insertAdjusting(++this.#seq, adjustment, account, this.now, funds);
  }

  /** The row of a deposit or of a fee. */
  paid(kind: 'deposit' | 'fee', account: number, amount: Microcredits, note: string): Write {
    return insertPaid(++this.#seq, kind, account, amount, this.now, note);
  }

  /** How the journal names a set of funds; null for none. Those without a row get one. */
  idsOf(funds: readonly Fund[]): string | null {
    if (funds.length === 0) return null;
    for (const fund of funds) if (fund.rowId === 0) this.#introduce(fund);
    return funds.map(({ rowId }) => rowId).join(' ');
  }

  /** A settlement runs where nothing may throw: news that cannot be told must not cost the entry. */
  #tell(tell: () => void): void {
    try {
      tell();
    } catch {}
  }

  #introduce(fund: Fund): void {
    const { kind, name, subject, definition, starts, ends } = fund.title;
    fund.rowId = ++this.#fundId;
    const row = {
      id: fund.rowId,
      kind,
      name,
      subject,
      definition,
      starts,
      ends: Number.isFinite(ends) ? ends : null,
      most: kind === 'balance' ? 0 : fund.limit,
      opening: fund.spent,
      after_seq: this.#seq,
    };
    this.append([insertFund(row)]);
  }

  #tariffOf(tariff: Tariff): number {
    let number = this.#known.get(tariff);
    if (number === undefined) {
      const { model, provider, upstream, price } = tariff;
      number = this.#tariffs.of(JSON.stringify([model, provider, upstream, price]), (id) =>
        this.append([insertTariff(id, model, provider, upstream, price)]),
      );
      this.#known.set(tariff, number);
      this.#numbered.set(number, tariff);
    }
    return number;
  }

  #look(funds: readonly Fund[]): void {
    for (const fund of funds) {
      const fraction = fund.alert();
      if (fraction !== null) this.#tell(() => this.#options.onAlert(fund, fraction));
    }
  }
}
