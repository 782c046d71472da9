import { type Dimensions, LABEL, labelsOf } from '../core/accounting/entry.ts';
import type { BudgetScope } from '../core/money/budget.ts';
import { checkedHolder } from '../core/money/holder-address.ts';
import { type Caller, CHILD_LABEL } from '../core/people/caller.ts';
import type { KeyLines } from '../core/people/holder.ts';
import type { DrawnFund } from './drawn-fund.ts';

/** A spender: a key with its labels, or a wallet, with the model name that it requests. */
export interface Account {
  /** The account in the form that journal entries store. */
  readonly dimensions: Dimensions;
  readonly keyId: string;
  /** The holder whose balance pays: the caller itself, a wallet that pays for it, or a parent key. */
  readonly holder: string;
  /** The facts that conditions of budgets read. The key's own facts come first, then the facts of its parent keys. */
  readonly scopes: BudgetScopes;
  /**
   * A cache: the funds that the account draws on for times in [`from`, `until`), ms since 1970. The cache is valid while `epoch` equals the
   * epoch of `Funds`.
   */
  funds: readonly DrawnFund[];
  epoch: number;
  from: number;
  until: number;
}

/** How many accounts of sessions and agents each caller keeps in memory. A dropped account is created again when it is needed. */
const SESSIONS_MAX = 1_000;

/**
 * The accounts of callers. Each account is created once; accounts of sessions may be dropped when too many sessions exist. State: accounts.
 */
export class Accounts {
  readonly #hasBalance: (holder: string) => boolean;
  readonly #lineOf: KeyLines['lineOf'];
  readonly #byCaller = new WeakMap<Caller, CallerAccounts>();

  /** @param hasBalance whether a holder was ever granted or paid in anything */
  constructor(hasBalance: (holder: string) => boolean, lineOf: KeyLines['lineOf']) {
    this.#hasBalance = hasBalance;
    this.#lineOf = lineOf;
  }

