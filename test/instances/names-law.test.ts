import fc from 'fast-check';
import { tries } from '../deep/effort.ts';
import { memoryRepositories } from '../store/implementations.ts';
import { MemoryBooks } from '../store/memory/books/books.ts';
import { MemoryStore } from '../store/memory/store.ts';
import { LAW, type Lay, overNames } from './names-law.ts';

const inMemory: Lay = async () => {
  const store = new MemoryStore();
  const handle = { rows: Object.assign(store, memoryRepositories(store)), books: new MemoryBooks(store) };
  return { handles: [handle, handle], [Symbol.asyncDispose]: async () => {} };
};

overNames({
  ...{ name: 'memory', lay: inMemory, turns: fc.scheduler(), runs: tries(LAW, 150, 5_000) },
  // One history in 220 or 750 finds the rarer ones.
  ...{ mutantRuns: 20_000, mutants: () => true },
});
