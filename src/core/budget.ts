import type { Microcredits } from './credits.ts';
import type { SourcePlace } from './source-place.ts';

export const WINDOWS = ['day', 'week', 'month', 'total'] as const;
/** Calendar windows in the budget's time zone, weeks from Monday; `total` never ends. */
export type WindowKind = (typeof WINDOWS)[number];

/**
 * The effect on a request whose worst case does not fit. `cap`: its output is capped at what fits, if that is still useful.
 * `reject`: it is refused. `downgrade`: only models whose worst case still fits are chosen from; where none does, as `cap`.
 */
export type ExhaustedAction = (typeof EXHAUSTED_ACTIONS)[number];
export const EXHAUSTED_ACTIONS = ['cap', 'reject', 'downgrade'] as const;

/**
 * The facts of a request that a budget sees: only those that the ledger keeps with each entry, so that a new budget can
 * be counted from the entries of its window. A missing label reads as the empty string.
 */
export interface BudgetScope {
  /** The `model` of the request: a selector's name or a model's ID. */
  readonly request: {
    readonly model: string;
    /** The session that the caller names, for budgets of each session alone; '' or absent for none. */
    readonly session?: string;
  };
  readonly key: {
    readonly id: string;
    readonly labels: ReadonlyMap<string, string>;
    /** The IDs of the keys that it descends from, the nearest first; absent where they are not known here. Not for conditions. */
    readonly line?: readonly string[];
  };
  /** The team and the user that the key belonged to; '' for none. */
  readonly team: { readonly id: string };
  readonly user: { readonly id: string };
}

/** Whose entries to read, by ID; without a member, those of all. */
export interface EntryOwner {
  readonly keyId?: string;
  readonly team?: string;
  readonly user?: string;
}

/** The sum that a window will have charged at its end, as far as one can say. */
export interface Forecast {
  /** Microcredits; null while it is too early to say, and for a window that never ends. */
  readonly expected: Microcredits | null;
  /** From when on there is one, ms since 1970; null for never. */
  readonly knownFrom: number | null;
}

/** A limit of the policy on what may be spent in a window. */
export interface Budget {
  readonly name: string;
  /** Where the policy states it. */
  readonly place: SourcePlace;
  /** Whether it holds for a request; null for every one. May throw, and then it holds. */
  readonly match: ((scope: BudgetScope) => boolean) | null;
  /** Groups requests: each value has its own windows. Null: one window for all. A throw counts as ''. */
  readonly each: ((scope: BudgetScope) => string) | null;
  readonly window: WindowKind;
  /** Whether each session of a key has windows of its own; absent for false. */
  readonly isOfSessions?: true;
  /** Whether `each` reads the ID of the key, so that a window may be named by it; absent for false. */
  readonly readsKeyId?: true;
  /** IANA name. */
  readonly timeZone: string;
  /** `match`, `each`, window and zone as one text: budgets of the same name and definition count the same. */
  readonly definition: string;
  /** Of each window. */
  readonly limit: Microcredits;
  /** Of the windows of these subjects, in place of `limit`; absent where all have the same. */
  readonly limits?: ReadonlyMap<string, Microcredits>;
  /** Of a budget with limits for subjects: where the entries of one are among all, at most `limit`. Absent: anywhere. */
  readonly entriesOf?: (subject: string, limit: number) => Promise<readonly EntryOwner[]>;
  readonly onExhausted: ExhaustedAction;
  /** Fractions of the limit, ascending, at which operators are alerted. */
  readonly alertAt: readonly number[];
}

/** A budget of the policy in force as the ledger keeps it, for commands that see no policy. */
export type StoredBudget = Pick<Budget, 'name' | 'definition' | 'window' | 'timeZone' | 'limit'>;

/** The section `ledger` of the policy. */
export interface LedgerPolicy {
  /** How long a request waits for money that others hold, ms. */
  readonly contentionWaitMs: number;
  /** The share of the free money up to which a request's worst case is held whole; above it the hold may grow with the answer. */
  readonly wholeHoldShare: number;
  /** How holds that a crash left open end: charged in full, or released. */
  readonly onCrash: 'charge' | 'release';
}

/** The ledger that a policy would spend from, and must fit. */
export interface LedgerState {
  /** The ledger's `usdPerCredit`; null while it has no entries. */
  readonly usdPerCredit: string | null;
  /** Names of the budgets with windows in force. */
  readonly budgets: readonly string[];
}

export const NO_LEDGER: LedgerState = Object.freeze({ usdPerCredit: null, budgets: [] });
