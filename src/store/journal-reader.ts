import type { FundTitle } from '../core/accounting/fund.ts';
import type { Microcredits } from '../core/credits.ts';
import type { Cursor } from './cursor.ts';
import type { StoredBalance } from './ledger-table.ts';
import type { Payment } from './payments.ts';
import type { TrafficKind, TrafficStep } from './traffic.ts';

/** A reservation that was not closed at a checkpoint. */
export interface OpenReservation {
  readonly reservation: number;
  readonly account: number;
  readonly keyId: string;
  readonly amount: Microcredits;
  readonly charged: Microcredits;
  /** IDs of the funds that it draws on, as in the journal. */
  readonly funds: string | null;
  /** Absent, like `expires`, in a checkpoint of before 2.0. */
  readonly owner?: number | null;
  /** When it counts as forgotten, ms since 1970; null: never. */
  readonly expires?: number | null;
}

/** The row of the journal up to which the sums are written. */
export interface JournalCheckpoint {
  readonly through: number;
  /** Null where the list cannot be read. */
  readonly open: readonly OpenReservation[] | null;
  /** The sum of all charges up to that row. */
  readonly charged: Microcredits;
}

/** A fund that the journal names. */
export interface FundRow extends Pick<FundTitle, 'kind' | 'name' | 'subject' | 'definition' | 'starts'> {
  readonly id: number;
  /** Null for one that never ends. */
  readonly ends: number | null;
  /** The limit of a budget; 0 for a balance, whose grants are entries. */
  readonly most: Microcredits;
  readonly opening: Microcredits;
  /** The last row of the journal before the fund. Only later rows name it. */
  readonly afterSeq: number;
}

/** The sum of the charges of a quarter of an hour, by account and tariff. */
export interface SpendRow {
  readonly quarter: number;
  readonly account: number;
  readonly tariff: number;
  readonly charges: number;
  readonly microcredits: Microcredits;
  readonly input: number;
  readonly output: number;
}

/** A balance at the checkpoint. */
export interface BalanceRow extends StoredBalance {
  readonly keyId: string;
}

/**
 * The kind of an entry. Entries are only ever added, in the order of events; a mistake is corrected by
 * another entry.
 *
 * `reserve`: sets `amount` aside in `funds`. `raise`: sets `amount` more aside. `attach`: draws on `funds` from
 * now on, after the budgets changed. `post`: charges a failed attempt, and the reservation stays open.
 * `settle`: charges the last attempt, releases the rest, closes. `expire`: closes a reservation that was never settled,
 * mostly after a crash. `overrun`: an upstream's bill beyond the reservation, charged to no caller.
 * `correct`: gives a charge back (negative). `grant`: adds to a balance or deducts from it. `deposit`: a holder's payment.
 * `fee`: the part of it that is kept for its settlement (negative), or given back.
 */
export type EntryKind =
  | 'reserve'
  | 'raise'
  | 'attach'
  | 'post'
  | 'settle'
  | 'expire'
  | 'overrun'
  | 'correct'
  | BalanceKind;

/** An entry that moves a balance alone: a grant of an operator, a deposit of a holder, the fee of a deposit. */
export type BalanceKind = 'grant' | 'deposit' | 'fee';

/** A row of the journal. */
export interface JournalRow {
  readonly seq: number;
  readonly kind: EntryKind;
  /** Null for an entry that only moves a balance. */
  readonly reservation: number | null;
  readonly account: number;
  readonly amount: Microcredits;
  readonly time: number;
  /** IDs of the funds that it draws on, separated by spaces; null for none. */
  readonly funds: string | null;
  readonly tariff: number | null;
  readonly input: number | null;
  readonly output: number | null;
  readonly keyId: string;
}

/** A row of the journal with the rows that it names. The journal may be damaged, so these may be missing. */
export interface AuditRow extends Omit<JournalRow, 'kind' | 'keyId'> {
  readonly kind: string;
  /** Null: the account does not exist. */
  readonly keyId: string | null;
  /** The payment of a deposit or a fee. */
  readonly note: string | null;
  /** The holder that pays in place of the key; null for none. */
  readonly payer: string | null;
  /** Null: the tariff does not exist, or none is named. */
  readonly knownTariff: number | null;
}

/** A payment, to compare with the journal. */
export interface PaymentRow extends Pick<Payment, 'id' | 'payer' | 'paid' | 'fee'> {
  readonly state: string;
}

