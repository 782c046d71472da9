import type { Microcredits } from '../../../core/credits.ts';
import { isPlausible, type Usage } from '../../../core/usage.ts';
import type { EntryLine, Tariff } from '../../../ledger/rules/entry.ts';
import type { JournalRow, OpenReservation } from '../../journal-reader.ts';
import type { Write } from '../../store.ts';
import type { SqlStore } from '../statement.ts';
import { AccountNumbers, Numbers } from './accounts.ts';
import type { BookedFund, FundDraw } from './fund-states.ts';
import { type Spender, Sums } from './sums.ts';
import {
  type Adjustment,
  insertAccount,
  insertAdjusting,
  insertCharge,
  insertClosing,
  insertFund,
  insertHolding,
  insertPaid,
  insertTariff,
  type TokenCounts,
} from './tables.ts';

/** The last numbers that were given. */
export interface LastNumbers {
  readonly seq: number;
  readonly account: number;
  readonly tariff: number;
  readonly fund: number;
}

const NO_TOKENS: TokenCounts = [0, 0, 0, 0, 0];

/**
 * Makes the rows of the journal: gives each its number, in the order in which things happen in memory, and keeps the
 * sums. Rows are written in the order of their numbers, so a reader up to one has all before it.
 */
export class Journal {
  readonly sums = new Sums();
  readonly accounts: AccountNumbers;
  readonly #store: Pick<SqlStore, 'append'>;
  readonly #tariffs: Numbers;
  /** Tariffs are made once, so most are known by identity. */
  readonly #known = new WeakMap<Tariff, number>();
  /** By number, of all that were given a number here. */
  readonly #numbered = new Map<number, Tariff>();
  #seq: number;
  #fundId: number;

  constructor(store: Pick<SqlStore, 'append'>, last: LastNumbers) {
    this.#store = store;
    this.#seq = last.seq;
    this.#fundId = last.fund;
    this.#tariffs = new Numbers(last.tariff);
    this.accounts = new AccountNumbers(last.account, (row) => store.append([insertAccount(row)]));
  }

  /** The number of the last row. */
  get seq(): number {
    return this.#seq;
  }

  /** Returns the tariff of a number; null for one that was not used since the start. */
  tariffOf(number: number): Tariff | null {
    return this.#numbered.get(number) ?? null;
  }

  /** @param note the `agent_wallet` that the request named */
  reserve(
    id: number,
    account: number,
    amount: Microcredits,
    at: number,
    funds: string | null,
    note: string | null,
  ): Write {
    return insertHolding(++this.#seq, 'reserve', id, account, amount, at, funds, note);
  }

  raise(id: number, account: number, by: Microcredits, at: number): Write {
    return insertHolding(++this.#seq, 'raise', id, account, by, at, null);
  }

  /** An open reservation draws on other funds. */
  attach(id: number, account: number, at: number, funds: string | null): Write {
    return insertHolding(++this.#seq, 'attach', id, account, 0, at, funds);
  }

  /** A closing that names no model; its charge is added to the sums. */
  closing(id: number, account: Spender, kind: 'settle' | 'expire', charged: Microcredits, at: number): Write {
    if (charged > 0) this.sums.add(account, { reservation: id, tariff: 0, microcredits: charged, input: 0, output: 0 });
    return insertClosing(++this.#seq, kind, id, account.id, charged, at);
  }

  /** The closing of a reservation that an earlier run left behind. */
  orphan(
    { reservation, account, keyId }: OpenReservation,
    charged: Microcredits,
    at: number,
  ): { row: JournalRow; write: Write } {
    const seq = ++this.#seq;
    const bare = { funds: null, tariff: null, input: null, output: null };
    return {
      row: { seq, kind: 'expire', reservation, account, keyId, amount: charged, time: at, ...bare },
      write: insertClosing(seq, 'expire', reservation, account, charged, at),
    };
  }

  /** Adds the rows of an attempt, and of what was billed beyond its charge, and adds it to the sums. */
  charge(
    id: number,
    account: Spender,
    kind: 'post' | 'settle',
    { charged, excess }: { readonly charged: Microcredits; readonly excess: Microcredits },
    { tariff, usage, estimated }: EntryLine,
    at: number,
    into: Write[],
  ): void {
    const number = this.#tariffOf(tariff);
    // Implausible figures must not make the entry unwritable.
    const tokens = isPlausible(usage) ? tokensOf(usage) : NO_TOKENS;
    const [input, , , output] = tokens;
    this.sums.add(account, { reservation: id, tariff: number, microcredits: charged, input, output });
    into.push(insertCharge(++this.#seq, kind, id, account.id, charged, at, number, tokens, estimated));
    if (excess > 0) {
      into.push(insertCharge(++this.#seq, 'overrun', id, account.id, excess, at, number, NO_TOKENS, estimated));
    }
  }

  /** A grant or a correction. */
  adjusting(adjustment: Adjustment, account: number, at: number, funds: string | null): Write {
    return insertAdjusting(++this.#seq, adjustment, account, at, funds);
  }

  /** A deposit or a fee. */
  paid(kind: 'deposit' | 'fee', account: number, amount: Microcredits, at: number, note: string): Write {
    return insertPaid(++this.#seq, kind, account, amount, at, note);
  }

  /** How the journal names a set of funds; null for none. Those without a row get one. */
  idsOf(funds: readonly BookedFund[]): string | null {
    if (funds.length === 0) return null;
    for (const fund of funds) if (fund.rowId === 0) this.#introduce(fund);
    return funds.map(({ rowId }) => rowId).join(' ');
  }

  /** The same, remembered. */
  idsOfDrawn(drawn: FundDraw): string | null {
    if (drawn.ids === undefined) drawn.ids = this.idsOf(drawn.funds);
    return drawn.ids;
  }

  #introduce(fund: BookedFund): void {
    const { kind, name, subject, definition, starts, ends } = fund.title;
    fund.rowId = ++this.#fundId;
    const row = {
      id: fund.rowId,
      kind,
      name,
      subject,
      definition,
      starts,
      ends: Number.isFinite(ends) ? ends : null,
      most: kind === 'balance' ? 0 : fund.limit,
      opening: fund.spent,
      afterSeq: this.#seq,
    };
    this.#store.append([insertFund(row)]);
  }

  #tariffOf(tariff: Tariff): number {
    let number = this.#known.get(tariff);
    if (number === undefined) {
      const { model, provider, upstream, price } = tariff;
      number = this.#tariffs.of(JSON.stringify([model, provider, upstream, price]), (id) =>
        this.#store.append([insertTariff(id, model, provider, upstream, price)]),
      );
      this.#known.set(tariff, number);
      this.#numbered.set(number, tariff);
    }
    return number;
  }
}

function tokensOf(usage: Usage): TokenCounts {
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens } = usage;
  return [inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens, reasoningTokens];
}
