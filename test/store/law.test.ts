import { expect, test } from 'bun:test';
import fc from 'fast-check';
import type { Write } from '../../src/store/store.ts';
import { effort, isDeep } from '../deep/effort.ts';
import { openInMemory, type TestedStore } from './implementations.ts';
import { MemoryStore } from './memory/store.ts';
import { memoryThreads } from './memory/threads.ts';
import { lawOf } from './repository-law.ts';
import { subjectEvent } from './suites/access.ts';

const { runs, seed, proved } = effort('repositories', 3, 500);

test('the stores in SQLite and in memory agree after any commits of access and payments', async () => {
  await fc.assert(
    lawOf(() => openInMemory()),
    { numRuns: runs, seed },
  );
  proved('commits of keys, their trail and payments give the same answers and content in SQLite and in memory');
});

/** A store that leaves what a refused commit has written. */
class HalfStore extends MemoryStore {
  override rollBack(): void {}
}

/** Each with a seed whose first commits show it, for `npm test`. */
const MUTANTS: Readonly<Record<string, readonly [seed: number, open: () => Promise<TestedStore>]>> = {
  'a refused commit leaves its first writes': [3, () => openInMemory(new HalfStore())],
  'a condition is not looked at': [
    3,
    async () => {
      const store = await openInMemory();
      return {
        ...store,
        ...boundTo(store),
        trail: { ...store.trail, addIfValid: (event) => store.trail.add(subjectEvent(event)) },
      };
    },
  ],
  'revoked keys take room': [
    75,
    async () => {
      const store = await openInMemory();
      return { ...store, ...boundTo(store), keys: { ...store.keys, revokeOfHolder: () => store.keys.putUses({}) } };
    },
  ],
  'the threads of a revoked key stay': [
    20,
    async () => {
      const own = new MemoryStore();
      const store = await openInMemory(own);
      return { ...store, ...boundTo(store), threads: memoryThreads(own, () => false).threads };
    },
  ],
  'a team is removed while it is in use': [
    33,
    async () => {
      const store = await openInMemory();
      const putTeam: TestedStore['people']['putTeam'] = (team, version) =>
        store.people.putTeam({ ...team, removedAt: null }, version);
      return { ...store, ...boundTo(store), people: { ...store.people, putTeam } };
    },
  ],
  'a payment arrives twice': [
    57,
    async () => {
      const store = await openInMemory();
      const { payments } = store;
      return { ...store, ...boundTo(store), payments: { ...payments, capture: payments.doubt } };
    },
  ],
};

const boundTo = (store: TestedStore) => ({
  commit: (made: readonly Write[]) => store.commit(made),
  append: (made: readonly Write[]) => store.append(made),
  written: () => store.written(),
  close: () => store.close(),
  [Symbol.asyncDispose]: () => store.close(),
});

for (const [name, [soon, open]] of Object.entries(MUTANTS))
  test(`a store where ${name} differs`, async () => {
    const numRuns = isDeep ? 4_000 : 400;
    const { failed } = await fc.check(lawOf(open), { numRuns, seed: isDeep ? seed : soon, endOnFailure: true });
    expect(failed).toBe(true);
  });
