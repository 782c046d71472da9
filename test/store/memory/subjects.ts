import type { SubjectRow, SubjectTable } from '../../../src/store/subjects.ts';
import { type MemoryStore, MemoryTable } from './store.ts';

/** Rows keep the order in which they came. */
export function memorySubjects(store: MemoryStore): SubjectTable {
  const rows = new MemoryTable<string, SubjectRow>(store);
  return {
    see: ({ id, issuer, sub, name }, time) =>
      store.write(() => {
        const known = rows.get(id) ?? { id, issuer, sub, name, firstSeen: time, lastSeen: time };
        rows.put(id, { ...known, name, lastSeen: Math.max(known.lastSeen, time) });
      }),
    find: async (id) => rows.get(id) ?? null,
    list: async (limit, before) => {
      const all = rows.rows();
      const end = before === null ? all.length : all.findIndex(({ id }) => id === before);
      return all.slice(0, Math.max(0, end)).reverse().slice(0, limit);
    },
  };
}
