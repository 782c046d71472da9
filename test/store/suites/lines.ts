import { expect, test } from 'bun:test';
import type { KeyInfo } from '../../../src/store/keys.ts';
import { refusalOf, type TestedStore } from '../implementations.ts';
import { DAY_MS, HASHES, hashOf, keyEvent, keyInfo, NOON } from './access.ts';
import { aTeam, aUser } from './people.ts';

/** The guarantees of every table of keys with child keys. */
export function linesSuite(open: () => Promise<TestedStore>): void {
  test('a child key can be created within the limits of its line, while all keys above it are valid', async () => {
    await using store = await open();
    const { keys, trail } = store;
    const room = { depth: 2, live: 2, aDay: 5, aDayOfUser: 99 };
    const make = (
      id: string,
      parent: string,
      { at = NOON, by = parent, ...more }: Partial<KeyInfo> & { at?: number; by?: string } = {},
    ) =>
      refusalOf(
        store.commit([
          trail.addIfRoomBelow(keyEvent(id, 'create', at), { ...room, parent, hash: HASHES[by]! }),
          keys.insert(keyInfo(id, { parent, createdAt: at, ...more }), HASHES[id]!, { parentHash: HASHES[by]! }),
        ]),
      );
    await store.commit([keys.insert(keyInfo('a'), HASHES.a!), keys.insert(keyInfo('w', { holder: '0xa' }), HASHES.w!)]);
    expect(await make('b', 'a')).toBeNull();
    expect((await keys.find('b'))?.key).toMatchObject({ parentHash: HASHES.a, info: { parent: 'a' } });
    // The creators are a wallet's key, an unknown key, a key with another secret, and the second key of a line that may have two.
    expect([await make('c', 'w'), await make('c', 'none'), await make('c', 'a', { by: 'b' })]).toEqual(
      Array(3).fill('unmet'),
    );
    expect([await make('c', 'b'), await make('d', 'c')]).toEqual([null, 'unmet']);
    // Two child keys are created at once for the last place, and one of them gets it.
    expect([await make('d', 'a'), await make('e', 'a')].sort()).toEqual([null, 'unmet']);
    await store.commit([keys.revoke('b', NOON)]);
    // A revoked key cannot create child keys, but its own place among its parent's children is free again. An expired key also frees its
    // place.
    expect(await make('e', 'b')).toBe('unmet');
    expect([await make('e', 'a', { expiresAt: NOON + 9 }), await make('f', 'a')]).toEqual([null, 'unmet']);
    expect(await make('f', 'a', { at: NOON + 9 })).toBeNull();
    // Five keys of the line were created today.
    await store.commit([keys.revoke('d', NOON)]);
    expect([await make('g', 'a', { at: NOON + 9 }), await make('g', 'a', { at: NOON + DAY_MS })]).toEqual([
      'unmet',
      null,
    ]);
  });

  test('a whole line, with its revoked keys, moves to the team and the user of its first key', async () => {
    await using store = await open();
    const { keys, people } = store;
    await store.commit([
      people.putTeam(aTeam('red'), null),
      people.putTeam(aTeam('blue', { name: 'blue' }), null),
      people.putUser(aUser('ann', { team: 'team_red' }), null),
      people.putUser(aUser('bob', { team: 'team_blue' }), null),
    ]);
    const red = { team: 'team_red', user: 'user_ann' };
    const top = keyInfo('a', red);
    await store.commit([keys.insert(top, hashOf(1)), keys.insert(keyInfo('z', red), hashOf(1))]);
    // The change comes from an instance that does not know the current team and user of the line.
    const old = { team: 'team_blue', user: 'user_bob' };
    await store.commit([keys.insert(keyInfo('b', { ...old, parent: 'a' }), hashOf(2))]);
    expect((await keys.find('b'))?.key.info).toMatchObject(red);
    await store.commit([keys.insert(keyInfo('c', { ...red, parent: 'b' }), hashOf(3)), keys.revoke('b', NOON)]);
    const ownersOf = async (...ids: string[]) => {
      const all = await Promise.all(ids.map(async (id) => (await keys.find(id))!.key.info));
      return all.map(({ team, user }) => `${team} ${user}`);
    };
    await store.commit([keys.change({ ...top, team: 'team_blue', user: 'user_bob' })]);
    expect(await ownersOf('a', 'b', 'c', 'z')).toEqual([...Array(3).fill('team_blue user_bob'), 'team_red user_ann']);
    expect((await keys.idsOf({ team: null, user: 'user_bob' })).toSorted()).toEqual(['a', 'b', 'c']);
    // If a user changes teams, all unrevoked first keys move with the user, and their lines move with them.
    const { users } = await people.changedAfter(-1);
    const bob = users.find(({ row }) => row.id === 'user_bob')!;
    await store.commit([people.putUser({ ...bob.row, team: 'team_red' }, bob.version)]);
    expect(await ownersOf('a', 'b', 'c')).toEqual(Array(3).fill('team_red user_bob'));
    // Child keys ended with their first key, so they do not keep a user or team in use.
    await store.commit([keys.revoke('a', NOON)]);
    const now = (await people.changedAfter(-1)).users.find(({ row }) => row.id === 'user_bob')!;
    expect(await refusalOf(store.commit([people.putUser({ ...now.row, removedAt: 9 }, now.version)]))).toBeNull();
  });

  test('a daily limit counts the child keys of all lines of a user; lines of operators and lines without a user are exempt', async () => {
    await using store = await open();
    const { keys, people, trail } = store;
    const make = (id: string, parent: string, at = NOON) =>
      refusalOf(
        store.commit([
          trail.addIfRoomBelow(keyEvent(id, 'create', at), {
            ...{ depth: 3, live: 9, aDay: 9, aDayOfUser: 2, parent },
            hash: HASHES[parent]!,
          }),
          keys.insert(keyInfo(id, { parent, createdAt: at }), HASHES[id]!, { parentHash: HASHES[parent]! }),
        ]),
      );
    await store.commit([people.putUser(aUser('boss', { role: 'admin' }), null)]);
    await store.commit([
      keys.insert(keyInfo('a', { user: 'ann' }), HASHES.a!, { maker: 'lead' }),
      keys.insert(keyInfo('b'), HASHES.b!, { maker: 'ann' }),
      keys.insert(keyInfo('c'), HASHES.c!),
      keys.insert(keyInfo('d', { user: 'user_boss' }), HASHES.d!),
      keys.insert(keyInfo('w', { user: 'ann' }), HASHES.w!),
    ]);
    expect([await make('e', 'a'), await make('f', 'e')]).toEqual([null, null]);
    expect([await make('g', 'a'), await make('g', 'b'), await make('g', 'f'), await make('g', 'w')]).toEqual(
      Array(4).fill('unmet'),
    );
    expect(await keys.countOfUser({ owner: 'ann', maker: 'ann' }, NOON)).toEqual({ unrevoked: 3, aDay: 1 });
    for (const parent of ['c', 'd'])
      for (const at of [1, 2, 3]) {
        const child = { parent, createdAt: NOON };
        const place = { depth: 3, live: 9, aDay: 9, aDayOfUser: 2, parent, hash: HASHES[parent]! };
        const id = `${parent}${at}`;
        await store.commit([
          trail.addIfRoomBelow(keyEvent(id, 'create', NOON), place),
          keys.insert(keyInfo(id, child), hashOf(at), { parentHash: HASHES[parent]! }),
        ]);
      }
    await store.commit([keys.revoke('e', NOON)]);
    expect([await make('g', 'w'), await make('g', 'w', NOON + DAY_MS)]).toEqual(['unmet', null]);
  });

  test('a child key ends with the secret that created it, and then does not count against limits', async () => {
    await using store = await open();
    const { keys, trail } = store;
    const make = (id: string, by: string, at: number) =>
      refusalOf(
        store.commit([
          trail.addIfRoomBelow(keyEvent(id, 'create', at), {
            parent: 'a',
            hash: HASHES[by]!,
            depth: 3,
            live: 1,
            aDay: 9,
            aDayOfUser: 9,
          }),
          keys.insert(keyInfo(id, { parent: 'a', createdAt: at }), HASHES[id]!, { parentHash: HASHES[by]! }),
        ]),
      );
    await store.commit([keys.insert(keyInfo('a'), HASHES.a!)]);
    expect(await make('b', 'a', NOON)).toBeNull();
    await store.commit([keys.rotate('a', HASHES.w!, NOON, NOON + 5)]);
    expect([await make('c', 'w', NOON + 4), await make('c', 'w', NOON + 5)]).toEqual(['unmet', null]);
    expect(await make('d', 'a', NOON + 5)).toBe('unmet');
  });

  test('a start reads no child keys that ended with a key above them or expired long ago', async () => {
    await using store = await open();
    const { keys } = store;
    const child = (id: string, parent: string, expiresAt: number | null = null) =>
      store.commit([keys.insert(keyInfo(id, { parent, expiresAt }), hashOf(1))]);
    await store.commit([keys.insert(keyInfo('a'), hashOf(1)), keys.insert(keyInfo('b'), hashOf(1))]);
    await child('open', 'a', NOON);
    await child('over', 'a', NOON - 1);
    await child('middle', 'a', NOON - 1);
    await child('below', 'middle', NOON);
    await child('revoked', 'a');
    await child('its child', 'revoked');
    await child('of b', 'b');
    await child('far below b', 'of b');
    await store.commit([keys.revoke('revoked', NOON), keys.revoke('b', NOON)]);
    const read = async (endedBefore?: number) => {
      const { rows } = await keys.changedAfter(-1, endedBefore);
      return rows.map(({ key }) => key.info.id).toSorted();
    };
    expect(await read(NOON)).toEqual(['a', 'below', 'middle', 'open']);
    expect(await read()).toEqual(['a', 'below', 'middle', 'open', 'over']);
    const ended = async (limit: number, endedBefore: number) =>
      (await keys.ended(limit, endedBefore)).map(({ key }) => key.info.id).toSorted();
    const all = ['b', 'far below b', 'its child', 'of b', 'over', 'revoked'];
    expect(await ended(9, NOON)).toEqual(all);
    expect(await ended(9, 0)).toEqual(all.filter((id) => id !== 'over'));
    expect(await ended(2, NOON)).toEqual(['b', 'revoked']);
  });
}
