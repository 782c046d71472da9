import type { Membership, PeopleTable, Team, User, VersionedRow } from '../../../src/store/people.ts';
import { type MemoryStore, MemoryTable, refuse, unmet } from './store.ts';

const DAY_MS = 86_400_000;

/** What people need of the table of keys. */
interface KeysOfPeople {
  /** Whether some unrevoked key is of a team, or of a user. */
  isInUse(of: Partial<Membership>): boolean;
  /** Moves the unrevoked keys of a user to a team. */
  move(user: string, team: string | null): void;
}

const inOrder = (one: VersionedRow<{ readonly id: string }>, other: VersionedRow<{ readonly id: string }>): number =>
  one.row.id < other.row.id ? -1 : 1;

export function memoryPeople(
  store: MemoryStore,
  keys: KeysOfPeople,
  users: MemoryTable<string, VersionedRow<User>>,
): PeopleTable {
  const teams = new MemoryTable<string, VersionedRow<Team>>(store);
  const after = <Row extends { readonly id: string }>(rows: VersionedRow<Row>[], number: number) =>
    rows.filter(({ version }) => version > number).sort(inOrder);
  const living = <Row extends { readonly removedAt: number | null }>(table: MemoryTable<string, VersionedRow<Row>>) =>
    table.rows().flatMap(({ row }) => (row.removedAt === null ? [row] : []));
  const makers = new MemoryTable<string, string>(store);
  const countOf = (maker: string, time: number) =>
    users.rows().filter(({ row }) => makers.get(row.id) === maker && row.createdAt > time - DAY_MS).length;
  const isTeam = (id: string | null) => id === null || living(teams).some((team) => team.id === id);
  const checkVersion = (present: VersionedRow<unknown> | undefined, version: number | null) => {
    if (version !== null && present?.version !== version) unmet();
    if (version === null && present) refuse('this ID is there');
  };
  return {
    changedAfter: async (number) => ({
      teams: after(teams.rows(), number),
      users: after(users.rows(), number),
      through: Math.max(number, store.newsNumbers.people),
    }),
    putTeam: (team, version) =>
      store.write(() => {
        const isTaken =
          team.removedAt === null && living(teams).some(({ id, name }) => name === team.name && id !== team.id);
        const isUsed = living(users).some((user) => user.team === team.id) || keys.isInUse({ team: team.id });
        if (isTaken || (version !== null && team.removedAt !== null && isUsed)) unmet();
        checkVersion(teams.get(team.id), version);
        teams.put(team.id, { row: team, version: store.raised('people') });
      }),
    putUser: (user, version, by = null) =>
      store.write(() => {
        if (version === null && by && countOf(by.maker, user.createdAt) >= by.aDay) unmet();
        const isSame = ({ id, issuer, sub }: User) =>
          issuer !== null && sub !== null && issuer === user.issuer && sub === user.sub && id !== user.id;
        if (living(users).some(isSame) || !isTeam(user.team)) unmet();
        if (version !== null && user.removedAt !== null && keys.isInUse({ user: user.id })) unmet();
        const before = users.get(user.id);
        checkVersion(before, version);
        if (version === null && by) makers.put(user.id, by.maker);
        users.put(user.id, { row: user, version: store.raised('people') });
        if (before && before.row.team !== user.team) keys.move(user.id, user.team);
      }),
    countOfMaker: async (maker, time) => countOf(maker, time),
    requireMembership: ({ team, user }) =>
      store.write(() => {
        const isMember = user === null || living(users).some((one) => one.id === user && one.team === team);
        if (!isTeam(team) || !isMember) unmet();
      }),
  };
}
