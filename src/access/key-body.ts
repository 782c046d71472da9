import { type BudgetUse, limitsBody } from '../core/caller.ts';
import { iso } from '../core/clock.ts';
import type { KeyInfo } from '../store/keys.ts';
import type { StoredBalance } from '../store/ledger-table.ts';
import { keyStateOf } from './key-entry.ts';
import { budgetBody } from './terms.ts';

const NO_LIMITS = { requestsPerMinute: null, tokensPerMinute: null, concurrentStreams: null };

/** A key as the commands' `--json` and `/admin/keys` show it. Contains no secret. */
export function keyBody(info: KeyInfo, now: number) {
  const { overlapEndsAt } = info;
  return {
    id: info.id,
    name: info.name,
    state: keyStateOf(info.inForce ?? info, now),
    scopes: info.scopes,
    labels: info.labels,
    models: info.models,
    limits: limitsBody(info.limits ?? NO_LIMITS),
    budgets: info.budgets.map(budgetBody),
    wallets: info.holders,
    wallet: info.holder,
    parent: info.parent,
    team: info.team,
    user: info.user,
    created_at: iso(info.createdAt),
    expires_at: isoOrNull(info.expiresAt),
    suspended_at: isoOrNull(info.suspendedAt),
    revoked_at: isoOrNull(info.revokedAt),
    last_used_at: isoOrNull(info.lastUsedAt),
    rotated_at: isoOrNull(info.rotatedAt),
    // After the overlap only one secret works.
    overlap_ends_at: overlapEndsAt !== null && overlapEndsAt > now ? iso(overlapEndsAt) : null,
  };
}

/** The terms of a new key, for the trail. */
export function termsBody(info: KeyInfo) {
  const { name, scopes, labels, models, limits, budgets, holders, holder, expiresAt, parent, team, user } = info;
  return {
    ...{ name, scopes, labels, models },
    limits: limits && limitsBody(limits),
    budgets: budgets.map(budgetBody),
    wallets: holders,
    wallet: holder,
    expires_at: isoOrNull(expiresAt),
    ...{ parent, team, user },
  };
}

/** The same with the state that an operator can change. */
export const changeableBody = (info: KeyInfo) => ({
  ...termsBody(info),
  suspended_at: isoOrNull(info.suspendedAt),
});

/** The balance shown for a key. A holder without a balance has 0: it is never billed afterwards. */
export const visibleBalance = ({ holder }: KeyInfo, balance: StoredBalance | null): StoredBalance | null =>
  balance ?? (holder === null ? null : { granted: 0, spent: 0 });

/** The money of a key; `balance` is null for a key without grants. */
export interface KeyFunds {
  readonly uses: readonly BudgetUse[];
  readonly balance: StoredBalance | null;
  /** The worth of a Credit; null in a database that never had a policy. */
  readonly usdPerCredit: string | null;
}

const isoOrNull = (time: number | null): string | null => (time === null ? null : iso(time));
