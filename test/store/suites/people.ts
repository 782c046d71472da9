import { expect, test } from 'bun:test';
import { INHERITED, NO_TERMS } from '../../../src/core/people/people.ts';
import type { Team, User } from '../../../src/store/people.ts';
import { refusalOf, type TestedStore } from '../implementations.ts';
import { keyInfo } from './access.ts';

const HASH = new Uint8Array(32).fill(7);
const BUDGET = { limit: 5_000_000, window: 'month', timeZone: 'Europe/Berlin', onExhausted: 'cap' } as const;

export const aTeam = (id: string, more: Partial<Team> = {}): Team => ({
  ...{ id: `team_${id}`, name: `the team ${id}`, origin: 'api', createdAt: 7, removedAt: null },
  ...{ models: ['best'], limits: { requestsPerMinute: 9, tokensPerMinute: null, concurrentStreams: 2 } },
  ...{ budgets: [BUDGET], memberDefaults: { ...NO_TERMS, budgets: [{ ...BUDGET, window: 'day' }] } },
  ...more,
});

export const aUser = (id: string, more: Partial<User> = {}): User => ({
  ...{ id: `user_${id}`, issuer: 'https://id.example', sub: id, name: `the user ${id}`, email: `${id}@example.com` },
  ...{ team: null, role: 'member', terms: INHERITED, createdAt: 7, suspendedAt: null, removedAt: null },
  ...more,
});

