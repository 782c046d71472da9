import { expect, test } from 'bun:test';
import { setImmediate } from 'node:timers/promises';
import { bytesOnDisk } from '../../src/store/cache.ts';
import { openInSqlite } from './implementations.ts';
import { LEFT, MANY } from './suites/cache.ts';

test('an eviction deletes entries in batches, between which other requests use the database', async () => {
  await using store = await openInSqlite();
  const { cache } = store;
  await store.commit(MANY.map((row) => cache.keep(row)));
  const counts = new Set<number>();
  let isOver = false;
  const evicting = cache.evict(LEFT * bytesOnDisk(3)).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    counts.add((await cache.sizes()).answers);
    await setImmediate();
  }
  await evicting;
  counts.add((await cache.sizes()).answers);
  const sizes = [...counts].sort((a, b) => b - a);
  expect([sizes[0], sizes.at(-1)]).toEqual([MANY.length, LEFT]);
  for (const [at, size] of sizes.slice(1).entries()) expect(sizes[at]! - size).toBeLessThanOrEqual(100);
});
