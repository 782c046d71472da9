import type { BudgetScope } from '../core/budget.ts';
import type { Caller } from '../core/caller.ts';
import { isWallet } from '../core/wallet.ts';
import type { Sum } from '../store/sqlite/books/sums.ts';
import type { AccountRow } from '../store/sqlite/books/tables.ts';
import type { Fund } from './rules/fund.ts';

/** Who spends: a key with its labels, or a wallet, by one selector. */
export interface Account {
  /** How entries name it; 0 until it has reserved something. */
  id: number;
  readonly row: Omit<AccountRow, 'id'>;
  readonly keyId: string;
  /** Whose balance pays: of the key or wallet itself, or of the wallet that pays in its place. */
  readonly holder: string;
  /** What budgets see of it. */
  readonly scope: BudgetScope;
  /** The funds that it draws on, as long as `epoch` is the present one, from `from` and before `until`, ms since 1970. */
  funds: readonly Fund[];
  /** Their rows' IDs as the journal has them; null for none, undefined while not all have one. */
  fundIds: string | null | undefined;
  epoch: number;
  from: number;
  until: number;
  /** What was added to last. */
  sum: Sum | null;
}

/** Texts remembered at most; what is forgotten gets another number, which harms nobody. */
const KNOWN_MAX = 10_000;

/** Gives numbers to texts that repeat. */
export class Numbers {
  readonly #known = new Map<string, number>();
  #last: number;

  /** `last`: the greatest number given before. */
  constructor(last: number) {
    this.#last = last;
  }

  /** The number of a text; `onNew` is told of one that is given now. */
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

/** The accounts of callers, each made once. */
export class Accounts {
  readonly #numbers: Numbers;
  readonly #onNew: (row: AccountRow) => void;
  readonly #byCaller = new WeakMap<Caller, Map<string, Account>>();

  /** `last`: the greatest number given before; `onNew` is told of an account that has a new one. */
  constructor(last: number, onNew: (row: AccountRow) => void) {
    this.#numbers = new Numbers(last);
    this.#onNew = onNew;
  }

  /** `payer`: the wallet whose balance pays in place of the caller's own, which budgets do not see. Throws RangeError for what is none. */
  of(caller: Caller, selector: string, payer: string | null): Account {
    if (payer !== null && payer !== caller.keyId) return newAccount(caller, selector, payerOf(payer));
    let accounts = this.#byCaller.get(caller);
    if (!accounts) {
      accounts = new Map();
      this.#byCaller.set(caller, accounts);
    }
    let account = accounts.get(selector);
    if (!account) {
      account = newAccount(caller, selector, null);
      accounts.set(selector, account);
    }
    return account;
  }

  /** Makes sure that an account has a number. */
  number(account: Account): void {
    if (account.id === 0) account.id = this.#numberOf(account.row);
  }

  /** The number that grants to a key, and deposits of a wallet, are booked under. */
  numberOfKey(keyId: string): number {
    return this.#numberOf({ keyId, labels: '{}', selector: '', payer: null });
  }

  #numberOf(row: Omit<AccountRow, 'id'>): number {
    const { keyId, labels, selector, payer } = row;
    return this.#numbers.of(JSON.stringify([keyId, labels, selector, payer]), (id) => this.#onNew({ id, ...row }));
  }
}

/** An address in capitals would be nobody's, and who has no balance is not limited by one. */
export function payerOf(wallet: string): string {
  if (!isWallet(wallet)) throw new RangeError(`not the address of a wallet in lower case: ${wallet}`);
  return wallet;
}

function newAccount({ keyId, labels }: Caller, selector: string, payer: string | null): Account {
  return made(0, { keyId, labels: JSON.stringify(labels), selector, payer }, scopeOf(keyId, labels, selector));
}

/** An account of the store. */
export function accountOf({ id, ...row }: AccountRow): Account {
  return made(id, row, scopeOf(row.keyId, labelsOf(row), row.selector));
}

function made(id: number, row: Account['row'], scope: BudgetScope): Account {
  const { keyId, payer } = row;
  const drawn = { funds: [], fundIds: null, epoch: -1, from: 0, until: 0 };
  return { id, row, keyId, holder: payer ?? keyId, scope, ...drawn, sum: null };
}

/** Labels of the store: written here alone. */
export const labelsOf = ({ labels }: { readonly labels: string }): Record<string, string> =>
  JSON.parse(labels) as Record<string, string>;

export function scopeOf(keyId: string, labels: Readonly<Record<string, string>>, selector: string): BudgetScope {
  return { request: { model: selector }, key: { id: keyId, labels: new Map(Object.entries(labels)) } };
}
