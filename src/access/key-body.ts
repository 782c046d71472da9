import { type BudgetUse, limitsBody } from '../core/people/caller.ts';
import { snakeCase } from '../core/text/text.ts';
import { iso } from '../core/time/clock.ts';
import { KEY_TERMS, type KeyInfo } from '../store/keys.ts';
import type { StoredBalance } from '../store/ledger-table.ts';
import { budgetBody } from './terms.ts';

/** Maps each term of a key to its name in JSON bodies. */
export const BODY_NAMES = KEY_TERMS.map((term) => [term, term === 'holders' ? 'wallets' : snakeCase(term)] as const);

/** The terms of a new key, for the audit trail. */
export function termsBody(info: KeyInfo) {
  const { name, scopes, labels, models, limits, budgets, holders, holder, expiresAt, parent, team, user } = info;
  // Keep the order of the members: the tag of a key depends on it.
  const body = {
    name,
    scopes,
    labels,
    models,
    limits: limits && limitsBody(limits),
    budgets: budgets.map(budgetBody),
    wallets: holders,
    wallet: holder,
    expires_at: isoOrNull(expiresAt),
    parent,
    team,
    user,
  };
  const others = BODY_NAMES.filter(([, member]) => !(member in body));
  return { ...body, ...Object.fromEntries(others.map(([term, member]) => [member, info[term]])) };
}

/** The terms of a key with the states that an operator can change. */
export const changeableBody = (info: KeyInfo) => ({
  ...termsBody(info),
  suspended_at: isoOrNull(info.suspendedAt),
});

/** The balance shown for a key. A holder without a balance is shown with 0, because holders always pay in advance. */
export const visibleBalance = ({ holder }: KeyInfo, balance: StoredBalance | null): StoredBalance | null =>
  balance ?? (holder === null ? null : { granted: 0, spent: 0 });

/** The money of a key; `balance` is null for a key without grants. */
export interface KeyFunds {
  readonly uses: readonly BudgetUse[];
  readonly balance: StoredBalance | null;
  /** The value of a Credit; null in a database that never had a policy. */
  readonly usdPerCredit: string | null;
}

const isoOrNull = (time: number | null): string | null => (time === null ? null : iso(time));
