import { quarterOf } from '../../core/accounting/window.ts';
import { timeOfId } from '../../core/id.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import type {
  AuditRow,
  BalanceRow,
  FundRow,
  JournalCheckpoint,
  OpenReservation,
  SpendRow,
} from '../../store/journal-reader.ts';
import { type AuditedFundRow, AuditFunds, balanceText, type FundFault, type FundGroup } from './funds.ts';
import { SeenReservations } from './memory.ts';
import { AuditPayments, type PaymentFault } from './payments.ts';

export type FindingKind =
  | FundFault
  | PaymentFault
  | 'sequence'
  | 'unknown_kind'
  | 'bad_amount'
  | 'no_reservation'
  | 'reserved_twice'
  | 'never_reserved'
  | 'after_the_end'
  | 'overcharged'
  | 'over_corrected'
  | 'other_account'
  | 'missing_account'
  | 'missing_tariff'
  | 'wrong_cost'
  | 'wrong_spend'
  | 'wrong_balance'
  | 'wrong_checkpoint'
  | 'wrong_traffic'
  | 'wrong_opening'
  | 'left_open'
  | 'damaged';

/** A contradiction in the books. Correct books have none. */
export interface AuditFinding {
  readonly kind: FindingKind;
  /** The number of the journal row; null if the finding concerns no single row. */
  readonly seq: number | null;
  readonly reservation: number | null;
  readonly message: string;
}

/** A checkpoint of the journal whose list of open reservations is readable. */
interface AuditCheckpoint extends JournalCheckpoint {
  readonly open: readonly OpenReservation[];
}

/** The checkpoint of an empty journal. */
export const NO_CHECKPOINT: AuditCheckpoint = { through: 0, open: [], charged: 0 };

/** A reservation that is still open at the end of the journal. */
export interface OpenAtEnd {
  readonly reservation: number;
  readonly account: number;
  readonly keyId: string | null;
  reserved: Microcredits;
  charged: Microcredits;
  /** The number of the journal row that opened the reservation. */
  readonly seq: number;
  readonly time: number;
  funds: string | null;
  draws: readonly AuditedFundRow[];
}

type Balances = ReturnType<AuditFunds['balances']>;
const SUMMED = ['charges', 'microcredits', 'input', 'output', 'stated', 'matched'] as const;
type Sum = Record<(typeof SUMMED)[number], number>;

/** How many findings are kept. Further findings are only counted. */
const FINDINGS_MAX = 10_000;

/**
 * Checks the books by reading the journal row by row. The audit shares no code with the ledger, because shared code would have the same
 * mistakes in both. The caller must add all rows of `funds` first, in the order of their numbers.
 */
