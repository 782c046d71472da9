import type { BrokenDeclaration, BrokenDeclarationTable, EndpointName } from '../../../src/store/endpoints.ts';
import { type MemoryStore, MemoryTable } from './store.ts';

const keyOf = ({ provider, upstream, model }: EndpointName): string => JSON.stringify([provider, upstream, model]);

export function memoryBrokenDeclarations(store: MemoryStore): BrokenDeclarationTable {
  const rows = new MemoryTable<string, BrokenDeclaration>(store);
  const raise = (change: () => void) => {
    store.raised('endpoints');
    change();
  };
  const order = (one: BrokenDeclaration, other: BrokenDeclaration): number =>
    one.provider.localeCompare(other.provider) ||
    one.upstream.localeCompare(other.upstream) ||
    one.model.localeCompare(other.model);
  return {
    all: async () => rows.rows().sort(order),
    put: (broken) => store.write(() => raise(() => rows.put(keyOf(broken), broken))),
    delete: (endpoint) => store.write(() => raise(() => rows.delete(keyOf(endpoint)))),
  };
}
