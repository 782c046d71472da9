import { expect, test } from 'bun:test';
import type { ThreadRow } from '../../../src/store/threads.ts';
import type { TestedStore } from '../implementations.ts';
import { keyInfo } from './access.ts';

export const thread = (keyId: string, answer: string, more: Partial<ThreadRow> = {}): ThreadRow => ({
  ...{ keyId, answer, model: 'm', provider: 'p', origin: 'o', tokens: 7, addOns: null, time: 5 },
  ...more,
});

const HASH = new Uint8Array(32);

/** The guarantees of every table of threads. */
export function threadSuite(open: () => Promise<TestedStore>): void {
  const found = async ({ threads }: TestedStore, keyId: string, answers: readonly string[]) => {
    const rows = await Promise.all(answers.map((answer) => threads.find(keyId, answer)));
    return rows.flatMap((row) => (row ? [row.answer] : []));
  };

  test('an answer of a thread is found only by its own key, as it was last stored', async () => {
    await using store = await open();
    const { threads } = store;
    const addOns = {
      units: ['cache_write_1h'] as const,
      toolUses: { web_search: 2 },
      rereadings: 3,
      unpriced: ['thread'],
    };
    await store.commit([...threads.put(thread('k', 'a', { tokens: 1 }), 9), ...threads.put(thread('l', 'b'), 9)]);
    await store.commit(threads.put(thread('k', 'a', { addOns }), 9));
    expect(await threads.find('k', 'a')).toEqual(thread('k', 'a', { addOns }));
    expect([await threads.find('l', 'a'), await threads.find('k', 'b')]).toEqual([null, null]);
  });

  test('a key keeps its newest answers, independently of other keys', async () => {
    await using store = await open();
    const { threads } = store;
    const names = ['a', 'b', 'c', 'd', 'e'];
    await store.commit(threads.put(thread('l', 'a'), 3));
    for (const name of names) await store.commit(threads.put(thread('k', name), 3));
    expect(await found(store, 'k', names)).toEqual(['c', 'd', 'e']);
    // Storing the oldest answer again makes it the newest.
    await store.commit(threads.put(thread('k', 'c'), 3));
    await store.commit(threads.put(thread('k', 'f'), 3));
    expect(await found(store, 'k', [...names, 'f'])).toEqual(['c', 'e', 'f']);
    expect(await found(store, 'l', names)).toEqual(['a']);
  });

  test('revoking a key deletes its answers, and no answers are stored for a revoked key', async () => {
    await using store = await open();
    const { threads, keys } = store;
    const put = (...ids: readonly string[]) => ids.flatMap((id) => threads.put(thread(id, 'a'), 9));
    const left = async () =>
      (await Promise.all(['k', 'l', 'm'].map((id) => threads.find(id, 'a')))).map((row) => row?.keyId);
    await store.commit(['l', 'm'].map((id) => keys.insert(keyInfo(id, { holder: '0xw' }), HASH)));
    await store.commit([keys.insert(keyInfo('k'), HASH), ...put('k', 'l', 'm')]);
    await store.commit([keys.revoke('k', 6)]);
    expect(await left()).toEqual([undefined, 'l', 'm']);
    await store.commit([keys.revokeOfHolder('0xw', 'm', 7)]);
    await store.commit(put('k', 'l'));
    expect(await left()).toEqual([undefined, undefined, 'm']);
    await store.commit([keys.revokeOfHolder('0xw', null, 8)]);
    expect(await left()).toEqual([undefined, undefined, undefined]);
  });

  test('pruning deletes old answers', async () => {
    await using store = await open();
    const { threads } = store;
    await store.commit(['a', 'b', 'c'].flatMap((name, at) => threads.put(thread('k', name, { time: at }), 9)));
    expect(await threads.prune(1)).toBe(2);
    expect(await found(store, 'k', ['a', 'b', 'c'])).toEqual(['c']);
  });
}
