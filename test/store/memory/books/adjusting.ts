import type { Fund } from '../../../../src/core/accounting/fund.ts';
import { timeOfId } from '../../../../src/core/id.ts';
import type { CorrectOp, LedgerOp, OpResult } from '../../../../src/store/books.ts';
import { granted, type MemoryReservation, type PendingStep } from './booked.ts';
import type { Occasion } from './journal.ts';
import { MemoryReadings } from './readings.ts';
import { Watchers } from './watchers.ts';

/** The operations of books in memory that do not belong to an open hold: grants, corrections, deposits and waivers. */
export class MemoryAdjusting extends MemoryReadings {
  /** First results of these operations, by kind and ID. */
  protected readonly once = new Map<string, OpResult>();
  protected readonly watcher = new Watchers();
  protected freed: (readonly Fund[])[] = [];

  protected adjust(
    op: Extract<LedgerOp, { kind: 'grant' | 'correct' | 'deposit' | 'waive' }>,
    sure: (step: PendingStep) => void,
  ): OpResult {
    const isFee = op.kind === 'deposit' && op.deposit.paid === 0;
    const name = `${isFee ? 'waive' : op.kind} ${op.id}`;
    const known = this.once.get(name);
    if (known) return known;
    let result = granted(0);
    if (op.kind === 'correct') result = this.#correct(op, sure);
    else if (op.kind === 'waive') {
      if (op.fee > 0) this.journal.adjust('fee', op.holder, op.fee, op);
      this.freed.push([this.credit(op.holder, op.fee)]);
      result = granted(op.fee);
    } else {
      const [holder, amount] =
        op.kind === 'grant' ? [op.holder, op.amount] : [op.holder, op.deposit.paid - op.deposit.fee];
      const entries =
        op.kind === 'grant'
          ? [this.journal.adjust('grant', holder, amount, op)]
          : this.journal.deposit(holder, op.deposit, op.at);
      this.deposit(holder, amount, sure, () => {
        this.journal.drop(...entries);
        this.once.delete(name);
      });
      result = granted(amount);
    }
    this.once.set(name, result);
    return result;
  }

  #correct(op: CorrectOp, sure: (step: PendingStep) => void): OpResult {
    const { reservation: id, amount: most } = op;
    const made = this.reservations.get(id);
    if (made && !made.closing) throw new RangeError(`reservation ${id} is open: what it costs is not known`);
    const amount = made ? Math.max(0, Math.min(made.state.charged - made.givenBack, most)) : 0;
    if (!made || amount === 0) return granted(0);
    sure({
      done: () => {
        this.giveBack(made, amount, op);
        return null;
      },
      undo: () => {},
    });
    return granted(amount);
  }

  protected giveBack(made: MemoryReservation, amount: number, { at: time, note }: Occasion): void {
    const { id: reservation, dimensions } = made;
    made.givenBack += amount;
    const onBalance = made.funds.some(({ title }) => title.kind === 'balance');
    const funds = this.watcher
      .fundsOf(dimensions, timeOfId(reservation))
      .map((ref) => this.funds.named(ref))
      .filter(({ title }) => title.kind !== 'balance' || onBalance);
    this.journal.add({ kind: 'correct', reservation, dimensions, amount: -amount, time, funds, note });
    for (const fund of funds) fund.spent -= amount;
    this.watcher.adjusted();
  }

  /** Corrects the charge of an expired hold that was settled afterwards. */
  protected correct(made: MemoryReservation, by: number, time: number): void {
    const { id: reservation, dimensions, funds } = made;
    made.givenBack -= by;
    for (const fund of funds) fund.spent += by;
    this.journal.add({ kind: 'correct', reservation, dimensions, amount: by, time, funds, note: 'late' });
    if (by < 0) this.freed.push(funds);
  }

  /** Books a deposit, which counts once it is durable. */
  protected deposit(
    holder: string,
    amount: number,
    sure: (step: PendingStep) => void,
    undo: () => void = () => {},
  ): void {
    sure({
      done: () => {
        this.arrive(holder, amount);
        return null;
      },
      undo,
    });
  }

  protected arrive(holder: string, amount: number): void {
    this.watcher.freed([this.credit(holder, amount)]);
    this.watcher.adjusted();
  }

  protected credit(holder: string, amount: number): Fund {
    const isNew = this.funds.held(holder) === null;
    const fund = this.funds.credit(holder, amount);
    if (isNew) this.watcher.opened(holder);
    return fund;
  }
}
