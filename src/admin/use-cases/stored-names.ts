import type { StoreReader } from '../../store/driver.ts';
import type { Team, User } from '../../store/people.ts';
import { StoreError } from '../../store/store.ts';
import { FULL_SIGHT, type Sight } from './sight.ts';
import type { HolderNames } from './usage.ts';

/** The names in a store. */
export interface StoredNames {
  readonly nameOf: HolderNames;
  readonly sight: Sight;
}

/** Sees everything, with the names of the keys in a store. A file without tables has none. */
export function storedSight({ keys }: Pick<StoreReader, 'keys'>): Sight {
  const names = new Map<string, string | null>();
  return {
    ...FULL_SIGHT,
    knowsKeys: true,
    nameOf: (id) => FULL_SIGHT.nameOf(id) ?? names.get(id) ?? null,
    idsOf: async (key) => [key, ...(await keys.idsOf({ name: key }))],
    async learn(ids) {
      const unknown = [...new Set(ids)].filter((id) => id !== '' && !names.has(id));
      if (unknown.length === 0) return;
      const found = await keys.names(unknown).catch(orNone);
      for (const id of unknown) names.set(id, null);
      for (const { id, name } of found) names.set(id, name);
    },
  };
}

/** The result for a file without tables. */
function orNone(error: unknown): readonly never[] {
  if (error instanceof StoreError) return [];
  throw error;
}

/** The teams and users in a store, for commands that read its ledger. */
export class StoredPeople {
  readonly #teams: ReadonlyMap<string, Team>;
  readonly #users: ReadonlyMap<string, User>;

  private constructor(teams: readonly Team[], users: readonly User[]) {
    this.#teams = new Map(teams.map((team) => [team.id, team]));
    this.#users = new Map(users.map((user) => [user.id, user]));
  }

  /** Reads the teams and users. A file without tables has none. Rejects with StoreError. */
  static async of({ people }: Pick<StoreReader, 'people'>): Promise<StoredPeople> {
    const { teams, users } = await people.changedAfter(-1).catch((error: unknown) => {
      if (error instanceof StoreError) return { teams: [], users: [] };
      throw error;
    });
    return new StoredPeople(
      teams.map(({ row }) => row),
      users.map(({ row }) => row),
    );
  }

  /** Returns the current name of a team or user. */
  readonly nameOf: HolderNames = (kind, id) => (kind === 'team' ? this.#teams : this.#users).get(id)?.name || null;

  readonly user = (id: string): User | null => this.#users.get(id) ?? null;

  /** The users that are not deleted. As with `teamNamed`, filters must not find a deleted user by name or address. */
  readonly users = (): readonly User[] => [...this.#users.values()].filter(({ removedAt }) => removedAt === null);

  readonly team = (id: string): Team | null => this.#teams.get(id) ?? null;

  /** The teams that are not deleted. */
  readonly teams = (): readonly Team[] => [...this.#teams.values()].filter(({ removedAt }) => removedAt === null);

  readonly teamNamed = (text: string): Team | null => this.teams().find(({ name }) => name === text) ?? null;
}
