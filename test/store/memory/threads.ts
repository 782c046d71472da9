import type { ThreadRow, ThreadTable } from '../../../src/store/threads.ts';
import { type MemoryStore, MemoryTable } from './store.ts';

interface ThreadInMemory {
  /** Grows with each row. */
  readonly id: number;
  readonly row: ThreadRow;
}

const nameOf = (keyId: string, answer: string): string => JSON.stringify([keyId, answer]);

/** The table, and how a revoked key erases its rows. */
export function memoryThreads(store: MemoryStore, isRevoked: (keyId: string) => boolean) {
  const rows = new MemoryTable<string, ThreadInMemory>(store);
  let last = 0;
  const remove = (found: readonly ThreadInMemory[]) => {
    for (const { row } of found) rows.delete(nameOf(row.keyId, row.answer));
  };
  const ofKey = (keyId: string) => rows.rows().filter(({ row }) => row.keyId === keyId);
  const threads: ThreadTable = {
    find: async (keyId, answer) => rows.get(nameOf(keyId, answer))?.row ?? null,
    put: (row, most) => [
      store.write(() => {
        if (isRevoked(row.keyId)) return;
        rows.put(nameOf(row.keyId, row.answer), { id: ++last, row });
      }),
      store.write(() =>
        remove(
          ofKey(row.keyId)
            .sort((a, b) => b.id - a.id)
            .slice(most),
        ),
      ),
    ],
    async prune(until) {
      const old = rows.rows().filter(({ row }) => row.time <= until);
      await store.commit([store.write(() => remove(old))]);
      return old.length;
    },
  };
  return { threads, erase: (keyId: string) => remove(ofKey(keyId)) };
}
