import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { CachedRow } from '../../../src/store/cache.ts';
import type { TestedStore } from '../implementations.ts';
import { hashOf, keyInfo } from './access.ts';
import { aUser } from './people.ts';

const NOW = 1_000_000;

/** A name that differs for each number. */
export const nameOf = (one: number): Uint8Array => new Uint8Array(32).fill(one);

export const cached = (one: number, more: Partial<CachedRow> = {}): CachedRow => ({
  ...{ name: nameOf(one), keyId: 'k', userId: null, stored: NOW, expires: NOW + 100, used: NOW },
  ...{ answer: new Uint8Array([one, 2, 3]) },
  ...more,
});

const NAMES = [1, 2, 3, 4, 5].map(nameOf);
const found = async ({ cache }: Pick<TestedStore, 'cache'>, now = NOW) =>
  (await cache.find(NAMES, now)).map(({ name }) => name[0]!).sort();

/** The guarantees of every table of cached answers. */
export function cacheSuite(open: () => Promise<TestedStore>): void {
  test('an entry is found by its name until it expires, and a later entry replaces it', async () => {
    await using store = await open();
    const { cache } = store;
    const row = cached(1, { userId: 'user_u' });
    await store.commit([cache.keep(row)]);
    const [kept] = await cache.find([nameOf(9), nameOf(1)], NOW + 99);
    expect<object>({ ...kept, name: new Uint8Array(kept!.name), answer: new Uint8Array(kept!.answer) }).toEqual(row);
    expect(await found(store, NOW + 100)).toEqual([]);
    await store.commit([cache.keep(cached(1, { expires: NOW + 200 }))]);
    expect(await found(store, NOW + 100)).toEqual([1]);
  });

  test('revoking a key erases its entries, removing a user erases the entries of the user, and a revoked key gets none', async () => {
    await using store = await open();
    const { cache, keys, people } = store;
    await store.commit([
      keys.insert(keyInfo('k'), hashOf(1)),
      people.putUser(aUser('u'), null),
      ...[cached(1), cached(2, { keyId: 'l' }), cached(3, { keyId: 'l', userId: 'user_u' })].map((row) =>
        cache.keep(row),
      ),
    ]);
    await store.commit([keys.revoke('k', NOW)]);
    expect(await found(store)).toEqual([2, 3]);
    await store.commit([people.putUser(aUser('u', { removedAt: NOW }), 1)]);
    expect(await found(store)).toEqual([2]);
    await store.commit([cache.keep(cached(4))]);
    expect(await found(store)).toEqual([2]);
  });

  test('revoking a key erases the entries of all keys below it, and none of them gets an entry afterwards', async () => {
    await using store = await open();
    const { cache, keys } = store;
    const owners = ['k', 'child', 'grandchild', 'other', 'of-other'];
    await store.commit([
      keys.insert(keyInfo('k'), hashOf(1)),
      keys.insert(keyInfo('child', { parent: 'k' }), hashOf(2)),
      keys.insert(keyInfo('grandchild', { parent: 'child' }), hashOf(3)),
      keys.insert(keyInfo('other'), hashOf(4)),
      keys.insert(keyInfo('of-other', { parent: 'other' }), hashOf(5)),
      ...owners.map((keyId, at) => cache.keep(cached(at + 1, { keyId }))),
    ]);
    await store.commit([keys.revoke('child', NOW)]);
    expect(await found(store)).toEqual([1, 4, 5]);
    await store.commit([keys.revoke('k', NOW)]);
    expect(await found(store)).toEqual([4, 5]);
    await store.commit(owners.map((keyId, at) => cache.keep(cached(at + 1, { keyId, expires: NOW + 200 }))));
    expect(await found(store, NOW + 100)).toEqual([4, 5]);
  });

  test('expired entries are deleted, and only they', async () => {
    await using store = await open();
    const { cache } = store;
    await store.commit([1, 2, 3].map((one) => cache.keep(cached(one, { expires: NOW + one }))));
    expect(await cache.prune(NOW + 2)).toBe(2);
    expect(await found(store)).toEqual([3]);
  });

  test('the sizes are the number and the bytes of all entries, with the one that expires first', async () => {
    await using store = await open();
    const { cache } = store;
    expect(await cache.sizes()).toEqual({ answers: 0, bytes: 0, oldestAt: null });
    const later = cached(1, { stored: NOW + 5, expires: NOW + 200, answer: new Uint8Array(10) });
    await store.commit([cache.keep(later), cache.keep(cached(2, { keyId: 'l' })), cache.keep(cached(2))]);
    expect(await cache.sizes()).toEqual({ answers: 2, bytes: 13, oldestAt: NOW });
    await store.commit([cache.keep(cached(3, { stored: NOW - 5 }))]);
    expect((await cache.sizes()).oldestAt).toBe(NOW - 5);
  });

  test('beyond the limit of bytes, the entries that were not used for the longest time are deleted first', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ bytes: fc.integer({ min: 1, max: 9 }), used: fc.nat(9) }), { minLength: 1, maxLength: 5 }),
        fc.nat(30),
        async (sizes, most) => {
          await using store = await open();
          const { cache } = store;
          const rows = sizes.map(({ bytes }, at) => cached(at + 1, { answer: new Uint8Array(bytes) }));
          await store.commit(rows.map((row) => cache.keep(row)));
          await store.commit(sizes.map(({ used }, at) => cache.use(nameOf(at + 1), NOW + used)));
          await cache.evict(most);
          const order = sizes
            .map((one, at) => ({ ...one, name: at + 1 }))
            .sort((a, b) => b.used - a.used || a.name - b.name);
          let total = 0;
          const left = order.filter(({ bytes }) => {
            total += bytes;
            return total <= most;
          });
          expect(await found(store)).toEqual(left.map(({ name }) => name).sort());
        },
      ),
      { numRuns: 12 },
    );
  });
}
