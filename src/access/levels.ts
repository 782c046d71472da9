import type { Caller, CallerLevel, KeyLimits } from '../core/people/caller.ts';
import type { HolderBudgets, KeyLines } from '../core/people/holder.ts';
import { linesOf, type NamedKeys } from './line.ts';

/** The terms of the organization, a team or a user. */
export interface LevelTerms extends Pick<CallerLevel, 'kind' | 'id' | 'name' | 'role'> {
  /** IDs of the models that requests may use; null for all. */
  readonly models: readonly string[] | null;
  readonly limits: KeyLimits | null;
}

/** The terms of people that this instance knows. */
export interface PeopleTerms {
  /** Changes with each change of any terms or names. */
  readonly version: number;
  /** Returns the known terms of the caller's user, team and organization, in this order. */
  termsOf(caller: Pick<Caller, 'team' | 'user'>): readonly LevelTerms[];
  /** All budgets of people. */
  budgets(): Iterable<HolderBudgets>;
}

/** The keys that this instance knows. */
interface KnownKeys {
  /** Null for an unknown key. */
  lineOf(id: string): readonly string[] | null;
  readonly named: NamedKeys;
  readonly idsBelow: KeyLines['descendantsOf'];
}

/** The most lines of revoked keys that are remembered. */
const LINES_MAX = 1_000;

/**
 * The lines of keys. The lines come from the copy of the keys. For revoked keys, the lines come from the store and are remembered. State:
 * lines.
 */
export class Lines implements KeyLines {
  readonly #keys: KnownKeys;
  /** The lines of keys that the copy does not have, oldest first. */
  readonly #read = new Map<string, readonly string[]>();
  readonly descendantsOf: KeyLines['descendantsOf'];

  constructor(keys: KnownKeys) {
    this.#keys = keys;
    this.descendantsOf = keys.idsBelow;
  }

  readonly lineOf = (id: string): readonly string[] => this.#keys.lineOf(id) ?? this.#read.get(id) ?? [];

  readonly linesOf: KeyLines['linesOf'] = async (ids) => {
    const all = new Set(ids);
    const lineOf = await linesOf(all, this.#keys.named);
    for (const id of all) {
      const line = lineOf(id);
      if (line.length === 0 || this.#keys.lineOf(id)) continue;
      this.#read.set(id, line);
      if (this.#read.size > LINES_MAX) this.#read.delete(this.#read.keys().next().value!);
    }
    return lineOf;
  };
}

/** A caller with its levels, which are valid for one version of the people. */
interface LeveledCaller {
  readonly caller: Caller;
  readonly version: number;
}

/**
 * Adds to callers the terms of their user, team and organization. The result is cached for each caller until terms change. State: levels.
 */
export class Levels {
  readonly #people: PeopleTerms;
  readonly #leveled = new WeakMap<Caller, LeveledCaller>();

  constructor(people: PeopleTerms) {
    this.#people = people;
  }

  /** Returns the caller with its levels, or the same object if it has none. */
  of(caller: Caller): Caller {
    const known = this.#leveled.get(caller);
    return known?.version === this.#people.version ? known.caller : this.#put(caller);
  }

  #put(caller: Caller): Caller {
    const { version } = this.#people;
    const levels = callerLevels(this.#people.termsOf(caller));
    const leveled = levels.length === 0 ? caller : { ...caller, levels };
    this.#leveled.set(caller, { caller: leveled, version });
    return leveled;
  }
}

/** Converts levels to the form that callers have. */
export const callerLevels = (all: readonly LevelTerms[]): readonly CallerLevel[] =>
  all.flatMap(({ kind, id, name, models, limits, role }): readonly CallerLevel[] => {
    // Most callers have an organization without terms. Leaving out an organization without terms changes nothing for its callers.
    if (kind === 'organization' && models === null && limits === null) return [];
    return [{ kind, id, name, models: models && new Set(models), limits, ...(role && { role }) }];
  });
