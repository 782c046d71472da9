import type { BudgetScope } from '../core/budget.ts';
import type { Caller } from '../core/caller.ts';
import { isWallet } from '../core/wallet.ts';
import type { DrawnFund } from './drawn-fund.ts';
import { type Dimensions, LABEL, labelsOf } from './rules/entry.ts';

/** A spender: a key with its labels, or a wallet, by one selector. */
export interface Account {
  /** As entries name it. */
  readonly dimensions: Dimensions;
  readonly keyId: string;
  /** The holder of the balance that pays: the key or wallet itself, or the wallet that pays in its place. */
  readonly holder: string;
  /** The facts that conditions of budgets read. */
  readonly scope: BudgetScope;
  /** Cached: the funds that it draws on from `from` until before `until`, ms since 1970, while `epoch` is the present one. */
  funds: readonly DrawnFund[];
  epoch: number;
  from: number;
  until: number;
}

/** The accounts of callers, each made once. */
export class Accounts {
  readonly #byCaller = new WeakMap<Caller, Map<string, Account>>();

  /**
   * @param payer the wallet whose balance pays in place of the caller's own, which budgets do not see; null for none
   * @throws RangeError for a payer that is no wallet
   */
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
}

/** Addresses are in lower case. Another spelling would name a payer without a balance, and so without a limit. */
function payerOf(wallet: string): string {
  if (!isWallet(wallet)) throw new RangeError(`not the address of a wallet in lower case: ${wallet}`);
  return wallet;
}

function newAccount({ keyId, labels }: Caller, selector: string, payer: string | null): Account {
  const dimensions: Record<string, string> = { key: keyId, selector };
  if (payer !== null) dimensions.payer = payer;
  for (const [name, value] of Object.entries(labels)) dimensions[LABEL + name] = value;
  return accountOf(dimensions);
}

/** The account of entries. */
export function accountOf(dimensions: Dimensions): Account {
  const { key = '', payer } = dimensions;
  const scope = scopeOfEntries(dimensions);
  return { dimensions, keyId: key, holder: payer ?? key, scope, funds: [], epoch: -1, from: 0, until: 0 };
}

/** Returns the facts of a key that requests a model by this name, for conditions of budgets. */
export function scopeOf(keyId: string, labels: Readonly<Record<string, string>>, selector: string): BudgetScope {
  return { request: { model: selector }, key: { id: keyId, labels: new Map(Object.entries(labels)) } };
}

/** Returns the facts of entries, for conditions of budgets. */
export function scopeOfEntries(dimensions: Dimensions): BudgetScope {
  const { key = '', selector = '' } = dimensions;
  return scopeOf(key, labelsOf(dimensions), selector);
}