export class Audit {
  readonly findings: AuditFinding[] = [];
  /** The number of findings beyond those that are kept. */
  more = 0;
  /** The number of charges whose cost cannot be computed again, because the usage is implausible or the price is unreadable. */
  unpriced = 0;
  readonly totals = { entries: 0, charged: 0, corrected: 0, overrun: 0, granted: 0 };
  readonly open = new Map<number, OpenAtEnd>();
  readonly #checkpoint: AuditCheckpoint;
  readonly #funds: AuditFunds;
  /** Collects payments while the journal is read, and compares them afterwards. */
  readonly payments = new AuditPayments((kind, message) => this.#report(kind, message));
  readonly #seen = new SeenReservations();
  /** Reservations that expired without being charged in full. */
  readonly #released = new Set<number>();
  /** Rows of `funds` that apply only after a journal row that the audit has not read yet. */
  readonly #coming: FundRow[] = [];
  #nextFund = 0;
  /** The rows that the table `spend` should have. */
  readonly #sums = new Map<string, Sum>();
  /** The sum of all charges up to the checkpoint, microcredits. */
  #charged = 0;
  /** The rows that the table `balances` should have; null until all rows of the checkpoint are read. */
  #balances: Balances | null = null;
  #row: AuditRow | null = null;
  #last = Number.NEGATIVE_INFINITY;

  constructor(checkpoint: AuditCheckpoint) {
    this.#checkpoint = checkpoint;
    this.#funds = new AuditFunds((kind, message) => this.#report(kind, message));
  }

  get reservations(): number {
    return this.#seen.size;
  }
  get funds(): number {
    return this.#funds.size;
  }

  /** @returns the funds that are active at a time, with their figures after the last row */
  fundsAt(timeMs: number): readonly FundGroup[] {
    this.#introduceBefore(Number.POSITIVE_INFINITY);
    return this.#funds.at(timeMs);
  }

  /** @returns the balances after the last row of the journal */
  balances(): Balances {
    return this.#funds.balances();
  }

  fund(row: FundRow): void {
    this.#coming.push(row);
  }

  /** Checks the next row of the journal. The caller must pass the rows in the order of their numbers. */
  add(row: AuditRow): void {
    if (this.#balances === null && row.seq > this.#checkpoint.through) this.#atCheckpoint();
    this.#row = row;
    this.#funds.pass(row.time);
    this.#introduceBefore(row.seq);
    if (!(row.seq > this.#last))
      this.#report('sequence', `comes after row ${this.#last}, which has a number that is not lower`);
    this.#last = row.seq;
    this.totals.entries++;
    if (row.keyId === null) this.#report('missing_account', `names the account ${row.account}, which does not exist`);
    if (row.tariff !== row.knownTariff) {
      this.#report('missing_tariff', `names the tariff ${row.tariff}, which does not exist`);
    }
    this.#take(row);
    this.#row = null;
  }

  /** Checks a row of `spend`. The caller must pass all rows of the journal before the rows of `spend`. */
  spend(row: SpendRow): void {
    const key = `${row.quarter}/${row.account}/${row.tariff}`;
    const sum = this.#sums.get(key) ?? nothing();
    this.#sums.delete(key);
    for (const figure of SUMMED) {
      if (row[figure] === sum[figure]) continue;
      this.#report(
        'wrong_spend',
        `${placeOf(key)} adds up to ${row[figure]} ${figure}, but the journal to ${sum[figure]}`,
      );
    }
  }

  /** Compares all rows of `balances` with the journal. */
  compareBalances(rows: readonly BalanceRow[]): void {
    const expected = new Map(this.#atCheckpoint());
    for (const { keyId, granted, spent } of rows) {
      const is = expected.get(keyId) ?? { granted: 0, spent: 0 };
      expected.delete(keyId);
      if (is.granted === granted && is.spent === spent) continue;
      const figures = `${granted} granted and ${spent} spent, but the journal has ${is.granted} granted and ${is.spent} spent`;
      this.#report('wrong_balance', `${balanceText(keyId)} has ${figures}`);
    }
    for (const keyId of expected.keys()) this.#report('wrong_balance', `${balanceText(keyId)} is missing`);
  }

  /** Reports the rows that are missing in `spend`. The caller must call this method after all rows are read. */
  finish(): void {
    this.#atCheckpoint();
    for (const [key, { microcredits }] of this.#sums) {
      this.#report(
        'wrong_spend',
        `${placeOf(key)} is missing, but the journal has ${microcredits} microcredits for it`,
      );
    }
    this.#sums.clear();
  }

  /** Adds a finding to the result of the audit. */
  report(finding: AuditFinding): void {
    if (this.findings.length < FINDINGS_MAX) this.findings.push(finding);
    else this.more++;
  }

  #report(kind: FindingKind, message: string): void {
    this.report({ kind, seq: this.#row?.seq ?? null, reservation: this.#row?.reservation ?? null, message });
  }

  #introduceBefore(seq: number): void {
    for (;;) {
      const next = this.#coming[this.#nextFund];
      if (!next || next.afterSeq >= seq) return;
      this.#nextFund++;
      this.#funds.introduce(next);
    }
  }

  #take(row: AuditRow): void {
    const { kind, amount, reservation, keyId } = row;
    if (!Number.isSafeInteger(amount)) this.#report('bad_amount', `has the amount ${amount}`);
    if (kind === 'grant') {
      this.totals.granted += amount;
      if (keyId !== null) this.#funds.grant(keyId, amount);
    } else if (kind === 'deposit' || kind === 'fee') this.#pay(kind, row);
    else if (reservation === null)
      this.#report('no_reservation', `is an entry of the kind ${kind} without a reservation`);
    else if (kind === 'reserve') this.#reserve(row, reservation);
    else if (kind === 'correct') this.#correct(row, reservation);
    else if (kind === 'overrun') this.#overrun(row, reservation);
    else if (kind === 'raise' || kind === 'attach') this.#widen(row, reservation);
    else if (kind === 'post' || kind === 'settle' || kind === 'expire') this.#charge(row, reservation);
    else this.#report('unknown_kind', `has the unknown kind ${kind}`);
  }

  #pay(kind: 'deposit' | 'fee', { amount, keyId, note }: AuditRow): void {
    if (kind === 'deposit' && amount <= 0) this.#report('bad_amount', `deposits ${amount}`);
    this.payments.add(kind, note ?? '', keyId, amount);
    if (keyId !== null) this.#funds.grant(keyId, amount);
  }

  #reserve({ seq, account, keyId, payer, amount, time, funds }: AuditRow, reservation: number): void {
    this.#mustNotBeNegative(amount);
    if (!this.#seen.add(reservation, account)) {
      this.#report('reserved_twice', 'reserves for a reservation that already exists');
      return;
    }
    const draws = this.#funds.named(funds);
    this.#funds.join(draws, reservation, account, payer ?? keyId);
    this.#funds.hold(draws, amount);
    this.#funds.checkRoom(draws, 'named');
    this.open.set(reservation, { reservation, account, keyId, reserved: amount, charged: 0, seq, time, funds, draws });
  }

