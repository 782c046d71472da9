import type { LedgerBooks } from '../../../../src/store/books.ts';
import { type InstanceName, nameOf } from '../../../../src/store/instance.ts';
import type { MemoryBooks } from './books.ts';

/** The same books for another instance: it owns the holds that it asks for. Other methods are those of the books, or `other`. */
export function booksOf(books: MemoryBooks, name: InstanceName, other: Partial<LedgerBooks> = {}): LedgerBooks {
  // Decided before the call returns.
  const asking = <Result>(ask: () => Result): Result => {
    // What it owns stays its own when the process takes another name.
    books.asking = nameOf(name);
    return ask();
  };
  const own: Partial<LedgerBooks> = {
    apply: (ops, also) => asking(() => books.apply(ops, also)),
    append: (ops, also) => asking(() => books.append(ops, also)),
    ...other,
  };
  return new Proxy<LedgerBooks>(books, {
    get: (target, at) => {
      const value: unknown = Reflect.get(at in own ? own : target, at);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
