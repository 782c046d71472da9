import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { LedgerBooks } from '../../src/store/books.ts';
import { NO_TERMS, NOON } from '../ledger/support.ts';
import { MemoryBooks } from '../store/memory/books/books.ts';
import { booksOf } from '../store/memory/books/handle.ts';

/** Books that several instances share, with the slot of the next instance. */
export class SharedBooks {
  readonly books: MemoryBooks;
  #slots = 0;

  constructor(books = new MemoryBooks({ commit: async () => {}, append: () => {}, written: async () => true })) {
    this.books = books;
  }

  /**
   * Opens the ledger of another instance.
   * @param other methods that replace methods of its books
   */
  async ledger(onCrash: 'charge' | 'release' = 'charge', other: Partial<LedgerBooks> = {}, timers = processTimers) {
    const name = { slot: ++this.#slots, epoch: 1 };
    const books = booksOf(this.books, name, other);
    const terms = { ...NO_TERMS, ledger: { ...NO_TERMS.ledger, onCrash } };
    const alarms: string[] = [];
    const ledger: Ledger = await openLedger({
      ...{ books, terms, timers, now: () => NOON },
      onAlarm: (message) => alarms.push(message),
    });
    return { ledger, alarms, died: () => this.books.died(name), [Symbol.asyncDispose]: () => ledger.close() };
  }

  /** The kinds of the entries that ended a hold. */
  endsOf(id: number): string[] {
    const isEnd = ({ kind }: { kind: string }) => kind === 'settle' || kind === 'expire' || kind === 'void';
    return this.books.journal.entries.flatMap((one) => (one.reservation === id && isEnd(one) ? [one.kind] : []));
  }

  /** The kinds of the entries that ended each hold. */
  ends(): string[][] {
    const ids = this.books.journal.entries.flatMap(({ kind, reservation }) =>
      kind === 'reserve' && reservation !== null ? [reservation] : [],
    );
    return ids.map((id) => this.endsOf(id));
  }

  /** The charge of a hold minus refunds, microcredits. */
  async booked(id: number): Promise<number> {
    const { charged = 0, givenBack = 0 } = (await this.books.reservation(id)) ?? {};
    return charged - givenBack;
  }
}

export type Instance = Awaited<ReturnType<SharedBooks['ledger']>>;
