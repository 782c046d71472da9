import { type Dimensions, LABEL, labelsOf } from '../accounting/entry.ts';
import type { BudgetScope } from '../core/budget.ts';
import type { Caller } from '../core/caller.ts';
import { checkedHolder } from '../core/holder-address.ts';
import type { DrawnFund } from './drawn-fund.ts';

/** A spender: a key with its labels, or another holder of funds, by one selector. */
export interface Account {
  /** As entries name it. */
  readonly dimensions: Dimensions;
  readonly keyId: string;
  /** The holder of the balance that pays: the caller itself, or who pays in its place. */
  readonly holder: string;
  /** The facts that conditions of budgets read. */
  readonly scope: BudgetScope;
  /** Cached: the funds that it draws on from `from` until before `until`, ms since 1970, while `epoch` is the present one. */
  funds: readonly DrawnFund[];
  epoch: number;
  from: number;
  until: number;
}

/** Accounts of sessions and their agents that one caller has in memory. A forgotten one is made anew, which is harmless. */
const SESSIONS_MAX = 1_000;

/** The accounts of callers, each made once; those of sessions as long as there is room. State: accounts. */
export class Accounts {
  readonly #byCaller = new WeakMap<Caller, CallerAccounts>();

  /**
   * @param holder the holder whose balance pays in place of the caller's own, which budgets do not see; null for none
   * @param session '' for none
   * @param agent '' for none
   * @throws RangeError for a holder that is no address
   */
  of(caller: Caller, selector: string, holder: string | null, session = '', agent = ''): Account {
    if (holder !== null && holder !== caller.keyId)
      return newAccount(caller, selector, checkedHolder(holder), { session, agent });
    const accounts = this.#byCaller.getOrInsertComputed(caller, noAccounts);
    if (session === '' && agent === '') return accountBy(selector, accounts, caller);
    return accountIn({ session, agent }, selector, accounts, caller);
  }
}

interface CallerAccounts {
  readonly bySelector: Map<string, Account>;
  /** By session, agent and selector, the oldest first. */
  readonly bySession: Map<string, Account>;
}

const noAccounts = (): CallerAccounts => ({ bySelector: new Map(), bySession: new Map() });

function accountBy(selector: string, { bySelector }: CallerAccounts, caller: Caller): Account {
  let account = bySelector.get(selector);
  if (!account) {
    account = newAccount(caller, selector, null, { session: '', agent: '' });
    bySelector.set(selector, account);
  }
  return account;
}

/** The session and the agent of a request; '' for none. */
type Run = Readonly<Record<'session' | 'agent', string>>;

function accountIn(run: Run, selector: string, { bySession }: CallerAccounts, caller: Caller): Account {
  const name = `${run.session} ${run.agent} ${selector}`;
  const known = bySession.get(name);
  const account = known ?? newAccount(caller, selector, null, run);
  if (known) bySession.delete(name);
  else if (bySession.size >= SESSIONS_MAX) bySession.delete(bySession.keys().next().value!);
  bySession.set(name, account);
  return account;
}

function newAccount(caller: Caller, selector: string, holder: string | null, { session, agent }: Run): Account {
  const dimensions: Record<string, string> = { key: caller.keyId, selector };
  if (session !== '') dimensions.session = session;
  if (agent !== '') dimensions.agent = agent;
  if (holder !== null) dimensions.holder = holder;
  for (const [name, value] of Object.entries(caller.labels)) dimensions[LABEL + name] = value;
  return accountOf(dimensions);
}

/** The account of entries. */
export function accountOf(dimensions: Dimensions): Account {
  const { key = '', holder } = dimensions;
  const scope = scopeOfEntries(dimensions);
  return { dimensions, keyId: key, holder: holder ?? key, scope, funds: [], epoch: -1, from: 0, until: 0 };
}

/** Returns the facts of a key that requests a model by this name, for conditions of budgets. */
export function scopeOf(keyId: string, labels: Caller['labels'], selector: string, session = ''): BudgetScope {
  return { request: { model: selector, session }, key: { id: keyId, labels: new Map(Object.entries(labels)) } };
}

/** Returns the facts of entries, for conditions of budgets. */
export function scopeOfEntries(dimensions: Dimensions): BudgetScope {
  const { key = '', selector = '', session } = dimensions;
  return scopeOf(key, labelsOf(dimensions), selector, session);
}