  /**
   * @param holder the wallet whose balance pays instead of the caller's own; null for none. The conditions of budgets do not see the wallet
   * that pays.
   * @param session '' for none
   * @param agent '' for none
   * @throws RangeError for a holder that is not a wallet address
   */
  of(caller: Caller, selector: string, holder: string | null, session = '', agent = ''): Account {
    if (holder !== null && holder !== caller.keyId) {
      const payer = { caller, holder: checkedHolder(holder), lineOf: this.#lineOf };
      return newAccount(payer, selector, { session, agent });
    }
    const accounts = this.#accountsOf(caller);
    return session === '' && agent === ''
      ? accountBy(selector, accounts)
      : accountIn({ session, agent }, selector, accounts);
  }

  #accountsOf(caller: Caller): CallerAccounts {
    let own = this.#byCaller.get(caller);
    if (!own) {
      own = accountsOf({ caller, holder: null, lineOf: this.#lineOf });
      this.#byCaller.set(caller, own);
    }
    const above = caller.line ? this.#payerAbove(caller.keyId, caller.line) : null;
    return above === null ? own : paidBy(above, own);
  }

  /** If the key has no balance, finds its nearest parent key with a balance. A request is paid from exactly one balance. */
  #payerAbove(keyId: string, line: readonly string[]): string | null {
    return this.#hasBalance(keyId) ? null : (line.find(this.#hasBalance) ?? null);
  }
}

/** The spender, and the holder whose balance pays; null for the spender's own balance. */
interface Payer {
  readonly caller: Caller;
  readonly holder: string | null;
  readonly lineOf: KeyLines['lineOf'];
}

/** Facts for conditions of budgets: first of the key itself, then of its parent keys. */
export type BudgetScopes = readonly [own: BudgetScope, ...above: BudgetScope[]];

interface CallerAccounts {
  readonly payer: Payer;
  readonly bySelector: Map<string, Account>;
  /** The accounts of sessions, by session, agent and selector, the oldest first. */
  readonly bySession: Map<string, Account>;
  /** The accounts for requests that a parent key pays for, by the ID of that key. */
  readonly byPayer: Map<string, CallerAccounts>;
}

const accountsOf = (payer: Payer): CallerAccounts => ({
  payer,
  bySelector: new Map(),
  bySession: new Map(),
  byPayer: new Map(),
});

/** Returns the accounts for requests that a parent key pays for. */
const paidBy = (holder: string, { payer, byPayer }: CallerAccounts): CallerAccounts =>
  byPayer.getOrInsertComputed(holder, () => accountsOf({ ...payer, holder }));

function accountBy(selector: string, { payer, bySelector }: CallerAccounts): Account {
  let account = bySelector.get(selector);
  if (!account) {
    account = newAccount(payer, selector, { session: '', agent: '' });
    bySelector.set(selector, account);
  }
  return account;
}

/** The session and the agent of a request; '' for none. */
type Run = Readonly<Record<'session' | 'agent', string>>;

function accountIn(run: Run, selector: string, { payer, bySession }: CallerAccounts): Account {
  const name = `${run.session} ${run.agent} ${selector}`;
  const known = bySession.get(name);
  const account = known ?? newAccount(payer, selector, run);
  if (known) bySession.delete(name);
  else if (bySession.size >= SESSIONS_MAX) bySession.delete(bySession.keys().next().value!);
  bySession.set(name, account);
  return account;
}

function newAccount({ caller, holder, lineOf }: Payer, selector: string, { session, agent }: Run): Account {
  const dimensions: Record<string, string> = { key: caller.keyId, selector };
  if (caller.team) dimensions.team = caller.team;
  if (caller.user) dimensions.user = caller.user;
  if (session !== '') dimensions.session = session;
  if (agent !== '') dimensions.agent = agent;
  if (holder !== null) dimensions.holder = holder;
  for (const [name, value] of Object.entries(caller.labels)) dimensions[LABEL + name] = value;
  return accountOf(dimensions, lineOf);
}

/** @returns the account that journal entries name */
export function accountOf(dimensions: Dimensions, lineOf: KeyLines['lineOf']): Account {
  const { key = '', holder } = dimensions;
  const scopes = scopesOfEntries(dimensions, lineOf);
  return { dimensions, keyId: key, holder: holder ?? key, scopes, funds: [], epoch: -1, from: 0, until: 0 };
}

/** A key as conditions of budgets see it. */
export interface BudgetedKey extends Pick<Caller, 'keyId' | 'labels'> {
  /** The IDs of the team and the user that the key belongs to. */
  readonly team?: string | null | undefined;
  readonly user?: string | null | undefined;
}

/** @returns the facts for conditions of budgets, for a key that requests a model by this name */
export function scopeOf({ keyId, labels, team, user }: BudgetedKey, selector: string, session = ''): BudgetScope {
  return {
    request: { model: selector, session },
    key: { id: keyId, labels: new Map(Object.entries(labels)) },
    team: { id: team ?? '' },
    user: { id: user ?? '' },
  };
}

/** @returns the facts for conditions of budgets, from the data that journal entries store about an account */
export function scopesOfEntries(dimensions: Dimensions, lineOf: KeyLines['lineOf']): BudgetScopes {
  const { key: keyId = '', selector = '', session, team, user } = dimensions;
  return scopesOf(scopeOf({ keyId, labels: labelsOf(dimensions), team, user }, selector, session), lineOf);
}

/**
 * Adds the facts of the same request as if each parent key had sent the request. A parent's budgets therefore limit all of its child keys
 * together. The facts leave out the labels that keys give to their child keys.
 */
function scopesOf(own: BudgetScope, lineOf: KeyLines['lineOf']): BudgetScopes {
  const line = lineOf(own.key.id);
  if (line.length === 0) return [own];
  const first = { ...own, key: { ...own.key, line } };
  const labels = new Map([...own.key.labels].filter(([name]) => !name.startsWith(CHILD_LABEL)));
  return [first, ...line.map((id, at) => ({ ...own, key: { id, labels, line: line.slice(at + 1) } }))];
}
