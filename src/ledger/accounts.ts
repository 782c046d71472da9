import { type Dimensions, LABEL, labelsOf } from '../core/accounting/entry.ts';
import type { BudgetScope } from '../core/budget.ts';
import { type Caller, CHILD_LABEL } from '../core/caller.ts';
import type { KeyLines } from '../core/holder.ts';
import { checkedHolder } from '../core/holder-address.ts';
import type { DrawnFund } from './drawn-fund.ts';

/** A spender: a key with its labels, or another holder of funds, by one selector. */
export interface Account {
  /** As entries name it. */
  readonly dimensions: Dimensions;
  readonly keyId: string;
  /** The holder of the balance that pays: the caller itself, who pays in its place, or a key that it descends from. */
  readonly holder: string;
  /** The facts that conditions of budgets read; behind the key's own, those of the keys that it descends from. */
  readonly scopes: BudgetScopes;
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
  readonly #hasBalance: (holder: string) => boolean;
  readonly #lineOf: KeyLines['lineOf'];
  readonly #byCaller = new WeakMap<Caller, CallerAccounts>();

  /** @param hasBalance whether something was ever granted to a holder or paid in by it */
  constructor(hasBalance: (holder: string) => boolean, lineOf: KeyLines['lineOf']) {
    this.#hasBalance = hasBalance;
    this.#lineOf = lineOf;
  }

  /**
   * @param holder the holder whose balance pays in place of the caller's own, which budgets do not see; null for none
   * @param session '' for none
   * @param agent '' for none
   * @throws RangeError for a holder that is no address
   */
  of(caller: Caller, selector: string, holder: string | null, session = '', agent = ''): Account {
    const none = { caller, holder: null, lineOf: this.#lineOf };
    if (holder !== null && holder !== caller.keyId)
      return newAccount({ ...none, holder: checkedHolder(holder) }, selector, { session, agent });
    const own = this.#byCaller.getOrInsertComputed(caller, () => accountsOf(none));
    const above = caller.line ? this.#payerAbove(caller.keyId, caller.line) : null;
    const accounts =
      above === null ? own : own.byPayer.getOrInsertComputed(above, () => accountsOf({ ...none, holder: above }));
    return session === '' && agent === ''
      ? accountBy(selector, accounts)
      : accountIn({ session, agent }, selector, accounts);
  }

  /** The nearest key of a line that has a balance, where the key itself has none: one balance pays for a request. */
  #payerAbove(keyId: string, line: readonly string[]): string | null {
    return this.#hasBalance(keyId) ? null : (line.find(this.#hasBalance) ?? null);
  }
}

/** Who spends, and whose balance pays: null for the caller's own. */
interface Payer {
  readonly caller: Caller;
  readonly holder: string | null;
  readonly lineOf: KeyLines['lineOf'];
}

/** Facts for conditions of budgets, first those of the key itself. */
export type BudgetScopes = readonly [own: BudgetScope, ...above: BudgetScope[]];

interface CallerAccounts {
  readonly payer: Payer;
  readonly bySelector: Map<string, Account>;
  /** By session, agent and selector, the oldest first. */
  readonly bySession: Map<string, Account>;
  /** By the key above the caller whose balance pays. */
  readonly byPayer: Map<string, CallerAccounts>;
}

const accountsOf = (payer: Payer): CallerAccounts => ({
  payer,
  bySelector: new Map(),
  bySession: new Map(),
  byPayer: new Map(),
});

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

/** The account of entries. */
export function accountOf(dimensions: Dimensions, lineOf: KeyLines['lineOf']): Account {
  const { key = '', holder } = dimensions;
  const scopes = scopesOfEntries(dimensions, lineOf);
  return { dimensions, keyId: key, holder: holder ?? key, scopes, funds: [], epoch: -1, from: 0, until: 0 };
}

/** Whose requests a budget judges. */
export interface BudgetedKey extends Pick<Caller, 'keyId' | 'labels'> {
  /** IDs. */
  readonly team?: string | null | undefined;
  readonly user?: string | null | undefined;
}

/** Returns the facts of a key that requests a model by this name, for conditions of budgets. */
export function scopeOf({ keyId, labels, team, user }: BudgetedKey, selector: string, session = ''): BudgetScope {
  return {
    request: { model: selector, session },
    key: { id: keyId, labels: new Map(Object.entries(labels)) },
    team: { id: team ?? '' },
    user: { id: user ?? '' },
  };
}

/** Returns the facts of entries, for conditions of budgets. */
export function scopesOfEntries(dimensions: Dimensions, lineOf: KeyLines['lineOf']): BudgetScopes {
  const { key: keyId = '', selector = '', session, team, user } = dimensions;
  return scopesOf(scopeOf({ keyId, labels: labelsOf(dimensions), team, user }, selector, session), lineOf);
}

/**
 * Adds the facts of the same request as if the keys above had sent it, so that more keys of a line have no more than one: without the
 * labels that keys give their children.
 */
function scopesOf(own: BudgetScope, lineOf: KeyLines['lineOf']): BudgetScopes {
  const line = lineOf(own.key.id);
  if (line.length === 0) return [own];
  const first = { ...own, key: { ...own.key, line } };
  const labels = new Map([...own.key.labels].filter(([name]) => !name.startsWith(CHILD_LABEL)));
  return [first, ...line.map((id, at) => ({ ...own, key: { id, labels, line: line.slice(at + 1) } }))];
}
