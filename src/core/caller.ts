import type { ExhaustedAction, Forecast, WindowKind } from './budget.ts';
import type { Microcredits } from './credits.ts';
import type { Role } from './role.ts';

/** Scopes that one key may have together, as the key of the first start has. */
export const FULL_SCOPES = ['chat', 'embed', 'route', 'admin'] as const;
/**
 * A permission of a key. `delegate`: makes keys below its own, each with no more than it has. `report` stands alone: such a key reads
 * figures of all keys, spends nothing and changes nothing.
 */
export const SCOPES = [...FULL_SCOPES, 'delegate', 'report'] as const;
export type Scope = (typeof SCOPES)[number];

/** Returns all that a key's scopes permit: who may chat may embed, so that keys from before embeddings can. */
export const permissionsOf = (scopes: readonly Scope[]): ReadonlySet<Scope> =>
  new Set(scopes.includes('chat') ? [...scopes, 'embed'] : scopes);

/** How fast a key may be used, whatever the policy allows; null for what only the policy limits. */
export interface KeyLimits {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly concurrentStreams: number | null;
}

/** A limit of a key's own on what it may spend in a window. */
export interface KeyBudget {
  readonly limit: Microcredits;
  readonly window: WindowKind;
  /** IANA name. */
  readonly timeZone: string;
  readonly onExhausted: ExhaustedAction;
}

/** How full a budget of a key is, in the window of a moment. */
export interface BudgetUse {
  readonly budget: KeyBudget;
  readonly spent: Microcredits;
  readonly forecast: Forecast;
  /** Milliseconds since 1970; Infinity for never. */
  readonly renewsAt: number;
}

/** The levels at which terms hold, the widest first. A key's are its own, and those of the keys that it descends from. */
export const HOLDER_KINDS = ['organization', 'team', 'user', 'key'] as const;
export type HolderKind = (typeof HOLDER_KINDS)[number];

/** A level above the keys of a caller, as its requests meet it. */
export interface CallerLevel {
  readonly kind: Exclude<HolderKind, 'key'>;
  readonly id: string;
  /** Shown to the caller; '' for the organization. */
  readonly name: string;
  /** IDs of the models that it may use; null for all. */
  readonly models: ReadonlySet<string> | null;
  /** Null for those of the other levels alone. */
  readonly limits: KeyLimits | null;
  /** Of a user. */
  readonly role?: Role;
}

/** A key with the budgets that it has of its own. */
export interface KeyBudgets {
  readonly keyId: string;
  readonly budgets: readonly KeyBudget[];
}

/** The sender of a request: an API key without its secret, or a holder of funds that proves itself by its payments. */
export interface Caller {
  /** ID of the key. Of a holder that proves itself, by its signature or by a key of its own, the address: either way it is one caller. */
  readonly keyId: string;
  readonly scopes: ReadonlySet<Scope>;
  readonly labels: Readonly<Record<string, string>>;
  /** IDs of the models that the key may use; null for all. */
  readonly models: ReadonlySet<string> | null;
  /** Of the key itself; null for none. */
  readonly limits: KeyLimits | null;
  /** Of the key itself, beside those of the policy. */
  readonly budgets: readonly KeyBudget[];
  /** The holders that requests with this key may name; absent for all. */
  readonly holders?: ReadonlySet<string>;
  /** Of a person or a workload; absent for a key, whose role follows from its scopes. */
  readonly role?: Role;
  /** ID of the team that it belongs to. */
  readonly team?: string;
  /** ID of the user that it belongs to. */
  readonly user?: string;
  /** IDs of the keys from which its key descends, the nearest first. */
  readonly line?: readonly string[];
  /** The key that made its key, with its terms in force; absent for a key of its own. */
  readonly parent?: Caller;
  /** The levels whose terms apply beside its own: its user, its team, the organization. Absent for none. */
  readonly levels?: readonly CallerLevel[];
}

/** The ID of the first key of a caller's line, with which all of the line share what one caller may take. */
export const rootOf = ({ keyId, line }: Pick<Caller, 'keyId' | 'line'>): string => line?.at(-1) ?? keyId;

/** The role of a caller: a person's or token's own; that of a key follows from its scopes. */
export function roleOf({ role, scopes }: Pick<Caller, 'role' | 'scopes'>): Role {
  if (role) return role;
  if (scopes.has('admin')) return 'owner';
  return scopes.has('report') ? 'report' : 'caller';
}

/** Whether it operates the server: it is shown the names of variables, and why a model is left out. */
export function isOperator(caller: Pick<Caller, 'role' | 'scopes'>): boolean {
  const role = roleOf(caller);
  return role === 'owner' || role === 'admin';
}

const UNLIMITED = { labels: {}, models: null, limits: null, budgets: [] } as const;

/** The operator, who may see and use everything. */
export const OPERATOR: Caller = { keyId: '', scopes: new Set(FULL_SCOPES), ...UNLIMITED };

const HOLDER_SCOPES = permissionsOf(['chat', 'route']);

/** A holder that has proved itself. */
export const holderCaller = (holder: string): Caller => ({ keyId: holder, scopes: HOLDER_SCOPES, ...UNLIMITED });

/**
 * How the names of labels begin that a key may give the keys that it makes, and an operator no key: conditions of the policy that name
 * no such label cannot depend on it.
 */
export const CHILD_LABEL = 'child.';

/** Limits as they are shown and stored. */
export function limitsBody({ requestsPerMinute, tokensPerMinute, concurrentStreams }: KeyLimits) {
  return {
    requests_per_minute: requestsPerMinute,
    tokens_per_minute: tokensPerMinute,
    concurrent_streams: concurrentStreams,
  };
}
