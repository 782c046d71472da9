import { BillWriter } from '../../../core/accounting/bill.ts';
import type { EntryLine, Tariff } from '../../../core/accounting/entry.ts';
import { isCost } from '../../../core/accounting/held-sum.ts';
import { readPrice } from '../../../core/accounting/stored-price.ts';
import type { Microcredits } from '../../../core/money/credits.ts';
import { isPlausible, plainUsage } from '../../../core/money/usage.ts';
import { type SqlWrite, sql, write } from '../../sql/statement.ts';
import type { Write } from '../../store.ts';
import type { SqlStore } from '../statement.ts';
import { AccountNumbers, Numbers } from './accounts.ts';
import type { BookedFund, FundDraw } from './fund-states.ts';
import type { BookedReservation } from './reservations.ts';
import { Sums } from './sums.ts';
import { type Adjustment, insertAdopted, type StateRow } from './tables.ts';

const INSERT_RESERVE = sql(`INSERT INTO journal (seq, kind, reservation, account, amount, time, funds, owner, expires)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`);
const INSERT_NOTED_RESERVE =
  sql(`INSERT INTO journal (seq, kind, reservation, account, amount, time, funds, owner, expires, note)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
const INSERT_HOLDING = sql(
  'INSERT INTO journal (seq, kind, reservation, account, amount, time, funds, step) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
);
const INSERT_CHARGE = sql(
  `INSERT INTO journal (seq, kind, reservation, account, amount, time, tariff, bill, estimated)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  { spooledAs: 'charge' },
);
const INSERT_POST = sql(
  `INSERT INTO journal (seq, kind, reservation, account, amount, time, tariff, bill, estimated, step)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  { spooledAs: 'post' },
);
const INSERT_BARE = sql(
  'INSERT INTO journal (seq, kind, reservation, account, amount, time) VALUES (?, ?, ?, ?, ?, ?)',
  { spooledAs: 'closing' },
);
const INSERT_NOTED = sql(`INSERT INTO journal (seq, kind, reservation, account, amount, time, funds, note)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
const INSERT_PAID = sql(
  'INSERT INTO journal (seq, kind, reservation, account, amount, time, note) VALUES (?, ?, ?, ?, ?, ?, ?)',
  { spooledAs: 'paid' },
);
const INSERT_ACCOUNT = sql(`INSERT INTO accounts (id, key_id, labels, selector, payer, session, agent, team_id, user_id)
    VALUES ($id, $keyId, $labels, $selector, $payer, $session, $agent, $team, $user)`);
const INSERT_TARIFF = sql('INSERT INTO tariffs (id, model, provider, upstream, price) VALUES (?, ?, ?, ?, ?)', {
  spooledAs: 'tariff',
});
const INSERT_FUND = sql(`INSERT INTO funds (id, kind, name, subject, definition, starts, ends, most, opening, after_seq)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);

/** The note on a correction of a reservation that expired first and was settled later. */
export const LATE = 'settled after it had expired';

/** The usage that is booked instead of an impossible usage, which might make an entry unwritable. */
const NO_USAGE = plainUsage(0, 0);

/** The number of a tariff, and the writer of bills at its price. */
interface NumberedTariff {
  readonly number: number;
  readonly bills: BillWriter;
}

/**
 * Makes the rows of the journal and adds up the sums. Each row gets its number in the order of events in memory. Rows are written in the
 * same order, so a reader that reads up to a row has all rows before that row. State: row numbers.
 */
export class Journal {
  readonly sums = new Sums();
  readonly accounts: AccountNumbers;
  readonly #store: Pick<SqlStore, 'append'>;
  readonly #tariffs: Numbers;
  /** The numbers of tariffs by object identity. Tariff objects are created once, so most lookups succeed here. */
  readonly #known = new WeakMap<Tariff, NumberedTariff>();
  /** Tariffs that got a number since the start, by number. */
  readonly #byNumber = new Map<number, Tariff>();
  #seq: number;
  #fundId: number;

  constructor(store: Pick<SqlStore, 'append'>, last: Pick<StateRow, 'seq' | 'account' | 'tariff' | 'fund'>) {
    this.#store = store;
    this.#seq = last.seq;
    this.#fundId = last.fund;
    this.#tariffs = new Numbers(last.tariff);
    this.accounts = new AccountNumbers(last.account, (row) => store.append([write(INSERT_ACCOUNT, { ...row })]));
  }

  /** The number of the last row. */
  get seq(): number {
    return this.#seq;
  }

  /** Returns the tariff with a number; null for a tariff that was not used since the start. */
  tariffOf(number: number): Tariff | null {
    return this.#byNumber.get(number) ?? null;
  }

  /**
   * Makes the row of a new reservation.
   * @param funds the funds that the reservation draws on at first
   * @param note the `agent_wallet` that the request named
   */
  reserve(made: BookedReservation, at: number, funds: string | null, note: string | null): SqlWrite {
    const { id, account, first, owner, expires } = made;
    const params = [++this.#seq, 'reserve', id, account.id, first, at, funds, owner, expires];
    // Most requests have no note, so their statement binds one value less.
    if (note === null) return { statement: INSERT_RESERVE, params };
    return { statement: INSERT_NOTED_RESERVE, params: [...params, note] };
  }

  raise(id: number, account: number, by: Microcredits, step: number, at: number): SqlWrite {
    return write(INSERT_HOLDING, ++this.#seq, 'raise', id, account, by, at, null, step);
  }

  /** Makes the row that moves an open reservation to other funds. */
  attach(id: number, account: number, at: number, funds: string | null): SqlWrite {
    return write(INSERT_HOLDING, ++this.#seq, 'attach', id, account, 0, at, funds, null);
  }

  /** Makes the row that closes a reservation without a model, and adds its charge to the sums. */
  closing(
    { id, account, funds }: BookedReservation,
    kind: 'settle' | 'expire',
    charged: Microcredits,
    at: number,
  ): SqlWrite {
    const charge = { reservation: id, tariff: 0, microcredits: charged, input: 0, output: 0 };
    if (charged > 0) this.sums.add(account, charge, funds);
    return write(INSERT_BARE, ++this.#seq, kind, id, account.id, charged, at);
  }

  /**
   * Adds the rows of an attempt and of its overrun, and adds the charge to the sums.
   * @param step the step of a post; null for a settlement
   */
  charge(
    { id, account, funds }: BookedReservation,
    step: number | null,
    { charged, excess }: { readonly charged: Microcredits; readonly excess: Microcredits },
    { tariff, usage, estimated, pricedAt, cost, stated }: EntryLine,
    at: number,
    into: Write[],
  ): void {
    const { number, bills } = this.#known.get(tariff) ?? this.#numbered(tariff);
    const figures = isPlausible(usage) ? usage : NO_USAGE;
    const { inputTokens: input, outputTokens: output } = figures;
    const isEstimated = estimated ? 1 : 0;
    this.sums.add(account, { reservation: id, tariff: number, microcredits: charged, input, output }, funds);
    const compared = stated !== undefined && isCost(cost) ? { stated, cost } : undefined;
    if (compared !== undefined) this.sums.addStated(account, compared);
    const bill = bills.text(figures, pricedAt, compared);
    // Most attempts are settlements, so their statement binds one value less.
    into.push(
      step === null
        ? write(INSERT_CHARGE, ++this.#seq, 'settle', id, account.id, charged, at, number, bill, isEstimated)
        : write(INSERT_POST, ++this.#seq, 'post', id, account.id, charged, at, number, bill, isEstimated, step),
    );
    if (excess > 0)
      into.push(write(INSERT_CHARGE, ++this.#seq, 'overrun', id, account.id, excess, at, number, null, isEstimated));
  }

  /** Makes the row of a grant or a correction. */
  adjusting(adjustment: Adjustment, account: number, at: number, funds: string | null): SqlWrite {
    const { kind, reservation, amount, note } = adjustment;
    return write(INSERT_NOTED, ++this.#seq, kind, reservation, account, amount, at, funds, note);
  }

  /**
   * Adds the rows of a correction by the books themselves, for a reservation that was settled after it had expired.
   * @param by microcredits; negative for a refund
   */
  correct(made: BookedReservation, by: Microcredits, time: number, into: Write[]): void {
    const { id: reservation, account, funds } = made;
    const keyId = account.dimensions.key ?? '';
    const asked = { kind: 'correct', keyId, reservation, account: account.id, amount: by, note: LATE, time } as const;
    into.push(insertAdopted(asked));
    into.push(this.adjusting(asked, account.id, time, this.idsOf(funds)));
    this.sums.add(account, { reservation, tariff: 0, microcredits: by, input: 0, output: 0 }, funds);
  }

  /** Makes the row of a deposit or a fee. */
  paid(kind: 'deposit' | 'fee', account: number, amount: Microcredits, at: number, note: string): SqlWrite {
    return write(INSERT_PAID, ++this.#seq, kind, null, account, amount, at, note);
  }

  /** Returns the IDs of funds in the format of the journal; null for no funds. A fund without a row gets a row. */
  idsOf(funds: readonly BookedFund[]): string | null {
    if (funds.length === 0) return null;
    for (const fund of funds) if (fund.rowId === 0) this.#introduce(fund);
    return funds.map(({ rowId }) => rowId).join(' ');
  }

  /** Returns the IDs of drawn funds, and caches them. */
  idsOfDrawn(drawn: FundDraw): string | null {
    if (drawn.ids === undefined) drawn.ids = this.idsOf(drawn.funds);
    return drawn.ids;
  }

  #introduce(fund: BookedFund): void {
    const { kind, name, subject, definition, starts, ends } = fund.title;
    fund.rowId = ++this.#fundId;
    const most = kind === 'balance' ? 0 : fund.limit;
    const end = Number.isFinite(ends) ? ends : null;
    const title = [kind, name, subject, definition, starts, end] as const;
    this.#store.append([write(INSERT_FUND, fund.rowId, ...title, most, fund.spent, this.#seq)]);
  }

  /** Returns the number of a tariff that is not known by identity. */
  #numbered(tariff: Tariff): NumberedTariff {
    const { model, provider, upstream, price } = tariff;
    const number = this.#tariffs.of(JSON.stringify([model, provider, upstream, price]), (id) =>
      this.#store.append([write(INSERT_TARIFF, id, model, provider, upstream, price)]),
    );
    const known = { number, bills: new BillWriter(readPrice(price)) };
    this.#known.set(tariff, known);
    this.#byNumber.set(number, tariff);
    return known;
  }
}
