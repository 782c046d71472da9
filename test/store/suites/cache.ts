import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { bytesOnDisk, type CachedRow } from '../../../src/store/cache.ts';
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

/** More entries than an eviction reads together, the last used last. */
export const MANY: readonly CachedRow[] = Array.from({ length: 1_100 }, (_, at) =>
  cached(1, { name: Buffer.from(String(at).padStart(32, '0')), used: NOW + at }),
);
/** How many of them an eviction leaves. */
export const LEFT = 600;

const NAMES = [1, 2, 3, 4, 5].map(nameOf);
const ALL = Number.MAX_SAFE_INTEGER;
const found = async ({ cache }: Pick<TestedStore, 'cache'>, now = NOW) =>
  (await cache.find(NAMES, now, ALL)).map(({ name }) => name[0]!).sort();

/** The guarantees of every table of cached answers. */
export function cacheSuite(open: () => Promise<TestedStore>): void {
  test('an entry is found by its name until it expires, and a later entry replaces it', async () => {
    await using store = await open();
    const { cache } = store;
    const row = cached(1, { userId: 'user_u' });
    await store.commit([cache.keep(row)]);
    const [kept] = await cache.find([nameOf(9), nameOf(1)], NOW + 99, ALL);
    const whole = { ...kept, name: new Uint8Array(kept!.name), answer: new Uint8Array(kept!.answer!) };
    expect<object>(whole).toEqual({ ...row, bytes: 3 });
    expect(await found(store, NOW + 100)).toEqual([]);
    await store.commit([cache.keep(cached(1, { expires: NOW + 200 }))]);
    expect(await found(store, NOW + 100)).toEqual([1]);
  });

  test('a search reads no answer with more bytes than it may read', async () => {
    await using store = await open();
    const { cache } = store;
    await store.commit([3, 4].map((bytes) => cache.keep(cached(bytes, { answer: new Uint8Array(bytes) }))));
    for (const names of [[nameOf(3), nameOf(4)], [nameOf(4)]]) {
      const rows = await cache.find(names, NOW, 3);
      const sizes = rows.map(({ bytes, answer }) => [bytes, answer?.length ?? null]);
      expect(sizes.toSorted()).toEqual(
        names.length === 1
          ? [[4, null]]
          : [
              [3, 3],
              [4, null],
            ],
      );
    }
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

  test('the sizes are the number and the bytes on disk of all entries, with the one that expires first', async () => {
    await using store = await open();
    const { cache } = store;
    expect(await cache.sizes()).toEqual({ answers: 0, bytes: 0, oldestAt: null });
    const later = cached(1, { stored: NOW + 5, expires: NOW + 200, answer: new Uint8Array(10) });
    await store.commit([cache.keep(later), cache.keep(cached(2, { keyId: 'l' })), cache.keep(cached(2))]);
    expect(await cache.sizes()).toEqual({ answers: 2, bytes: bytesOnDisk(10) + bytesOnDisk(3), oldestAt: NOW });
    await store.commit([cache.keep(cached(3, { stored: NOW - 5 }))]);
    expect((await cache.sizes()).oldestAt).toBe(NOW - 5);
  });

  test('beyond the limit of bytes on disk, the entries that were not used for the longest time are deleted first', async () => {
    const size = fc.record({ bytes: fc.integer({ min: 1, max: 4_000 }), used: fc.nat(9) });
    await fc.assert(
      fc.asyncProperty(fc.array(size, { minLength: 1, maxLength: 5 }), fc.nat(15_000), async (sizes, most) => {
        await using store = await open();
        const { cache } = store;
        const rows = sizes.map(({ bytes }, at) => cached(at + 1, { answer: new Uint8Array(bytes) }));
        await store.commit(rows.map((row) => cache.keep(row)));
        await store.commit(sizes.map(({ used }, at) => cache.use(nameOf(at + 1), NOW + used)));
        await cache.evict(most);
        // Entries that were last used at the same time are deleted together.
        const isKept = ({ used }: (typeof sizes)[number]) =>
          sizes.reduce((sum, one) => sum + (one.used >= used ? bytesOnDisk(one.bytes) : 0), 0) <= most;
        expect(await found(store)).toEqual(sizes.flatMap((one, at) => (isKept(one) ? [at + 1] : [])));
        expect((await cache.sizes()).bytes).toBeLessThanOrEqual(most);
      }),
      { numRuns: 12 },
    );
  });

  test('an eviction reads further than the entries that it reads together', async () => {
    await using store = await open();
    const { cache } = store;
    await store.commit(MANY.map((row) => cache.keep(row)));
    await cache.evict(LEFT * bytesOnDisk(3));
    expect((await cache.sizes()).answers).toBe(LEFT);
    const names = MANY.slice(-LEFT - 1, 1 - LEFT).map(({ name }) => name);
    expect((await cache.find(names, NOW, ALL)).length).toBe(1);
  });
}
