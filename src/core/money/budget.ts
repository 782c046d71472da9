import type { SourcePlace } from '../source-place.ts';
import type { Microcredits } from './credits.ts';

export const WINDOWS = ['day', 'week', 'month', 'total'] as const;
/** Windows follow the calendar in the budget's time zone. Weeks of budget windows begin on Monday. The window `total` never ends. */
export type CalendarWindow = (typeof WINDOWS)[number];
/** The windows of a key's budget. `every`: windows with a length of their own. */
export const KEY_WINDOWS = [...WINDOWS, 'every'] as const;
export type WindowKind = (typeof KEY_WINDOWS)[number];

/** Windows of one length, of which one begins at a moment. They are lengths of time, so no time zone and no change of the clock matters. */
export interface RollingWindow {
  /** The length; a multiple of a quarter of an hour, because the ledger keeps totals of quarter hours. */
  readonly seconds: number;
  /** The beginning of one of the windows, ms since 1970, on a quarter hour. */
  readonly from: number;
}

/**
 * The treatment of a request whose worst case does not fit into the budget. `cap`: Signalbox caps the output at the amount that fits, if the
 * shorter output is still useful. `reject`: Signalbox refuses the request. `downgrade`: Signalbox chooses only from models whose worst case
 * fits; if there are none, it acts as for `cap`.
 */
export type ExhaustedAction = (typeof EXHAUSTED_ACTIONS)[number];
export const EXHAUSTED_ACTIONS = ['cap', 'reject', 'downgrade'] as const;

/**
 * The facts of a request that a budget's conditions see. A budget's conditions see only facts that the ledger stores with each entry, so
 * that a new budget can be computed from the existing entries of its window. A label that the key lacks reads as the empty string.
 */
export interface BudgetScope {
  /** The `model` of the request: a selector's name or a model's ID. */
  readonly request: {
    readonly model: string;
    /** The session that the caller names, for budgets per session; '' or absent for none. */
    readonly session?: string;
  };
  readonly key: {
    readonly id: string;
    readonly labels: ReadonlyMap<string, string>;
    /**
     * IDs of the keys above this key, the parent first; absent if the code that builds the scope does not know them. Conditions cannot read
     * `line`.
     */
    readonly line?: readonly string[];
  };
  /** The team and the user that the key belonged to; '' for none. */
  readonly team: { readonly id: string };
  readonly user: { readonly id: string };
}

/** Selects ledger entries by the IDs of their owners. A member that is absent selects all entries. */
export interface EntryOwner {
  readonly keyId?: string;
  readonly team?: string;
  readonly user?: string;
}

/** A forecast of the amount that a window will have charged at its end. */
export interface Forecast {
  /** Microcredits; null while it is too early to forecast, and for a window that never ends. */
  readonly expected: Microcredits | null;
  /** When a forecast becomes possible, ms since 1970; null for never. */
  readonly knownFrom: number | null;
}

/** A limit in the policy on the Credits spent in a window. */
export interface Budget {
  readonly name: string;
  /** Location of the budget in the policy. */
  readonly place: SourcePlace;
  /** Whether the budget applies to a request; null if it applies to every request. `match` may throw, and then the budget applies. */
  readonly match: ((scope: BudgetScope) => boolean) | null;
  /**
   * Groups requests: each value has windows of its own. If `each` is null, all requests share one window. If `each` throws, its value is
   * ''.
   */
  readonly each: ((scope: BudgetScope) => string) | null;
  readonly window: WindowKind;
  /** The windows of a budget whose `window` is `every`; absent for others. */
  readonly every?: RollingWindow;
  /** Whether each session of a key has windows of its own; absent for false. */
  readonly isOfSessions?: true;
  /** Whether `each` reads the ID of the key, so that a window's subject may be a key ID; absent for false. */
  readonly readsKeyId?: true;
  /** IANA name of the time zone. */
  readonly timeZone: string;
  /** `match`, `each`, window and time zone as one text. Budgets with the same name and definition count the same requests. */
  readonly definition: string;
  /** The limit of each window of the budget, microcredits. */
  readonly limit: Microcredits;
  /** Limits of individual subjects, which replace `limit`; absent if all subjects have the same limit. */
  readonly limits?: ReadonlyMap<string, Microcredits>;
  /**
   * For a budget with `limits`: returns the owners whose ledger entries may belong to a subject, at most `limit`. If `entriesOf` is absent,
   * any entry may belong to a subject.
   */
  readonly entriesOf?: (subject: string, limit: number) => Promise<readonly EntryOwner[]>;
  readonly onExhausted: ExhaustedAction;
  /** Fractions of the limit, ascending, at which operators are alerted. */
  readonly alertAt: readonly number[];
}

/** A budget of the active policy as the ledger stores it, for commands that do not load the policy. */
export type StoredBudget = Pick<Budget, 'name' | 'definition' | 'window' | 'every' | 'timeZone' | 'limit'>;

/** The section `ledger` of the policy. */
export interface LedgerPolicy {
  /** How long a request waits for money that other requests hold, ms. */
  readonly contentionWaitMs: number;
  /**
   * The share of the free money up to which a request's worst case is held in full. For a larger worst case the hold may grow with the
   * answer.
   */
  readonly wholeHoldShare: number;
  /** The treatment of holds that a crash left open: they are charged in full, or released. */
  readonly onCrash: 'charge' | 'release';
}

/** The state of an existing ledger that a new policy must be compatible with. */
export interface LedgerState {
  /** The worth of a Credit in the ledger; null while it has no entries. */
  readonly usdPerCredit: string | null;
  /** Names of the budgets that have current windows. */
  readonly budgets: readonly string[];
}

export const NO_LEDGER: LedgerState = Object.freeze({ usdPerCredit: null, budgets: [] });
