import type { LedgerBooks } from '../../../../src/store/books.ts';
import { type InstanceName, nameOf } from '../../../../src/store/instance.ts';
import type { MemoryBooks } from './books.ts';

/** Returns the same books for another instance, which owns the holds that it makes. Methods that `other` lacks are methods of the books. */
export function booksOf(books: MemoryBooks, name: InstanceName, other: Partial<LedgerBooks> = {}): LedgerBooks {
  // Sets the calling instance. This works because the books decide before the call returns.
  const asking = <Result>(ask: () => Result): Result => {
    // The name is copied, so that its holds keep their owner when the process takes another name.
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
