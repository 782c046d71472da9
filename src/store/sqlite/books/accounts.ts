import type { Dimensions } from '../../../core/accounting/entry.ts';
import { type AccountRow, accountOf } from '../../account-row.ts';
import type { Spender } from './sums.ts';
import type { NumberedAccount } from './tables.ts';

/** The most texts in memory. A text that was removed from memory gets a new number, which is harmless. */
const KNOWN_MAX = 10_000;

/** Gives numbers to texts that occur repeatedly. State: row numbers. */
export class Numbers {
  readonly #known = new Map<string, number>();
  #last: number;

  /** @param last the greatest number in use */
  constructor(last: number) {
    this.#last = last;
  }

  /** Returns the number of a text. If the text gets a new number, calls `onNew` with this number. */
  of(text: string, onNew: (id: number) => void): number {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    if (this.#known.size >= KNOWN_MAX) this.#known.clear();
    const id = ++this.#last;
    this.#known.set(text, id);
    onNew(id);
    return id;
  }
}

/** The numbers with which rows refer to accounts (the dimensions of entries). */
export class AccountNumbers {
  readonly #numbers: Numbers;
  readonly #onNew: (row: NumberedAccount) => void;
  readonly #known = new WeakMap<Dimensions, Spender>();
  readonly #holders = new Map<number, string>();

  /** @param last the greatest number in use */
  constructor(last: number, onNew: (row: NumberedAccount) => void) {
    this.#numbers = new Numbers(last);
    this.#onNew = onNew;
  }

  of(dimensions: Dimensions): Spender {
    let account = this.#known.get(dimensions);
    if (!account) {
      account = { id: this.#numberOf(accountOf(dimensions)), dimensions, sum: null };
      this.#known.set(dimensions, account);
    }
    return account;
  }

  /** Returns the account number for grants to a key and for deposits of a holder. */
  numberOfHolder(keyId: string): number {
    const number = this.#numberOf({ ...OF_HOLDER, keyId, labels: '{}', selector: '' });
    if (this.#holders.size >= KNOWN_MAX) this.#holders.clear();
    this.#holders.set(number, keyId);
    return number;
  }

  /** Returns the holder of a number that was recently returned; null for any other number. */
  holderOf(number: number): string | null {
    return this.#holders.get(number) ?? null;
  }

  #numberOf(row: AccountRow): number {
    const { keyId, labels, selector, payer, session, agent, team, user } = row;
    return this.#numbers.of(JSON.stringify([keyId, labels, selector, payer, session, agent, team, user]), (id) =>
      this.#onNew({ id, ...row }),
    );
  }
}

const OF_HOLDER = { payer: null, session: null, agent: null, team: null, user: null };
