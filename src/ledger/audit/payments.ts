import type { Microcredits } from '../../core/credits.ts';
import { idText } from '../../core/id.ts';

export type PaymentFault = 'wrong_fee' | 'wrong_payment';

/** Tells what is wrong: at the row that is being read, or of no row. */
type ReportPaymentFault = (kind: PaymentFault, message: string) => void;

/** A row of the table `payments`. */
export interface PaymentRow {
  readonly id: number;
  readonly state: string;
  readonly payer: string;
  readonly paid: Microcredits;
  readonly fee: Microcredits;
}

/** What the journal says of one payment. */
interface BookedPayment {
  readonly wallet: string | null;
  deposited: Microcredits;
  /** Kept of that: what was taken, less what was given back. */
  kept: Microcredits;
  /** It was told already that its fee cannot be right. */
  isTold: boolean;
}

/** Payments whose money has arrived; of others nothing may be in the books. */
const ARRIVED: ReadonlySet<string> = new Set(['captured', 'settled']);

/** Deposits and fees as the journal has them, by payment, against the payments themselves. */
export class AuditPayments {
  readonly totals = { deposited: 0, fees: 0 };
  readonly #booked = new Map<string, BookedPayment>();
  readonly #report: ReportPaymentFault;

  constructor(report: ReportPaymentFault) {
    this.#report = report;
  }

  /** A row of the journal. Its amount was looked at. */
  add(kind: 'deposit' | 'fee', note: string, wallet: string | null, amount: Microcredits): void {
    const booked = this.#bookedOf(note, wallet);
    if (booked.wallet !== wallet) this.#report('wrong_payment', `${note} is of ${booked.wallet}, not of ${wallet}`);
    if (kind === 'deposit') {
      booked.deposited += amount;
      this.totals.deposited += amount;
      return;
    }
    booked.kept -= amount;
    this.totals.fees -= amount;
    const { kept, deposited } = booked;
    const isWrong = kept < 0 || kept > deposited;
    // What was wrong once would be told at each row that follows.
    if (isWrong && !booked.isTold) {
      const what = kept < 0 ? `gives back ${-kept} more than was kept` : `keeps ${kept} of a deposit of ${deposited}`;
      this.#report('wrong_fee', `${what}, for ${note}`);
    }
    booked.isTold = isWrong;
  }

  /** A payment; to be called once the whole journal was read. */
  compare({ id, state, payer, paid, fee }: PaymentRow): void {
    const note = idText('pay_', id);
    const booked = this.#booked.get(note);
    this.#booked.delete(note);
    const [must, keeps] = ARRIVED.has(state) ? [paid, fee] : [0, 0];
    const { deposited, kept, wallet } = booked ?? { deposited: 0, kept: 0, wallet: payer };
    if (deposited !== must || kept !== keeps) {
      const figures = `${must} paid and ${keeps} kept, the journal ${deposited} and ${kept}`;
      this.#report('wrong_payment', `${note} is ${state} and has ${figures}`);
    }
    if (wallet !== payer) this.#report('wrong_payment', `${note} was paid by ${payer}, and booked to ${wallet}`);
  }

  /** To be called last, where there are payments: what names none. */
  finish(): void {
    for (const [note, { deposited, wallet }] of this.#booked) {
      this.#report('wrong_payment', `${deposited} were deposited by ${wallet} for "${note}", which is no payment`);
    }
    this.#booked.clear();
  }

  #bookedOf(note: string, wallet: string | null): BookedPayment {
    let booked = this.#booked.get(note);
    if (!booked) {
      booked = { wallet, deposited: 0, kept: 0, isTold: false };
      this.#booked.set(note, booked);
    }
    return booked;
  }
}
