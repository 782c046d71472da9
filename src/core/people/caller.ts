import { OPERATION_NAMES, OPERATIONS } from '../kinds/operations.ts';
import type { ExhaustedAction, Forecast, RollingWindow, WindowKind } from '../money/budget.ts';
import type { Microcredits } from '../money/credits.ts';
import type { Role } from './role.ts';

/** Scopes that one key may have together. The key that the first start creates has all these scopes. */
export const FULL_SCOPES = [...OPERATION_NAMES, 'route', 'admin'] as const;
/**
 * A permission of a key. `delegate`: the key can create child keys, each with at most its own permissions. `report` cannot be combined with
 * other scopes: a key with `report` reads figures of all keys, and neither spends nor changes anything.
 */
export const SCOPES = [...FULL_SCOPES, 'delegate', 'report'] as const;
export type Scope = (typeof SCOPES)[number];

const IN_CHAT: readonly Scope[] = OPERATION_NAMES.filter((name) => OPERATIONS[name].isInChat);

/** Returns everything that a key's scopes permit. The scope `chat` includes the scopes of some other operations. */
export const permissionsOf = (scopes: readonly Scope[]): ReadonlySet<Scope> =>
  new Set(scopes.includes('chat') ? [...scopes, ...IN_CHAT] : scopes);

/** Returns scopes without the scopes that another one of them includes. */
export const withoutIncluded = (scopes: readonly Scope[]): readonly Scope[] =>
  scopes.includes('chat') ? scopes.filter((scope) => !IN_CHAT.includes(scope)) : scopes;

/** How fast a key may be used, in addition to the policy's limits; null for a figure that only the policy limits. */
export interface KeyLimits {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly concurrentStreams: number | null;
}

/** A limit on what one key may spend in a window. The budget of a key belongs to the key, not to the policy. */
export interface KeyBudget {
  readonly limit: Microcredits;
  readonly window: WindowKind;
  /** The windows of a budget whose `window` is `every`; absent for others. */
  readonly every?: RollingWindow;
  /** IANA name of the time zone. */
  readonly timeZone: string;
  readonly onExhausted: ExhaustedAction;
  /**
   * When the budget ends, ms since 1970; absent for never. Until then, the budgets of the key that have the same kind of window and no end
   * do not apply.
   */
  readonly until?: number;
  /** The amount spent at another gateway; absent for nothing. */
  readonly opening?: Opening;
}

/** An amount that a key spent before it was imported. It counts in the budget, and in no report, because nothing was charged here. */
export interface Opening {
  readonly spent: Microcredits;
  /** The end of the window in which it was spent, ms since 1970; null for a budget whose window never ends. */
  readonly until: number | null;
}

/** Returns the part of a budget that was spent at another gateway in the current window. @param now ms since 1970 */
export const openingOf = ({ opening }: KeyBudget, now: number): Microcredits =>
  opening && (opening.until ?? Number.POSITIVE_INFINITY) > now ? opening.spent : 0;

/** Returns the budgets that have not ended. @param now ms since 1970 */
export const unendedBudgets = (budgets: readonly KeyBudget[], now: number): readonly KeyBudget[] =>
  budgets.filter(({ until = Number.POSITIVE_INFINITY }) => until > now);

/** Returns the budgets that apply at a moment, each with what is left after its opening. @param now ms since 1970 */
export function budgetsAt(budgets: readonly KeyBudget[], now: number): readonly KeyBudget[] {
  const unended = unendedBudgets(budgets, now);
  const replaced = new Set(unended.flatMap(({ until, window }) => (until === undefined ? [] : [window])));
  const applying = unended.filter(({ until, window }) => until !== undefined || !replaced.has(window));
  return applying.map((budget) => {
    const opening = openingOf(budget, now);
    return opening === 0 ? budget : { ...budget, limit: Math.max(0, budget.limit - opening) };
  });
}

/** How full a key's budget is in the current window. */
export interface BudgetUse {
  readonly budget: KeyBudget;
  readonly spent: Microcredits;
  readonly forecast: Forecast;
  /** When the next window begins, ms since 1970; Infinity for never. */
  readonly renewsAt: number;
}

