import { commandName } from '../../../core/command-name.ts';
import { UsageError } from '../../../core/usage-error.ts';
import type { StoreReader } from '../../../store/driver.ts';
import type { Team, User } from '../../../store/people.ts';
import { StoreError } from '../../../store/store.ts';
import { userIdIn } from '../../use-cases/people.ts';
import type { HolderNames } from '../../use-cases/usage.ts';

/** Whose charges a report is about; null for anybody's. */
interface Owners {
  readonly team: string | null;
  readonly user: string | null;
}

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

  /** The IDs of a team that is given by its ID or name, and of a user that is given by its ID or address. Throws UsageError. */
  idsOf({ team, user }: Owners): Owners {
    return { team: team === null ? null : this.#teamId(team), user: user === null ? null : this.#userId(user) };
  }

  #teamId(text: string): string {
    // Removed ones have spent, too, and have no name that counts.
    const named = [...this.#teams.values()].find(({ name, removedAt }) => removedAt === null && name === text);
    const found = this.#teams.get(text) ?? named;
    if (!found) throw new UsageError(`There is no team with the ID or name "${text}".`);
    return found.id;
  }

  #userId(text: string): string {
    const present = [...this.#users.values()].filter(({ removedAt }) => removedAt === null);
    const id = userIdIn({ user: (one) => this.#users.get(one) ?? null, users: () => present }, text);
    if (this.#users.has(id)) return id;
    throw new UsageError(
      `There is no user with the ID or address "${text}". Run ${commandName()} users list to see them.`,
    );
  }
}
