import type { Dimensions } from '../../../../src/core/accounting/entry.ts';
import type { FundRef, FundStanding } from '../../../../src/core/accounting/fund.ts';
import type { BooksWatcher } from '../../../../src/store/books.ts';

/** The watchers of the instances that share books. */
export class Watchers implements BooksWatcher {
  readonly #all: BooksWatcher[] = [];

  add(watcher: BooksWatcher): void {
    this.#all.push(watcher);
  }

  freed(funds: readonly FundStanding[]): void {
    for (const one of this.#all) one.freed(funds);
  }

  opened(holder: string): void {
    for (const one of this.#all) one.opened(holder);
  }

  adjusted(): void {
    for (const one of this.#all) one.adjusted();
  }

  fundsOf(dimensions: Dimensions, at: number): readonly FundRef[] {
    const refs = this.#all.flatMap((one) => one.fundsOf(dimensions, at));
    return [...new Map(refs.map((ref) => [ref.key, ref])).values()];
  }
}
