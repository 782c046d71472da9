import { effort } from '../deep/effort.ts';
import { openMemoryStore } from '../store/memory/driver.ts';
import { type Lay, overPushes } from './pushes-law.ts';

const inMemory: Lay = async () => {
  const store = openMemoryStore(() => 0);
  return {
    open: async () => ({ ...store, commit: store.commit.bind(store) }),
    [Symbol.asyncDispose]: () => store.close(),
  };
};

overPushes('memory', inMemory, effort('pushes', 12, 300), true);
