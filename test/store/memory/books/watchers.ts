import type { FundRef, FundStanding } from '../../../../src/accounting/fund.ts';
import type { BooksWatcher } from '../../../../src/store/books.ts';

/** The watchers of all callers of books, as one. */
export class Watchers implements BooksWatcher {
  readonly all: BooksWatcher[] = [];

  freed(funds: readonly FundStanding[]): void {
    for (const one of this.all) one.freed(funds);
  }

  opened(holder: string): void {
    for (const one of this.all) one.opened(holder);
  }

  adjusted(): void {
    for (const one of this.all) one.adjusted();
  }

  fundsOf(...asked: Parameters<BooksWatcher['fundsOf']>): readonly FundRef[] {
    const refs = this.all.flatMap((one) => one.fundsOf(...asked));
    return [...new Map(refs.map((ref) => [ref.key, ref])).values()];
  }
}
