import fc from 'fast-check';
import { tries } from '../deep/effort.ts';
import { MemoryBooks } from '../store/memory/books/books.ts';
import { storeInMemory } from '../store/memory/store.ts';
import { LAW, type Lay, overNames } from './names-law.ts';

const inMemory: Lay = async () => {
  const rows = storeInMemory();
  const handle = { rows, books: new MemoryBooks(rows) };
  return { handles: [handle, handle], [Symbol.asyncDispose]: () => rows.close() };
};

overNames({
  ...{ name: 'memory', lay: inMemory, turns: fc.scheduler(), runs: tries(LAW, 75, 5_000) },
  // The rarer mutants are found by one history in 220 to 750.
  ...{ mutantRuns: 20_000, mutants: () => true },
});