/** The levels that can have terms such as limits and budgets, the widest first. The level `key` includes the keys above it. */
export const HOLDER_KINDS = ['organization', 'team', 'user', 'key'] as const;
export type HolderKind = (typeof HOLDER_KINDS)[number];

/** A level above the caller's key, whose terms apply to its requests. */
export interface CallerLevel {
  readonly kind: Exclude<HolderKind, 'key'>;
  readonly id: string;
  /** The name that the caller is shown; '' for the organization. */
  readonly name: string;
  /** IDs of the models that the level allows; null for all. */
  readonly models: ReadonlySet<string> | null;
  /** Limits of this level; null if it has none of its own. */
  readonly limits: KeyLimits | null;
  /** Role of the user; absent for other levels. */
  readonly role?: Role;
}

/** A key with its own budgets. */
export interface KeyBudgets {
  readonly keyId: string;
  readonly budgets: readonly KeyBudget[];
}

/** The sender of a request: an API key without its secret, or a wallet that proves itself by its payments. */
export interface Caller {
  /** ID of the key. For a wallet, `keyId` is its address, whether the wallet signs its payments or uses a key: both count as one caller. */
  readonly keyId: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly labels: Readonly<Record<string, string>>;
  /** IDs of the models that the key may use; null for all. */
  readonly models: ReadonlySet<string> | null;
  /** IDs of the models that the key may not use, whatever else allows them; absent for none. */
  readonly notModels?: ReadonlySet<string>;
  /** Limits of the key itself; null for none. */
  readonly limits: KeyLimits | null;
  /** The budgets of the key itself. Budgets of the policy also apply to the key. */
  readonly budgets: readonly KeyBudget[];
  /** Addresses of the wallets that requests with this key may name; absent for all. */
  readonly holders?: ReadonlySet<string>;
  /** Role of a person or a workload. `role` is absent for a key, whose role follows from its scopes. */
  readonly role?: Role;
  /** ID of the caller's team. */
  readonly team?: string;
  /** The ID of the caller's user. */
  readonly user?: string;
  /** IDs of the keys above the caller's key, the parent first. */
  readonly line?: readonly string[];
  /** The key that created the caller's key, with its current terms; absent for a key without a parent. */
  readonly parent?: Caller;
  /**
   * The levels whose terms also apply to the caller: its user, its team, the organization. `levels` is absent for a caller without such
   * levels.
   */
  readonly levels?: readonly CallerLevel[];
}

/** Returns the ID of the top key of a caller's line. All keys of a line count as one caller where a resource is shared among callers. */
export const rootOf = ({ keyId, line }: Pick<Caller, 'keyId' | 'line'>): string => line?.at(-1) ?? keyId;

/** Returns the role of a caller: the role of a person or token, or the role that follows from a key's scopes. */
export function roleOf({ role, scopes }: Pick<Caller, 'role' | 'scopes'>): Role {
  if (role) return role;
  if (scopes.has('admin')) return 'owner';
  return scopes.has('report') ? 'report' : 'caller';
}

/** Whether the caller operates the server. Only operators see names of environment variables and why a model is unavailable. */
export function isOperator(caller: Pick<Caller, 'role' | 'scopes'>): boolean {
  const role = roleOf(caller);
  return role === 'owner' || role === 'admin';
}

const UNLIMITED = { labels: {}, models: null, limits: null, budgets: [] } as const;

/** The operator, who may see and use everything. */
export const OPERATOR: Caller = { keyId: '', scopes: new Set(FULL_SCOPES), ...UNLIMITED };

const HOLDER_SCOPES = permissionsOf(['chat', 'route']);

/** Makes the caller for a wallet that has proved itself. */
export const holderCaller = (holder: string): Caller => ({ keyId: holder, scopes: HOLDER_SCOPES, ...UNLIMITED });

/**
 * Prefix of labels that a parent key may set on its child keys. Operators cannot set labels with this prefix on a key, so a condition of
 * the policy that names no such label does not depend on child keys.
 */
export const CHILD_LABEL = 'child.';

/** Rate limits in the form in which they are shown and stored. */
export function limitsBody({ requestsPerMinute, tokensPerMinute, concurrentStreams }: KeyLimits) {
  return {
    requests_per_minute: requestsPerMinute,
    tokens_per_minute: tokensPerMinute,
    concurrent_streams: concurrentStreams,
  };
}
