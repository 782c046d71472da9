import type { Caller, CallerLevel, KeyLimits } from '../core/caller.ts';
import type { HolderBudgets, KeyLines } from '../core/holder.ts';
import { linesOf, type NamedKeys } from './line.ts';

/** The terms of the organization, a team or a user. */
export interface LevelTerms extends Pick<CallerLevel, 'kind' | 'id' | 'name' | 'role'> {
  /** IDs of the models that it may use; null for all. */
  readonly models: readonly string[] | null;
  readonly limits: KeyLimits | null;
}

/** The terms of people, as this instance knows them. */
export interface PeopleTerms {
  /** Another one with each change of any terms or names. */
  readonly version: number;
  /** Returns the terms of the user, the team and the organization of a caller, in this order, as far as they are known. */
  termsOf(caller: Pick<Caller, 'team' | 'user'>): readonly LevelTerms[];
  /** All their budgets. */
  budgets(): Iterable<HolderBudgets>;
}

/** The keys as this instance knows them. */
interface KnownKeys {
  /** Null for a key that it does not have. */
  lineOf(id: string): readonly string[] | null;
  readonly named: NamedKeys;
  readonly idsBelow: KeyLines['descendantsOf'];
}

/** Lines of revoked keys that were looked up last. */
const LINES_MAX = 1_000;

/** The lines of keys: from the copy of the keys, and for revoked keys as they were looked up last. State: lines. */
export class Lines implements KeyLines {
  readonly #keys: KnownKeys;
  /** The lines of keys that the copy does not have, the oldest first. */
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

/** A caller with its levels, as they were in a version of the people. */
interface LeveledCaller {
  readonly caller: Caller;
  readonly version: number;
}

/** Puts the terms of user, team and organization to callers: once for each, and again when one has changed. State: levels. */
export class Levels {
  readonly #people: PeopleTerms;
  readonly #leveled = new WeakMap<Caller, LeveledCaller>();

  constructor(people: PeopleTerms) {
    this.#people = people;
  }

  /** Returns the caller with the levels above it; itself where there are none. */
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

/** Levels as callers have them. */
export const callerLevels = (all: readonly LevelTerms[]): readonly CallerLevel[] =>
  all.flatMap(({ kind, id, name, models, limits, role }): readonly CallerLevel[] => {
    // It needs no name, so without terms it changes nothing for most callers.
    if (kind === 'organization' && models === null && limits === null) return [];
    return [{ kind, id, name, models: models && new Set(models), limits, ...(role && { role }) }];
  });
