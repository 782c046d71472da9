import type { Bill, StatedCost } from '../core/accounting/bill.ts';
import type { FundTitle } from '../core/accounting/fund.ts';
import type { RecordStatus } from '../core/decision/record.ts';
import type { Microcredits } from '../core/money/credits.ts';
import type { StatedSums } from '../core/money/stated-cost.ts';
import type { Cursor } from './cursor.ts';
import type { StoredBalance } from './ledger-table.ts';
import type { Payment } from './payments.ts';
import type { TrafficKind, TrafficStep } from './traffic.ts';

/** A reservation that was still open at a checkpoint. */
export interface OpenReservation {
  readonly reservation: number;
  readonly account: number;
  readonly keyId: string;
  readonly amount: Microcredits;
  readonly charged: Microcredits;
  /** IDs of the funds that the reservation draws on, in the format of the journal. */
  readonly funds: string | null;
  /** The instance that made the reservation. This field is absent, like `expires`, in a checkpoint that an earlier build wrote. */
  readonly owner?: number | null;
  /** When the reservation counts as abandoned, ms since 1970; null: never. */
  readonly expires?: number | null;
}

/** The journal row up to which the stored sums are complete, with the state at that row. */
export interface JournalCheckpoint {
  readonly through: number;
  /** The open reservations at the checkpoint; null if their list cannot be read. */
  readonly open: readonly OpenReservation[] | null;
  /** The sum of all charges up to the row of the checkpoint, in microcredits. */
  readonly charged: Microcredits;
}

/** A fund that the journal refers to. */
export interface FundRow extends Pick<FundTitle, 'kind' | 'name' | 'subject' | 'definition' | 'starts'> {
  readonly id: number;
  /** The end of the window; null for a fund that never ends. */
  readonly ends: number | null;
  /** The limit of a budget. 0 for a balance: its grants are entries of the journal. */
  readonly most: Microcredits;
  readonly opening: Microcredits;
  /** The last row of the journal before the fund was added. Only rows of the journal that come later refer to the fund. */
  readonly afterSeq: number;
  /** The last row of the journal up to which `opening` includes the charges that did not draw on the fund; null if that is not known. */
  readonly counted: number | null;
}

/** The sum of the charges of a quarter of an hour, by account and tariff. */
export interface SpendRow extends StatedSums {
  readonly quarter: number;
  readonly account: number;
  readonly tariff: number;
  readonly charges: number;
  readonly microcredits: Microcredits;
  readonly input: number;
  readonly output: number;
}

/** The balance of a key or a wallet at the checkpoint. */
export interface BalanceRow extends StoredBalance {
  readonly keyId: string;
}

/**
 * The kind of an entry. The journal only ever adds entries, in the order of events, and corrects a mistake with another entry.
 *
 * `reserve`: sets `amount` aside in `funds`. `raise`: sets `amount` more aside. `attach`: from this entry on, the reservation draws on
 * `funds`, because the budgets changed. `post`: charges a failed attempt, and the reservation stays open. `settle`: charges the last
 * attempt, releases the rest, and closes the reservation. `expire`: closes a reservation that was never settled, mostly after a crash.
 * `overrun`: the part of an upstream's bill beyond the reservation, which no caller pays. `correct`: refunds a charge (negative). `grant`:
 * adds to a balance or deducts from it. `deposit`: a holder's payment. `fee`: the part of a deposit that Signalbox keeps for settling the
 * payment (negative), or refunds.
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

/** The kind of an entry that changes only a balance: an operator's grant, a holder's deposit, or the fee of a deposit. */
export type BalanceKind = 'grant' | 'deposit' | 'fee';

/** A row of the journal, which is one ledger entry. */
export interface JournalRow {
  readonly seq: number;
  readonly kind: EntryKind;
  /** The ID of the reservation; null for an entry that only changes a balance. */
  readonly reservation: number | null;
  readonly account: number;
  readonly amount: Microcredits;
  readonly time: number;
  /** IDs of the funds that the entry draws on, separated by spaces; null for none. */
  readonly funds: string | null;
  readonly tariff: number | null;
  readonly input: number | null;
  readonly output: number | null;
  /** Absent if the answer of the attempt stated no cost. */
  readonly stated?: StatedCost | undefined;
  readonly keyId: string;
}

/** A row of the journal with the rows that it refers to. In a damaged journal, rows that a journal row refers to can be missing. */
export interface AuditRow extends Omit<JournalRow, 'kind' | 'keyId'> {
  readonly kind: string;
  /** The key of the account; null if the account of the row does not exist. */
  readonly keyId: string | null;
  /** The ID of the payment, for a deposit or a fee. */
  readonly note: string | null;
  /** The holder that pays instead of the key; null for none. */
  readonly payer: string | null;
  /** The number of the tariff null if the tariff does not exist, or if the row refers to no tariff. */
  readonly knownTariff: number | null;
}

/** A payment, to be compared with the journal. */
export interface PaymentRow extends Pick<Payment, 'id' | 'payer' | 'paid' | 'fee'> {
  readonly state: string;
}

