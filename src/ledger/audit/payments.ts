import type { Microcredits } from '../../core/credits.ts';
import { idText } from '../../core/id.ts';
import type { PaymentRow } from '../../store/journal-reader.ts';

export type PaymentFault = 'wrong_fee' | 'wrong_payment';

/** Reports a fault, of the row being read or of no row. */
type ReportPaymentFault = (kind: PaymentFault, message: string) => void;

/** One payment by the journal. */
interface BookedPayment {
  readonly wallet: string | null;
  deposited: Microcredits;
  /** The fee deducted from it: fees taken, less fees given back. */
  kept: Microcredits;
  /** Whether its wrong fee was reported already. */
  isTold: boolean;
}

/** The states of payments whose money has arrived. Others must have no entries. */
const ARRIVED: ReadonlySet<string> = new Set(['captured', 'settled']);

/** Compares the deposits and fees of the journal with the payments. */
export class AuditPayments {
  readonly totals = { deposited: 0, fees: 0 };
  readonly #booked = new Map<string, BookedPayment>();
  readonly #report: ReportPaymentFault;

  constructor(report: ReportPaymentFault) {
    this.#report = report;
  }

  /** Reads a row of the journal whose amount was checked. */
  add(kind: 'deposit' | 'fee', note: string, wallet: string | null, amount: Microcredits): void {
    const booked = this.#booked.getOrInsert(note, { wallet, deposited: 0, kept: 0, isTold: false });
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
    // Otherwise one fault would be reported at each row that follows.
    if (isWrong && !booked.isTold) {
      const what = kept < 0 ? `gives back ${-kept} more than was kept` : `keeps ${kept} of a deposit of ${deposited}`;
      this.#report('wrong_fee', `${what}, for ${note}`);
    }
    booked.isTold = isWrong;
  }

  /** Checks a payment. Call it once the whole journal is read. */
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

  /** Checks the entries that name no payment. Call it last, if there is a table of payments. */
  finish(): void {
    for (const [note, { deposited, wallet }] of this.#booked) {
      this.#report('wrong_payment', `${deposited} were deposited by ${wallet} for "${note}", which is no payment`);
    }
    this.#booked.clear();
  }
}
