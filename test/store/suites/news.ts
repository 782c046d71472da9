import { expect, test } from 'bun:test';
import { NEWS_SUBJECTS, type NewsSubject } from '../../../src/store/news.ts';
import type { Write } from '../../../src/store/store.ts';
import { refusalOf, type TestedStore } from '../implementations.ts';
import { keyEvent, keyInfo, subjectEvent } from './access.ts';
import { broken } from './endpoints.ts';
import { aTeam, aUser } from './people.ts';

const HASH = new Uint8Array(32).fill(7);

/** Counts the calls of a listener for each subject after the first poll, which calls every listener. */
async function listened(store: TestedStore) {
  const heard = new Map<NewsSubject, number>();
  for (const subject of NEWS_SUBJECTS)
    store.news.on(subject, () => void heard.set(subject, (heard.get(subject) ?? 0) + 1));
  await store.news.look();
  // A listener may be called twice if older news arrived late, just before the poll.
  expect([...heard.keys()].sort()).toEqual([...NEWS_SUBJECTS].sort());
  heard.clear();
  return async () => {
    await store.news.look();
    return Object.fromEntries(heard);
  };
}

/** The guarantees of every implementation of the news. */
export function newsSuite(open: () => Promise<TestedStore>): void {
  test('a listener is called once after the commit that raised its subject; other listeners are not called', async () => {
    await using store = await open();
    for (const subject of NEWS_SUBJECTS) {
      const heard = await listened(store);
      await store.commit([store.news.raise(subject)]);
      expect(await heard()).toEqual({ [subject]: 1 });
      expect(await heard()).toEqual({ [subject]: 1 });
    }
  });

  test('a refused commit calls no listener', async () => {
    await using store = await open();
    const heard = await listened(store);
    const refused = [store.news.raise('policy'), store.trail.addIfValid(keyEvent('none', 'grant'), 0)];
    expect(await refusalOf(store.commit(refused))).toBe('unmet');
    expect(await heard()).toEqual({});
  });

  const changes: readonly (readonly [string, NewsSubject | null, (store: TestedStore) => Write])[] = [
    ['a new key', 'keys', ({ keys }) => keys.insert(keyInfo('two'), HASH)],
    ['a rotation', 'keys', ({ keys }) => keys.rotate('one', HASH, 5, 6)],
    ['a revocation', 'keys', ({ keys }) => keys.revoke('one', 5)],
    ['a revocation of all keys of a holder', 'keys', ({ keys }) => keys.revokeOfHolder('0xa', null, 5)],
    ['a use of a key', null, ({ keys }) => keys.putUses({ one: 5 })],
    ['an entry of the trail', null, ({ trail }) => trail.add(subjectEvent(keyEvent('one')))],
    ['a new team', 'people', ({ people }) => people.putTeam(aTeam('a'), null)],
    ['a new user', 'people', ({ people }) => people.putUser(aUser('one'), null)],
    ['a blocked wallet', 'wallets', ({ blocklist }) => blocklist.put('0xb', '', 5)],
    ['another note of a blocked wallet', 'wallets', ({ blocklist }) => blocklist.put('0xa', 'why', 5)],
    ['an unblocked wallet', 'wallets', ({ blocklist }) => blocklist.delete('0xa')],
    [
      'a broken declaration',
      'endpoints',
      ({ brokenDeclarations }) => brokenDeclarations.put(broken({ provider: 'q' })),
    ],
    ['more excess of a broken declaration', 'endpoints', ({ brokenDeclarations }) => brokenDeclarations.put(broken())],
    ['a kept one', 'endpoints', ({ brokenDeclarations }) => brokenDeclarations.delete(broken())],
  ];
  test.each(changes)('%s raises %p', async (_, subject, change) => {
    await using store = await open();
    const { keys, blocklist, brokenDeclarations } = store;
    await store.commit([
      keys.insert(keyInfo('one', { holder: '0xa' }), HASH),
      blocklist.put('0xa', '', 1),
      brokenDeclarations.put(broken()),
    ]);
    const heard = await listened(store);
    await store.commit([change(store)]);
    expect(await heard()).toEqual(subject === null ? {} : { [subject]: 1 });
  });

  test('a read of keys from a news number returns the changed keys in their current state; from the start it returns the unrevoked ones', async () => {
    await using store = await open();
    const { keys } = store;
    const idsOf = (rows: readonly { readonly key: { readonly info: { readonly id: string } } }[]) =>
      rows.map(({ key }) => key.info.id);
    const none = await keys.changedAfter(-1);
    expect(none).toEqual({ rows: [], through: -1 });
    await store.commit(['one', 'two', 'three'].map((id, at) => keys.insert(keyInfo(id, { createdAt: at }), HASH)));
    const all = await keys.changedAfter(none.through);
    expect(idsOf(all.rows)).toEqual(['one', 'two', 'three']);
    expect(await keys.changedAfter(all.through)).toEqual({ rows: [], through: all.through });
    await store.commit([keys.revoke('two', 9), keys.rotate('three', HASH, 9, 9), keys.putUses({ one: 9 })]);
    const some = await keys.changedAfter(all.through);
    expect(idsOf(some.rows)).toEqual(['two', 'three']);
    expect(some.rows[0]?.key.info.revokedAt).toBe(9);
    const unrevoked = (await keys.all()).filter(({ key }) => key.info.revokedAt === null);
    expect(await keys.changedAfter(-1)).toEqual({ rows: unrevoked, through: some.through });
  });
}