/** The guarantees of every table of teams and users. */
export function peopleSuite(open: () => Promise<TestedStore>): void {
  const versionsIn = async ({ people }: TestedStore) => {
    const { teams, users } = await people.changedAfter(-1);
    return Object.fromEntries([...teams, ...users].map(({ row, version }) => [row.id, version]));
  };

  test('a creator adds at most its number of users a day; users without a creator are not counted', async () => {
    await using store = await open();
    const { people } = store;
    const make = (id: string, createdAt: number, maker: string | null = 'lead') =>
      refusalOf(
        store.commit([people.putUser(aUser(id, { createdAt }), null, maker === null ? null : { maker, aDay: 2 })]),
      );
    const day = 86_400_000;
    expect([await make('a', 1, null), await make('b', 1), await make('c', 2), await make('d', 3)]).toEqual([
      ...[null, null, null],
      'unmet',
    ]);
    expect([await make('d', 3, null), await make('e', 3, 'other')]).toEqual([null, null]);
    expect([await people.countOfMaker('lead', 3), await people.countOfMaker('lead', 1 + day)]).toEqual([2, 1]);
    expect([await make('f', day), await make('f', 1 + day)]).toEqual(['unmet', null]);
  });

  test('teams and users are read as they were stored, by ID, and a later read returns only those that changed', async () => {
    await using store = await open();
    const { people } = store;
    const declared = aTeam('b', {
      formerNames: ['older', 'oldest'],
      origin: 'policy',
      models: null,
      limits: null,
      budgets: [],
      memberDefaults: NO_TERMS,
    });
    await store.commit([people.putTeam(declared, null), people.putTeam(aTeam('a'), null)]);
    const user = aUser('one', { team: 'team_a', role: 'lead', terms: { ...NO_TERMS, budgets: [BUDGET] } });
    await store.commit([people.putUser(user, null), people.putUser(aUser('two', { issuer: null, sub: null }), null)]);
    const all = await people.changedAfter(-1);
    expect(all.teams.map(({ row }) => row)).toEqual([aTeam('a'), declared]);
    expect(all.users.map(({ row }) => row)).toEqual([user, aUser('two', { issuer: null, sub: null })]);
    expect(await people.changedAfter(all.through)).toEqual({ teams: [], users: [], through: all.through });
    const version = all.users[0]!.version;
    await store.commit([people.putUser({ ...user, suspendedAt: 9 }, version)]);
    const later = await people.changedAfter(all.through);
    expect(later.users.map(({ row }) => row)).toEqual([{ ...user, suspendedAt: 9 }]);
    expect(later.teams).toEqual([]);
    expect(later.users[0]!.version).toBeGreaterThan(version);
  });

  test('a row is replaced only in the version that the caller saw; otherwise the commit is unmet', async () => {
    await using store = await open();
    const { people } = store;
    await store.commit([people.putTeam(aTeam('a'), null), people.putUser(aUser('one'), null)]);
    const { team_a: team = 0, user_one: user = 0 } = await versionsIn(store);
    await store.commit([people.putTeam(aTeam('a', { models: null }), team)]);
    await store.commit([people.putUser(aUser('one', { name: 'new' }), user)]);
    expect(await refusalOf(store.commit([people.putTeam(aTeam('a'), team)]))).toBe('unmet');
    expect(await refusalOf(store.commit([people.putUser(aUser('one'), user)]))).toBe('unmet');
    expect(await refusalOf(store.commit([people.putUser(aUser('none'), 99)]))).toBe('unmet');
    const { teams, users } = await people.changedAfter(-1);
    expect([teams[0]?.row.models, users[0]?.row.name]).toEqual([null, 'new']);
  });

  test('a team name and a person belong to only one team and one user until these are removed; a user’s team must exist', async () => {
    await using store = await open();
    const { people } = store;
    await store.commit([people.putTeam(aTeam('a'), null), people.putUser(aUser('one'), null)]);
    expect(await refusalOf(store.commit([people.putTeam(aTeam('b', { name: 'the team a' }), null)]))).toBe('unmet');
    expect(await refusalOf(store.commit([people.putUser(aUser('two', { sub: 'one' }), null)]))).toBe('unmet');
    expect(await refusalOf(store.commit([people.putUser(aUser('two', { team: 'team_b' }), null)]))).toBe('unmet');
    const versions = await versionsIn(store);
    await store.commit([
      people.putTeam(aTeam('a', { removedAt: 9 }), versions.team_a!),
      people.putUser(aUser('one', { removedAt: 9 }), versions.user_one!),
    ]);
    await store.commit([
      people.putTeam(aTeam('b', { name: 'the team a' }), null),
      people.putUser(aUser('two', { sub: 'one', team: 'team_b' }), null),
    ]);
    expect(await refusalOf(store.commit([people.putUser(aUser('three', { team: 'team_a' }), null)]))).toBe('unmet');
  });

  test('a team with users or unrevoked keys, and a user with unrevoked keys, cannot be removed', async () => {
    await using store = await open();
    const { people, keys } = store;
    await store.commit([people.putTeam(aTeam('a'), null), people.putUser(aUser('one', { team: 'team_a' }), null)]);
    await store.commit([
      keys.insert(keyInfo('k', { team: 'team_a', user: 'user_one' }), HASH),
      keys.insert(keyInfo('service', { team: 'team_a' }), HASH),
    ]);
    const removal = async (what: 'team' | 'user') => {
      const versions = await versionsIn(store);
      const team = people.putTeam(aTeam('a', { removedAt: 9 }), versions.team_a!);
      const user = people.putUser(aUser('one', { removedAt: 9 }), versions.user_one!);
      return refusalOf(store.commit([what === 'team' ? team : user]));
    };
    expect([await removal('team'), await removal('user')]).toEqual(['unmet', 'unmet']);
    await store.commit([keys.revoke('k', 8)]);
    expect([await removal('user'), await removal('team')]).toEqual([null, 'unmet']);
    await store.commit([keys.revoke('service', 8)]);
    expect(await removal('team')).toBeNull();
  });

  test('unrevoked keys move to the team of their user and raise the news of keys', async () => {
    await using store = await open();
    const { people, keys } = store;
    await store.commit([people.putTeam(aTeam('a'), null), people.putUser(aUser('one'), null)]);
    await store.commit(['k', 'old'].map((id) => keys.insert(keyInfo(id, { user: 'user_one' }), HASH)));
    await store.commit([keys.revoke('old', 8)]);
    const { through } = await keys.changedAfter(-1);
    const { user_one: version = 0 } = await versionsIn(store);
    await store.commit([people.putUser(aUser('one', { team: 'team_a' }), version)]);
    const { rows } = await keys.changedAfter(through);
    expect(rows.map(({ key: { info } }) => [info.id, info.team])).toEqual([['k', 'team_a']]);
    expect((await keys.find('old'))?.key.info.team).toBeNull();
  });

  test('a membership is satisfied only if the team and the user exist and the user belongs to the team', async () => {
    await using store = await open();
    const { people } = store;
    await store.commit([people.putTeam(aTeam('a'), null), people.putUser(aUser('one', { team: 'team_a' }), null)]);
    const met = (team: string | null, user: string | null) =>
      refusalOf(store.commit([people.requireMembership({ team, user })]));
    expect([await met(null, null), await met('team_a', null), await met('team_a', 'user_one')]).toEqual([
      null,
      null,
      null,
    ]);
    expect([await met('team_b', null), await met(null, 'user_one'), await met('team_a', 'user_two')]).toEqual([
      'unmet',
      'unmet',
      'unmet',
    ]);
  });
}
