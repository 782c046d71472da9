import { expect, test } from 'bun:test';
import type { Login } from '../../../src/store/logins.ts';
import { refusalOf, type TestedStore } from '../implementations.ts';

export const login = (id: string, more: Partial<Login> = {}): Login => ({
  ...{ id, user: 'user_1', key: null, keyHash: null },
  ...{ createdAt: 5, usedAt: 5, confirmedAt: 5, expiresAt: 100, endedAt: null },
  ...{ browser: 'Firefox', from: '192.0.2.7' },
  ...more,
});

const HASH = new Uint8Array(32).fill(7);
const TOKEN = new Uint8Array([1, 2, 3]);

/** The guarantees of every table of logins. */
export function loginSuite(open: () => Promise<TestedStore>): void {
  test('a login is read as it was stored, and an ended login stays ended', async () => {
    await using store = await open();
    const { logins } = store;
    await store.commit([logins.insert({ login: login('a'), hash: HASH }, TOKEN)]);
    expect(await logins.find('a')).toEqual({ login: login('a'), hash: HASH });
    expect(await logins.find('b')).toBeNull();
    expect(await logins.tokenOf('a')).toEqual(TOKEN);
    await store.commit([logins.end('a', 9)]);
    expect((await logins.find('a'))?.login).toEqual(login('a', { endedAt: 9, expiresAt: 9 }));
    expect(await logins.tokenOf('a')).toBeNull();
    for (const id of ['a', 'b']) expect(await refusalOf(store.commit([logins.end(id, 10)]))).toBe('unmet');
    await store.commit([logins.confirm('a', 11, TOKEN)]);
    expect((await logins.find('a'))?.login.confirmedAt).toBe(5);
  });

  test('a login belongs to a user, or to a key with the hash of its secret', async () => {
    await using store = await open();
    const { logins } = store;
    const keyHash = new Uint8Array(32).fill(3);
    const ofKey = login('k', { user: null, key: 'key_1', keyHash });
    await store.commit([logins.insert({ login: ofKey, hash: HASH }, null)]);
    const found = await logins.find('k');
    expect(found).toEqual({ login: ofKey, hash: HASH });
    expect((await logins.changedAfter(-1)).rows).toEqual([{ login: ofKey, hash: HASH }]);
    for (const [id, odd] of [
      ['none', { user: null }],
      ['both', { key: 'key_1', keyHash }],
      ['half', { user: null, key: 'key_1' }],
    ] as const) {
      expect(
        await refusalOf(store.commit([logins.insert({ login: login(id, odd), hash: HASH }, null)])),
      ).not.toBeNull();
      expect(await logins.find(id)).toBeNull();
    }
  });

  test('a read of logins returns the changes since the last read: new logins, uses, ends and renewals', async () => {
    await using store = await open();
    const { logins } = store;
    const since = async (number: number) => {
      const { rows, through } = await logins.changedAfter(number);
      return { through, ids: rows.map((row) => row.login.id) };
    };
    await store.commit([
      logins.insert({ login: login('b'), hash: HASH }, null),
      logins.insert({ login: login('a', { createdAt: 6 }), hash: HASH }, null),
    ]);
    const all = await since(-1);
    expect(all.ids).toEqual(['b', 'a']);
    expect((await since(all.through)).ids).toEqual([]);
    await store.commit([logins.use('a', 9), logins.use('b', 4)]);
    const used = await since(all.through);
    expect(used.ids).toEqual(['a']);
    await store.commit([logins.claim({ id: 'a', confirmedAt: 5, now: 10, until: 20 })]);
    expect((await since(used.through)).ids).toEqual([]);
    await store.commit([logins.confirm('a', 12, null)]);
    await store.commit([logins.end('b', 13)]);
    expect((await since(used.through)).ids).toEqual(['b', 'a']);
    expect((await logins.find('a'))?.login).toMatchObject({ usedAt: 9, confirmedAt: 12 });
  });

  test('only one instance at a time renews a login, until the claim of the instance expires', async () => {
    await using store = await open();
    const { logins } = store;
    await store.commit([logins.insert({ login: login('a'), hash: HASH }, TOKEN)]);
    const claim = (now: number, confirmedAt = 5) =>
      refusalOf(store.commit([logins.claim({ id: 'a', confirmedAt, now, until: now + 10 })]));
    expect([await claim(10), await claim(19), await claim(20)]).toEqual([null, 'unmet', null]);
    await store.commit([logins.confirm('a', 21, new Uint8Array([4]))]);
    expect(await logins.tokenOf('a')).toEqual(new Uint8Array([4]));
    expect([await claim(22), await claim(22, 21)]).toEqual(['unmet', null]);
    await store.commit([logins.end('a', 23)]);
    expect(await claim(99, 21)).toBe('unmet');
  });

  test('pruning deletes ended and expired logins', async () => {
    await using store = await open();
    const { logins } = store;
    const ids = ['a', 'b', 'c'];
    await store.commit(
      ids.map((id, at) => logins.insert({ login: login(id, { expiresAt: 10 * (at + 1) }), hash: HASH }, null)),
    );
    await store.commit([logins.end('c', 7)]);
    expect(await logins.prune(10)).toBe(2);
    expect(await Promise.all(ids.map(async (id) => (await logins.find(id)) !== null))).toEqual([false, true, false]);
  });
}
