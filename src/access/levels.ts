import type { Caller, CallerLevel, HolderKind, KeyLimits } from '../core/caller.ts';
import type { HolderBudgets, KeyLines } from '../core/holder.ts';
import type { KeyInfo } from '../store/keys.ts';

/** The terms of the organization, a team or a user. */
export interface LevelTerms {
  readonly kind: Exclude<HolderKind, 'key'>;
  readonly id: string;
  readonly name: string;
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

/** No organization, teams or users with terms. */
export const NO_PEOPLE: PeopleTerms = { version: 0, termsOf: () => [], budgets: () => [] };

/** The keys as this instance knows them. */
export interface KnownKeys {
  known(id: string): Pick<KeyInfo, 'id' | 'parent' | 'models' | 'limits'> | null;
}

interface CompiledCaller {
  readonly caller: Caller;
  readonly version: number;
  /** The keys above, as they were. */
  readonly above: readonly ReturnType<KnownKeys['known']>[];
}

/** A line has no more keys than this, however the store was damaged. */
const LINE_MAX = 16;

/** The line of a key by its parents. */
function lineIn({ known }: KnownKeys, keyId: string): readonly string[] {
  const line: string[] = [];
  for (let at = known(keyId)?.parent; at && line.length < LINE_MAX; at = known(at)?.parent) line.push(at);
  return line;
}

/** The lines of keys. @param all IDs of all keys that have a parent */
export const keyLines = (keys: KnownKeys & { children(): readonly string[] }): KeyLines => ({
  lineOf: (id) => lineIn(keys, id),
  descendantsOf: (id) => keys.children().filter((child) => lineIn(keys, child).includes(id)),
});

/** Puts the terms of all levels to callers: once for each, and again when one of them has changed. State: levels. */
export class Levels {
  readonly #keys: KnownKeys;
  readonly #people: PeopleTerms;
  readonly #compiled = new WeakMap<Caller, CompiledCaller>();

  constructor(keys: KnownKeys, people: PeopleTerms) {
    this.#keys = keys;
    this.#people = people;
  }

  /** Returns the caller with the levels above it; itself where there are none. */
  of(caller: Caller): Caller {
    const known = this.#compiled.get(caller);
    return known && this.#isPresent(known, caller) ? known.caller : this.#compile(caller);
  }

  #isPresent({ version, above }: CompiledCaller, { line = NO_KEYS }: Caller): boolean {
    if (version !== this.#people.version) return false;
    for (let at = 0; at < line.length; at++) if (this.#keys.known(line[at]!) !== above[at]) return false;
    return true;
  }

  #compile(caller: Caller): Caller {
    const above = (caller.line ?? NO_KEYS).map((id) => this.#keys.known(id));
    const levels: CallerLevel[] = [
      ...above.flatMap((info) => (info ? [keyLevel(info)] : [])),
      ...this.#groupsOf(caller),
    ];
    const compiled = levels.length === 0 ? caller : { ...caller, levels };
    this.#compiled.set(caller, { caller: compiled, version: this.#people.version, above });
    return compiled;
  }

  #groupsOf(caller: Caller): CallerLevel[] {
    return this.#people
      .termsOf(caller)
      .map(({ models, ...terms }) => ({ ...terms, models: models && new Set(models) }));
  }
}

const NO_KEYS: readonly string[] = [];

const keyLevel = ({ id, models, limits }: NonNullable<ReturnType<KnownKeys['known']>>): CallerLevel => ({
  ...{ kind: 'key', id, name: id, limits },
  models: models && new Set(models),
});
