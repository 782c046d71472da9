import type { Microcredits } from '../core/credits.ts';
import { timeOfId } from '../core/id.ts';
import { findReservation } from '../store/sqlite/books/adjust.ts';
import {
  type AccountRow,
  type AdjustmentRow,
  adoptAdjustment,
  SELECT_ACCOUNT,
  SELECT_ADJUSTMENTS,
} from '../store/sqlite/books/tables.ts';
import type { Store } from '../store/store.ts';
import { type Accounts, accountOf } from './accounts.ts';
import type { Desk } from './desk.ts';
import type { Funds } from './funds.ts';

/** The reservation that a correction is about, and whose it is. */
interface Given {
  readonly row: AccountRow;
  readonly reservation: number;
  /** Whether a balance paid for it. */
  readonly onBalance: boolean;
}

/** Takes over what operators have asked for, grants and corrections, each once: into the journal, the sums and the funds. */
export class Adoption {
  readonly #store: Store;
  readonly #desk: Desk;
  readonly #accounts: Accounts;
  readonly #funds: Funds;
  /** The greatest adjustment that was taken over: it may not be marked so in the store yet. */
  #adopted = 0;

  constructor(store: Store, desk: Desk, accounts: Accounts, funds: Funds) {
    this.#store = store;
    this.#desk = desk;
    this.#accounts = accounts;
    this.#funds = funds;
  }

  /** Takes over what is new. `onAdopted` is told of each, once it counts. */
  async run(onAdopted: () => void): Promise<void> {
    const rows = await this.#store.query<AdjustmentRow>(SELECT_ADJUSTMENTS);
    for (const row of rows) {
      const given = row.kind === 'correct' ? await this.#givenFor(row) : null;
      if (row.id <= this.#adopted) continue;
      this.#adopt(row, given);
      onAdopted();
    }
  }

  /** What a correction is about, read from the journal. Null when there is no such reservation. */
  async #givenFor({ reservation, account }: AdjustmentRow): Promise<Given | null> {
    const booked = reservation === null ? null : await findReservation(this.#store, reservation);
    const [row] = await this.#store.query<AccountRow>(SELECT_ACCOUNT, [account]);
    return booked && row ? { row, reservation: booked.reservation, onBalance: booked.onBalance } : null;
  }

  #adopt(row: AdjustmentRow, given: Given | null): void {
    const { id, kind, keyId, amount } = row;
    this.#adopted = id;
    if (kind === 'grant') {
      const write = this.#desk.adjusting(row, this.#accounts.numberOfKey(keyId), null);
      this.#store.append([write, adoptAdjustment(id)]);
      this.#funds.grant(keyId, amount);
    } else if (given !== null) {
      const fundIds = this.#giveBack(given, amount);
      this.#store.append([this.#desk.adjusting(row, given.row.id, fundIds), adoptAdjustment(id)]);
    }
  }

  /**
   * Gives back what a reservation was charged, to the windows that it counts in and to the balance that paid for it.
   * Returns these as the journal names them.
   */
  #giveBack({ row, reservation, onBalance }: Given, amount: Microcredits): string | null {
    const account = accountOf(row);
    const drawn = this.#funds.of(account, timeOfId(reservation));
    const funds = drawn.filter(({ title }) => title.kind === 'budget' || onBalance);
    // Named before it changes: what a row opens with is what was spent before.
    const fundIds = this.#desk.idsOf(funds);
    for (const fund of funds) fund.spent += amount;
    this.#desk.sums.add(account, { reservation, tariff: 0, microcredits: amount, input: 0, output: 0 });
    return fundIds;
  }
}
