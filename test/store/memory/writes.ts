import type { Write } from '../../../src/store/store.ts';

/** A write of a repository in memory. */
interface MemoryWrite extends Write {
  /**
   * Changes the repository.
   * @returns undoes the change
   * @throws Error where a rule of the repository forbids it
   */
  readonly apply: () => () => void;
}

export const memoryWrite = (apply: MemoryWrite['apply']): MemoryWrite => ({
  statement: { sql: 'in memory' },
  params: [],
  apply,
});

const isMemoryWrite = (write: Write): write is MemoryWrite => 'apply' in write;

/** Applies all writes, or none where one throws. */
export function applyAll(writes: readonly Write[]): void {
  const undo: (() => void)[] = [];
  try {
    for (const write of writes) {
      if (!isMemoryWrite(write)) throw new Error('a write of another store');
      undo.push(write.apply());
    }
  } catch (cause) {
    for (const one of undo.reverse()) one();
    throw cause;
  }
}

/** Sets an entry of a map, or deletes it for undefined, as a write. */
export const setEntry = <Key, Value>(map: Map<Key, Value>, key: Key, value: Value | undefined): Write =>
  memoryWrite(() => {
    const before = map.get(key);
    const put = (one: Value | undefined) => (one === undefined ? map.delete(key) : map.set(key, one));
    put(value);
    return () => put(before);
  });
