import type { PushedPolicy, PushedPolicyTable } from '../../../src/store/pushed-policies.ts';
import { type MemoryStore, MemoryTable, unmet } from './store.ts';

export function memoryPushedPolicies(store: MemoryStore): PushedPolicyTable {
  const rows = new MemoryTable<number, PushedPolicy>(store);
  const newest = () => rows.rows().sort((one, other) => other.id - one.id);
  const head = () => newest().find(({ state }) => state === 'accepted') ?? null;
  const offered = () => newest().find(({ state }) => state === 'offered') ?? null;
  const put = (row: PushedPolicy) => {
    store.raised('policy');
    rows.put(row.id, row);
  };
  const end = (id: number, change: Partial<PushedPolicy>) =>
    store.write(() => {
      const row = rows.get(id);
      if (row?.state !== 'offered') return unmet();
      put({ ...row, ...change });
    });
  return {
    find: async (id) => rows.get(id) ?? null,
    head: async () => head(),
    offered: async () => offered(),
    list: async (limit, before = Number.POSITIVE_INFINITY) =>
      newest()
        .filter(({ id }) => id < before)
        .slice(0, limit)
        .map(({ source: _, plugins: __, ...entry }) => entry),
    offer: (push) =>
      store.write(() => {
        const isNext = push.id === (newest()[0]?.id ?? 0) + 1;
        if (!isNext || offered() !== null || push.base !== (head()?.id ?? 0)) return unmet();
        put({ ...push, state: 'offered', reason: null });
      }),
    accept: (id, revision) => end(id, { state: 'accepted', revision }),
    refuse: (id, reason) => end(id, { state: 'refused', reason }),
    expire: (before, reason) =>
      store.write(() => {
        const row = offered();
        if (row && row.time < before) put({ ...row, state: 'refused', reason });
      }),
    forget: (through) =>
      store.write(() => {
        const kept = head()?.id;
        if (kept === undefined) return;
        for (const { id } of rows.rows()) if (id <= through && id !== kept) rows.delete(id);
      }),
  };
}
