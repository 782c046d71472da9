import { expire } from '../../../ledger/rules/reservation.ts';
import type { ExpireOp, OpResult, Orphan } from '../../books.ts';
import type { Batch } from './batch.ts';
import type { FundStates } from './fund-states.ts';
import type { Journal } from './journal.ts';
import type { JournalState } from './recover.ts';

/** The reservations that an earlier run left open, and the balances that it left. */
export class Orphans {
  readonly all: readonly Orphan[];
  readonly #found: JournalState;
  readonly #journal: Journal;
  readonly #funds: FundStates;

  constructor(found: JournalState, journal: Journal, funds: FundStates) {
    this.#found = found;
    this.#journal = journal;
    this.#funds = funds;
    for (const [holder, { granted, spent }] of found.balances) funds.grant(holder, granted, spent);
    this.all = [...found.open.values()].map(({ reservation, amount, charged, funds: ids }) => ({
      id: reservation,
      reserved: amount,
      charged,
      holder: found.holderOf(ids),
    }));
  }

  has(id: number): boolean {
    return this.#found.open.has(id);
  }

  close({ id, at, rule }: ExpireOp, batch: Batch): OpResult {
    const orphan = this.#found.open.get(id)!;
    const { amount, charged: before, funds } = orphan;
    const { charged, next } = expire({ state: 'pending', amount, charged: before, limit: null }, rule);
    const { row, write } = this.#journal.orphan(orphan, charged, at);
    this.#found.add(row);
    const holder = this.#found.holderOf(funds);
    const balance = holder === null ? null : this.#funds.grant(holder, 0).fund;
    if (balance) balance.spent += charged;
    batch.writes.push(write);
    // A start that cannot be written down must not go on.
    batch.await({ written: () => null, lost: () => {} });
    return { kind: 'charged', charged: next.charged, overrun: 0 };
  }
}
