import type { Caller, CallerLevel, KeyLimits } from '../core/caller.ts';
import type { HolderBudgets, KeyLines } from '../core/holder.ts';
import type { KeyInfo } from '../store/keys.ts';

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
interface KnownKeys extends Pick<KeyLines, 'descendantsOf'> {
  known(id: string): Pick<KeyInfo, 'parent'> | null;
}

/** A line has no more keys than this, however the store was damaged. */
const LINE_MAX = 16;

/** The lines of keys by their parents. */
export const keyLines = ({ known, descendantsOf }: KnownKeys): KeyLines => ({
  lineOf: (id) => {
    const line: string[] = [];
    for (let at = known(id)?.parent; at && line.length < LINE_MAX; at = known(at)?.parent) line.push(at);
    return line;
  },
  descendantsOf,
});

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
