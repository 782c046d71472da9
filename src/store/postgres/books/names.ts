import type { Dimensions, Tariff } from '../../../core/accounting/entry.ts';
import type { FundRef } from '../../../core/accounting/fund.ts';
import type { Budget } from '../../../core/money/budget.ts';
import { accountOf } from '../../account-row.ts';
import type { FundAnswer } from './known-funds.ts';

/**
 * Runs a read, or a write that may safely run twice.
 * @throws StoreError by rejecting
 */
export type BooksQuery = <Row>(text: string, values: readonly (string | number | null)[]) => Promise<readonly Row[]>;

/** The number of IDs that are cached for accounts, tariffs or funds. A full cache is cleared. */
const KNOWN_MAX = 50_000;

/**
 * The SHA-256 of a text, by which the database finds the row. Other versions of Signalbox compute the same digest, so neither the digest
 * nor the texts may ever change.
 */
export const digestOf = (text: string): string => new Bun.CryptoHasher('sha256').update(text).digest('hex');
export const accountText = (dimensions: Dimensions): string => JSON.stringify(accountOf(dimensions));
export const tariffText = ({ model, provider, upstream, price }: Tariff): string =>
  JSON.stringify([model, provider, upstream, price]);
export const budgetText = ({ name, definition }: Pick<Budget, 'name' | 'definition'>): string =>
  JSON.stringify([name, definition]);
export const balanceText = (holder: string): string => `balance/${holder}`;

/** A cache of the IDs that the database has given to the accounts, tariffs or funds, found by their text. */
class Numbers<Thing extends object> {
  readonly #known = new WeakMap<Thing, number>();
  readonly #byText = new Map<string, number>();
  readonly #textOf: (thing: Thing) => string;

  constructor(textOf: (thing: Thing) => string) {
    this.#textOf = textOf;
  }

  /** @returns the ID, or undefined if the ID is not cached */
  find(thing: Thing): number | undefined {
    const known = this.#known.get(thing);
    if (known !== undefined) return known;
    const number = this.#byText.get(this.#textOf(thing));
    if (number !== undefined) this.#known.set(thing, number);
    return number;
  }

  /** Caches an ID that another query has read. */
  know(thing: Thing, number: number): void {
    this.#byText.set(this.#textOf(thing), number);
  }

  /**
   * Requests the IDs of accounts, tariffs or funds from the database, which creates missing rows.
   * @param ask resolves with the IDs by digest
   */
  async learn(
    things: readonly Thing[],
    ask: (
      things: readonly { readonly digest: string; readonly thing: Thing }[],
    ) => Promise<ReadonlyMap<string, number>>,
  ): Promise<void> {
    const texts = new Map(things.map((thing) => [this.#textOf(thing), thing] as const));
    if (this.#byText.size + texts.size > KNOWN_MAX) this.#byText.clear();
    const asked = [...texts].map(([text, thing]) => ({ text, thing, digest: digestOf(text) }));
    const numbers = await ask(asked);
    for (const { text, digest } of asked) this.#byText.set(text, numbers.get(digest)!);
  }
}

interface NumberRow {
  readonly digest: string;
  readonly id: number;
}

/**
 * The IDs of the accounts, tariffs and funds that operations name. The database refers to accounts, tariffs and funds by ID. State: row
 * numbers.
 */
export class Names {
  readonly accounts = new Numbers<Dimensions>(accountText);
  readonly tariffs = new Numbers<Tariff>(tariffText);
  readonly funds = new Numbers<FundRef>(({ key }) => key);
  readonly #query: BooksQuery;
  readonly #onFund: (ref: FundRef, figures: FundAnswer) => void;

  /** @param onFund called for each fund whose ID `learnFunds` reads, with its figures */
  constructor(query: BooksQuery, onFund: (ref: FundRef, figures: FundAnswer) => void) {
    this.#query = query;
    this.#onFund = onFund;
  }

  async learnAccounts(all: readonly Dimensions[]): Promise<void> {
    await this.accounts.learn(all, (asked) =>
      this.#number(
        'ledger_accounts_1',
        asked.map(({ digest, thing }) => ({ digest, ...accountOf(thing) })),
      ),
    );
  }

  async learnTariffs(all: readonly Tariff[]): Promise<void> {
    await this.tariffs.learn(all, (asked) =>
      this.#number(
        'ledger_tariffs_1',
        asked.map(({ digest, thing: { model, provider, upstream, price } }) => ({
          digest,
          model,
          provider,
          upstream,
          price,
        })),
      ),
    );
  }

  async learnFunds(all: readonly FundRef[]): Promise<void> {
    await this.funds.learn(all, async (asked) => {
      const rows = asked.map(({ digest, thing: { title, budget, limit } }) => {
        const { kind, name, subject, definition, starts, ends } = title;
        const most = kind === 'balance' ? 0 : limit;
        return { digest, kind, name, subject, definition, starts, ends: finite(ends), budget, most };
      });
      const found = await this.#query<NumberRow & Record<'most' | 'spent' | 'held' | 'is_opened', number>>(
        'SELECT * FROM ledger_funds_1($1::jsonb)',
        [JSON.stringify(rows)],
      );
      const refs = new Map(asked.map(({ digest, thing }) => [digest, thing]));
      for (const { digest, id, most, spent, held, is_opened } of found)
        this.#onFund(refs.get(digest)!, [id, most, spent, held, is_opened === 1]);
      return numbersOf(found);
    });
  }

  async #number(name: string, rows: readonly object[]): Promise<ReadonlyMap<string, number>> {
    return numbersOf(await this.#query<NumberRow>(`SELECT * FROM ${name}($1::jsonb)`, [JSON.stringify(rows)]));
  }
}

const numbersOf = (rows: readonly NumberRow[]) => new Map(rows.map(({ digest, id }) => [digest, id]));
const finite = (time: number): number | null => (Number.isFinite(time) ? time : null);