/** A ledger entry that moves money, with its account, model and tokens. */
export interface MoneyEntry {
  readonly kind: Exclude<EntryKind, 'reserve' | 'raise' | 'attach'>;
  /** The ID of the reservation; null for an entry that only changes a balance. */
  readonly reservation: number | null;
  readonly amount: Microcredits;
  /** The microcredits that the upstream billed beyond `amount`, for a charge. */
  readonly overrun: Microcredits;
  readonly time: number;
  readonly keyId: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly selector: string;
  /** The session; '' for none. */
  readonly session: string;
  /** The agent; '' for none. */
  readonly agent: string;
  /** IDs of the team and the user that the key belonged to at that time; '' for none. */
  readonly team: string;
  readonly user: string;
  /** The model of the attempt; empty, like `provider` and `upstream`, if no attempt is known. */
  readonly model: string;
  readonly provider: string;
  readonly upstream: string;
  /** The bill of an attempt; null for entries without an attempt. */
  readonly bill: Bill | null;
  readonly estimated: boolean;
  /** JSON of the price; null if no price applied. */
  readonly price: string | null;
  readonly note: string;
  /** How the charged request ended; absent if its record is deleted, and for entries without a record. */
  readonly outcome?: RecordStatus;
}

/** The kinds of journal entries of a hold that have an amount. */
export const HOLD_ENTRIES = ['reserve', 'raise', 'post', 'settle', 'expire', 'overrun'] as const;

/** A journal row of a reservation, with the tariff of the row. */
export interface ReservationEntry extends Pick<MoneyEntry, 'amount' | 'time' | 'price' | 'bill' | 'estimated'> {
  readonly kind: EntryKind;
  /** The model of the attempt; null, like `provider` and `upstream`, if no attempt is known. */
  readonly model: string | null;
  readonly provider: string | null;
  readonly upstream: string | null;
}

/** A row of the journal with its price. */
export interface PricedRow extends Pick<MoneyEntry, 'amount' | 'bill'> {
  readonly seq: number;
  readonly kind: string;
  readonly reservation: number;
  /** The price as JSON. */
  readonly price: string;
}

/**
 * A cell of the traffic statistics whose money differs from the journal, or the sum of all cells of a kind and bucket if that sum differs.
 * Amounts are microcredits.
 */
export interface WrongCell {
  readonly step: TrafficStep;
  readonly kind: TrafficKind;
  /** The start of the bucket, ms since 1970. */
  readonly time: number;
  /** The series; null for the sum over all series of the kind. */
  readonly series: string | null;
  readonly cell: Microcredits;
  readonly journal: Microcredits;
}

/** Selects entries to read. The times are ms since 1970 and refer to the reservation of an entry, as budgets do. */
export interface MoneyFilter {
  readonly from: number;
  /** The end, exclusive; Infinity for all. */
  readonly to: number;
  readonly keyId: string | null;
  readonly model: string | null;
}

/**
 * Rows of the journal in pages, in the order in which the rows were written. Pages are needed because a journal can be larger than the
 * memory.
 */
export type RowPages<Row> = AsyncIterable<readonly Row[]>;

/**
 * Reads the journal of a ledger of this version row by row, for the audit and the export. The reader reads up to the horizon, so that no
 * entry can appear later within a page. Rejects with StoreError. State: journal.
 */
export interface JournalReader {
  /** @returns the position of the last entry before which no entry will appear; 0 for none */
  horizon(): Promise<Cursor>;
  /** @returns the last checkpoint; null if the ledger has no checkpoint, which means that the ledger is damaged */
  checkpoint(): Promise<JournalCheckpoint | null>;
  /** @returns sentences about damage that the database finds in its own tables */
  damages(): Promise<readonly string[]>;
  funds(): RowPages<FundRow>;
  rows(): RowPages<AuditRow>;
  /** The rows that refer to a tariff. */
  priced(): RowPages<PricedRow>;
  /** The sums of charges, ordered by quarter, account and tariff. */
  spend(): RowPages<SpendRow>;
  /** @returns the payments; null if the store has no table of payments */
  payments(): Promise<RowPages<PaymentRow> | null>;
  balances(): Promise<readonly BalanceRow[]>;
  /**
   * Compares the money in the traffic statistics with the journal entries that the statistics have counted. The result is empty if the
   * store has no traffic, or while the cells of the traffic are deleted for a recount.
   * @param now ms since 1970. Buckets that are too old to be kept are not compared.
   */
  wrongCells(now: number): Promise<readonly WrongCell[]>;
  /** The rows of a reservation from its first to its end, without later refunds; empty if the reservation does not exist. */
  reservation(id: number): Promise<readonly ReservationEntry[]>;
  /** The entries that move money and match a filter. Pages can be empty, because each page searches a limited number of rows. */
  money(filter: MoneyFilter): RowPages<MoneyEntry>;
  /** @returns the value of a Credit in USD, as written in the policy; null for a ledger that never had a policy */
  usdPerCredit(): Promise<string | null>;
}