/** An entry that moves money. */
export interface MoneyEntry {
  readonly kind: Exclude<EntryKind, 'reserve' | 'raise' | 'attach'>;
  /** Null for an entry that only moves a balance. */
  readonly reservation: number | null;
  readonly amount: Microcredits;
  /** Microcredits that the upstream billed beyond `amount`, of a charge. */
  readonly overrun: Microcredits;
  readonly time: number;
  readonly keyId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly selector: string;
  /** '' for none. */
  readonly session: string;
  /** '' for none. */
  readonly agent: string;
  /** IDs of the team and the user that the key belonged to; '' for none. */
  readonly team: string;
  readonly user: string;
  /** Empty, like provider and upstream, where no attempt is known. */
  readonly model: string;
  readonly provider: string;
  readonly upstream: string;
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  readonly output: number;
  readonly reasoning: number;
  readonly estimated: boolean;
  /** JSON of the price; null where none applied. */
  readonly price: string | null;
  /** JSON of what was billed beside tokens; null for nothing. */
  readonly addOns: string | null;
  readonly note: string;
}

/** The kinds of entries of a hold that have an amount. */
export const HOLD_ENTRIES = ['reserve', 'raise', 'post', 'settle', 'expire', 'overrun'] as const;

/** A row of one reservation, with the tariff that it names. */
export interface ReservationEntry extends Pick<MoneyEntry, 'amount' | 'time' | 'price' | 'addOns' | 'estimated'> {
  readonly kind: EntryKind;
  /** Null, like provider and upstream, where no attempt is known. */
  readonly model: string | null;
  readonly provider: string | null;
  readonly upstream: string | null;
  readonly input: number;
  readonly cached: number;
  readonly written: number;
  readonly output: number;
  readonly reasoning: number;
}

/** A row of the journal with the price that it names. */
export interface PricedRow extends Pick<MoneyEntry, 'amount' | 'input' | 'cached' | 'written' | 'output' | 'addOns'> {
  readonly seq: number;
  readonly kind: string;
  readonly reservation: number;
  /** JSON. */
  readonly price: string;
}

/** A cell of traffic, or all cells of one kind and bucket, whose money differs from the journal. Amounts are microcredits. */
export interface WrongCell {
  readonly step: TrafficStep;
  readonly kind: TrafficKind;
  /** The beginning of the bucket, ms since 1970. */
  readonly time: number;
  /** Null for the sum over all series of the kind. */
  readonly series: string | null;
  readonly cell: Microcredits;
  readonly journal: Microcredits;
}

/** The entries to read. Times are milliseconds since 1970, of the reservation: budgets count by them, too. */
export interface MoneyFilter {
  readonly from: number;
  /** Exclusive; Infinity for all. */
  readonly to: number;
  readonly keyId: string | null;
  readonly model: string | null;
}

/** Rows in pages, in the order in which they were written. A journal may be larger than the memory. */
export type RowPages<Row> = AsyncIterable<readonly Row[]>;

/**
 * The journal of a ledger of this version, row by row, for the audit and the export: up to the horizon, so that no page misses an entry
 * that appears behind it. Rejects with StoreError. State: journal.
 */
export interface JournalReader {
  /** So late a budget may count charges of servers that do not have it, ms; 0 where there is one server. */
  readonly lagMs: number;
  /** @returns the place of the last entry up to which nothing will appear; 0 for none */
  horizon(): Promise<Cursor>;
  /** @returns null where there is none, which is damage. */
  checkpoint(): Promise<JournalCheckpoint | null>;
  /** @returns sentences on damage that the database finds in itself. */
  damages(): Promise<readonly string[]>;
  funds(): RowPages<FundRow>;
  rows(): RowPages<AuditRow>;
  /** The rows that name a tariff. */
  priced(): RowPages<PricedRow>;
  /** In the order of quarter, account and tariff. */
  spend(): RowPages<SpendRow>;
  /** @returns null where the store has no payments. */
  payments(): Promise<RowPages<PaymentRow> | null>;
  balances(): Promise<readonly BalanceRow[]>;
  /**
   * Compares the money of traffic with the entries that are counted in it. Finds nothing where the store has no traffic, or while
   * its cells are deleted to be counted again.
   * @param now ms since 1970: buckets that are too old for their length are left out
   */
  wrongCells(now: number): Promise<readonly WrongCell[]>;
  /** The rows of a reservation from its first to its end, without what was given back later; empty for none. */
  reservation(id: number): Promise<readonly ReservationEntry[]>;
  money(filter: MoneyFilter): RowPages<MoneyEntry>;
  /** @returns the worth of a Credit in USD, as the policy states it; null in a ledger that never had a policy. */
  usdPerCredit(): Promise<string | null>;
}
