import type { StoreReader } from '../../../store/driver.ts';
import type { Team, User } from '../../../store/people.ts';
import { StoreError } from '../../../store/store.ts';
import type { HolderNames } from '../../use-cases/usage.ts';

/** The teams and users of a store, for commands that read its books. */
export class StoredPeople {
  readonly #teams: ReadonlyMap<string, Team>;
  readonly #users: ReadonlyMap<string, User>;

  private constructor(teams: readonly Team[], users: readonly User[]) {
    this.#teams = new Map(teams.map((team) => [team.id, team]));
    this.#users = new Map(users.map((user) => [user.id, user]));
  }

  /** A database of an earlier version has none. Rejects with StoreError. */
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

  /** The names as they are now. */
  readonly nameOf: HolderNames = (kind, id) => (kind === 'team' ? this.#teams : this.#users).get(id)?.name || null;

  readonly user = (id: string): User | null => this.#users.get(id) ?? null;

  /** Those that exist, as with `teamNamed`: a deleted one has no address or name that counts. */
  readonly users = (): readonly User[] => [...this.#users.values()].filter(({ removedAt }) => removedAt === null);

  readonly teamNamed = (text: string): Team | null =>
    [...this.#teams.values()].find(({ name, removedAt }) => removedAt === null && name === text) ?? null;
}
