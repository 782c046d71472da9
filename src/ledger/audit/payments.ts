import { idText } from '../../core/id.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import type { PaymentRow } from '../../store/journal-reader.ts';

export type PaymentFault = 'wrong_fee' | 'wrong_payment';

/** Reports a contradiction in the journal row that the audit is reading, or in no single row. */
type ReportPaymentFault = (kind: PaymentFault, message: string) => void;

/** A payment, as recomputed from the journal. */
interface BookedPayment {
  readonly wallet: string | null;
  deposited: Microcredits;
  /** The fee that was kept: fees taken minus fees refunded, microcredits. */
  kept: Microcredits;
  /** True if the wrong fee of the payment was already reported. */
  isTold: boolean;
}

/** The states of payments whose money has arrived. A payment in another state must have no entries. */
const ARRIVED: ReadonlySet<string> = new Set(['captured', 'settled']);

/** Compares the deposits and fees in the journal with the table of payments. */
export class AuditPayments {
  readonly totals = { deposited: 0, fees: 0 };
  readonly #booked = new Map<string, BookedPayment>();
  readonly #report: ReportPaymentFault;

  constructor(report: ReportPaymentFault) {
    this.#report = report;
  }

  /** Adds a journal row whose amount was already checked. */
  add(kind: 'deposit' | 'fee', note: string, wallet: string | null, amount: Microcredits): void {
    const booked = this.#booked.getOrInsert(note, { wallet, deposited: 0, kept: 0, isTold: false });
    if (booked.wallet !== wallet)
      this.#report('wrong_payment', `${note} belongs to ${booked.wallet}, not to ${wallet}`);
    if (kind === 'deposit') {
      booked.deposited += amount;
      this.totals.deposited += amount;
      return;
    }
    booked.kept -= amount;
    this.totals.fees -= amount;
    const { kept, deposited } = booked;
    const isWrong = kept < 0 || kept > deposited;
    // A wrong fee is reported only once, because every later row would report the same mistake.
    if (isWrong && !booked.isTold) {
      const what =
        kept < 0
          ? `refunds ${-kept} more than the fee that was kept`
          : `keeps a fee of ${kept} from a deposit of ${deposited}`;
      this.#report('wrong_fee', `${what}, for ${note}`);
    }
    booked.isTold = isWrong;
  }

  /** Compares a payment with the journal. The caller must add all rows of the journal first. */
  compare({ id, state, payer, paid, fee }: PaymentRow): void {
    const note = idText('pay_', id);
    const booked = this.#booked.get(note);
    this.#booked.delete(note);
    const [must, keeps] = ARRIVED.has(state) ? [paid, fee] : [0, 0];
    const { deposited, kept, wallet } = booked ?? { deposited: 0, kept: 0, wallet: payer };
    if (deposited !== must || kept !== keeps) {
      const figures = `${must} paid and ${keeps} kept, but the journal has ${deposited} and ${kept}`;
      this.#report('wrong_payment', `${note} is ${state} and has ${figures}`);
    }
    if (wallet !== payer) this.#report('wrong_payment', `${note} was paid by ${payer}, but booked to ${wallet}`);
  }

  /** Reports entries that name no payment. If there is a table of payments, the caller must check all its payments first. */
  finish(): void {
    for (const [note, { deposited, wallet }] of this.#booked) {
      this.#report('wrong_payment', `${deposited} were deposited by ${wallet} for "${note}", which is not a payment`);
    }
    this.#booked.clear();
  }
}