  #widen({ kind, account, keyId, payer, amount, funds }: AuditRow, reservation: number): void {
    this.#mustNotBeNegative(amount);
    const open = this.#openOf(kind, reservation, account);
    if (!open) return;
    if (kind === 'raise') {
      open.reserved += amount;
      this.#funds.hold(open.draws, amount);
      this.#funds.checkRoom(open.draws, 'latest');
      return;
    }
    const left = open.reserved - open.charged;
    this.#funds.hold(open.draws, -left);
    open.draws = this.#funds.named(funds);
    open.funds = funds;
    this.#funds.join(open.draws, reservation, account, payer ?? keyId);
    // The funds may now hold more than they have free: a budget that was just added includes reservations that were open before.
    this.#funds.hold(open.draws, left);
  }

  #charge(row: AuditRow, reservation: number): void {
    const { kind, account, amount } = row;
    this.#mustNotBeNegative(amount);
    const open = this.#openOf(kind, reservation, account);
    if (amount !== 0 || row.tariff !== null) this.#count(row, reservation, open?.draws);
    if (!open) return;
    const left = open.reserved - open.charged;
    if (amount > left) this.#report('overcharged', `charges ${amount}, but only ${left} were left`);
    this.#funds.spend(open.draws, amount, kind === 'post' ? amount : left);
    open.charged += amount;
    this.#seen.charge(reservation, amount);
    if (kind !== 'post') this.open.delete(reservation);
    if (kind === 'expire' && amount < left) this.#released.add(reservation);
  }

  #correct(row: AuditRow, reservation: number): void {
    const { account, keyId, payer, amount, funds } = row;
    this.totals.corrected += amount;
    // True if the reservation expired, was released, and is now charged because its settlement came late.
    const isLate = amount > 0 && this.#released.has(reservation);
    if (amount >= 0 && !isLate)
      this.#report('bad_amount', `corrects by ${amount}, but a correction must give something back`);
    const draws = this.#funds.named(funds);
    this.#funds.join(draws, reservation, account, payer ?? keyId);
    this.#funds.spend(draws, amount, 0);
    this.#count(row, reservation, draws);
    if (!this.#isSeen('correct', reservation, account)) return;
    const rest = this.#seen.charge(reservation, amount);
    if (rest < 0) this.#report('over_corrected', `gives back ${-rest} more than was charged`);
  }

  /**
   * The row of an overrun follows the row of its charge. The charge may have closed the reservation, so an overrun of a closed reservation
   * is no mistake.
   */
  #overrun({ account, amount }: AuditRow, reservation: number): void {
    this.#mustNotBeNegative(amount);
    this.totals.overrun += amount;
    this.#isSeen('overrun', reservation, account);
  }

  #count(row: AuditRow, reservation: number, draws: readonly AuditedFundRow[] = []): void {
    const { seq, account, amount, tariff, input, output, stated } = row;
    const quarter = quarterOf(timeOfId(reservation));
    this.totals.charged += amount;
    this.#funds.count({ seq, account, quarter, amount, draws });
    if (seq > this.#checkpoint.through) return;
    const key = `${quarter}/${account}/${tariff ?? 0}`;
    const sum = this.#sums.getOrInsertComputed(key, nothing);
    sum.charges++;
    sum.microcredits += amount;
    this.#charged += amount;
    sum.stated += stated?.stated ?? 0;
    sum.matched += stated?.cost ?? 0;
    sum.input += input ?? 0;
    sum.output += output ?? 0;
  }

  #mustNotBeNegative(amount: number): void {
    if (amount < 0) this.#report('bad_amount', `has the negative amount ${amount}`);
  }

  #openOf(kind: string, reservation: number, account: number): OpenAtEnd | null {
    const open = this.open.get(reservation);
    if (!this.#isSeen(kind, reservation, account)) return null;
    if (!open) this.#report('after_the_end', `has the kind ${kind}, but its reservation was closed before`);
    return open ?? null;
  }

  #isSeen(kind: string, reservation: number, account: number): boolean {
    const owner = this.#seen.accountOf(reservation);
    if (owner === null) this.#report('never_reserved', `has the kind ${kind}, but its reservation was never made`);
    else if (owner !== account)
      this.#report('other_account', `is booked to account ${account}, but its reservation belongs to account ${owner}`);
    return owner !== null;
  }

  /**
   * Compares the open reservations with the checkpoint and keeps the balances. The caller must call this method when all rows of the
   * checkpoint are read.
   */
  #atCheckpoint(): Balances {
    if (this.#balances) return this.#balances;
    this.#balances = this.#funds.balances();
    const { charged: kept } = this.#checkpoint;
    if (kept !== this.#charged) {
      this.#tellCheckpoint(null, `has charges of ${kept} microcredits, but the journal has ${this.#charged}`);
    }
    const left = new Map(this.#checkpoint.open.map((one) => [one.reservation, one]));
    for (const is of this.open.values()) {
      const kept = left.get(is.reservation);
      left.delete(is.reservation);
      const same = kept && kept.amount === is.reserved && kept.charged === is.charged && kept.funds === is.funds;
      if (same && kept.account === is.account && kept.keyId === is.keyId) continue;
      this.#tellCheckpoint(
        is.reservation,
        kept ? 'has other figures for a reservation than the journal' : 'lacks a reservation that is open',
      );
    }
    for (const reservation of left.keys()) this.#tellCheckpoint(reservation, 'lists a reservation that is not open');
    return this.#balances;
  }

  #tellCheckpoint(reservation: number | null, what: string): void {
    this.report({ kind: 'wrong_checkpoint', seq: null, reservation, message: `the checkpoint ${what}` });
  }
}

const nothing = (): Sum => ({ charges: 0, microcredits: 0, input: 0, output: 0, stated: 0, matched: 0 });

function placeOf(key: string): string {
  const [quarter, account, tariff] = key.split('/');
  return `spend of quarter ${quarter}, account ${account}, tariff ${tariff}`;
}
