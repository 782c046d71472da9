import { LinkedSet } from '../../../src/core/linked-set.ts';
import { Contention } from '../../../src/ledger/contention.ts';
import { Ledger } from '../../../src/ledger/ledger.ts';
import { type SqlWrite, write } from '../../../src/store/sql/statement.ts';
import { Bookings } from '../../../src/store/sqlite/books/bookings.ts';
import { Checkpoints } from '../../../src/store/sqlite/books/checkpoint.ts';
import { Deposits } from '../../../src/store/sqlite/books/deposits.ts';
import { type BookedFund, FundStates } from '../../../src/store/sqlite/books/fund-states.ts';
import { Journal } from '../../../src/store/sqlite/books/journal.ts';
import { Reservations } from '../../../src/store/sqlite/books/reservations.ts';
import { Sums } from '../../../src/store/sqlite/books/sums.ts';
import type { SqlStore } from '../../../src/store/sqlite/statement.ts';
import { isAddress } from './entries.ts';

/** A ledger with a deliberate fault. */
export interface Mutant {
  /**
   * Puts the fault into a part of the ledger.
   * @returns a function that removes the fault
   */
  readonly infect?: () => () => void;
  /** Puts the fault between the ledger and the disk. */
  readonly wrap?: (store: SqlStore) => SqlStore;
}

/** Replaces a method with another one, which may call the original. */
function patch<Of extends object, Name extends keyof Of>(of: Of, name: Name, made: (original: Of[Name]) => Of[Name]) {
  const original = of[name];
  of[name] = made(original);
  return () => {
    of[name] = original;
  };
}

/** Replaces a getter. */
function patchGetter<Of extends object>(of: Of, name: keyof Of, get: () => unknown) {
  const original = Object.getOwnPropertyDescriptor(of, name)!;
  Object.defineProperty(of, name, { ...original, get });
  return () => Object.defineProperty(of, name, original);
}

/** A store that writes other rows than the ledger requests. */
function rewriting(store: SqlStore, rewrite: (writes: readonly SqlWrite[]) => readonly SqlWrite[]): SqlStore {
  return {
    commit: (writes: readonly SqlWrite[]) => store.commit(rewrite(writes)),
    append: (writes: readonly SqlWrite[]) => store.append(rewrite(writes)),
    query: (statement, params) => store.query(statement, params),
    written: () => store.written(),
    flush: () => store.flush(),
    close: () => store.close(),
  };
}

const without = (sql: string) => (store: SqlStore) =>
  rewriting(store, (writes) => writes.filter(({ statement }) => !statement.sql.startsWith(sql)));

/** A store that reads something else than was written. */
function misreading(store: SqlStore, reread: <Row>(row: Row) => Row): SqlStore {
  const read: SqlStore['query'] = async <Row>(...asked: Parameters<SqlStore['query']>) =>
    (await store.query<Row>(...asked)).map(reread);
  return { ...rewriting(store, (writes) => writes), query: read };
}

/** A fund that always has money. */
const bottomless = (fund: BookedFund): BookedFund =>
  new Proxy(fund, {
    get: (target, name) => (name === 'free' ? Number.POSITIVE_INFINITY : Reflect.get(target, name, target)),
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });

export const MUTANTS: Readonly<Record<string, Mutant>> = {
  'a settlement counts twice in a fund': {
    infect: () =>
      patch(Bookings.prototype, 'settle', (settle) => {
        return function (this: Bookings, made, ...asked) {
          const [fund] = made.funds;
          const before = fund?.spent ?? 0;
          const settlement = settle.call(this, made, ...asked);
          if (fund) fund.spent += fund.spent - before;
          return settlement;
        };
      }),
  },
  'a failed commit does not release what it held': {
    infect: () =>
      patch(Reservations.prototype, 'remove', (remove) => {
        return function (this: Reservations, made) {
          remove.call(this, made);
          for (const fund of made.funds) fund.held += made.held;
        };
      }),
  },
  'a window begins an hour late on a day with a clock change': {
    infect: () => {
      const { toZonedDateTime } = Temporal.PlainDate.prototype;
      const late: (this: Temporal.PlainDate, zone: { timeZone: string }) => Temporal.ZonedDateTime = function (zone) {
        const made = toZonedDateTime.call(this, zone);
        return made.hoursInDay === 24 ? made : made.add({ hours: 1 });
      };
      return patch(Temporal.PlainDate.prototype, 'toZonedDateTime', () => late as typeof toZonedDateTime);
    },
  },
  'a raise does not check the funds': {
    infect: () =>
      patch(Bookings.prototype, 'extend', (extend) => {
        return function (this: Bookings, made, ...asked) {
          const { funds } = made;
          made.funds = funds.map(bottomless);
          const raised = extend.call(this, made, ...asked);
          made.funds = funds;
          return raised;
        };
      }),
  },
  'a hold is granted below its least amount': {
    infect: () =>
      patch(Bookings.prototype, 'hold', (hold) => {
        return function (this: Bookings, op, batch) {
          return hold.call(this, { ...op, least: 0 }, batch);
        };
      }),
  },
  'a capped hold takes everything that is free': {
    infect: () =>
      patch(Bookings.prototype, 'hold', (hold) => {
        return function (this: Bookings, op, batch) {
          return hold.call(this, { ...op, ample: undefined }, batch);
        };
      }),
  },
  'a reload forgets open holds': {
    infect: () =>
      patch(Ledger.prototype, 'prepare', (prepare) => {
        return async function (this: Ledger, terms) {
          const swap = await prepare.call(this, terms);
          return () => {
            const cure = patch(LinkedSet.prototype, 'all', () => () => []);
            swap();
            cure();
          };
        };
      }),
  },
  'a start forgets what was open at the checkpoint': {
    wrap: (store) => misreading(store, (row) => (isState(row) ? { ...row, open: '[]' } : row)),
  },
  'a start reads entries again that are already in the checkpoint': {
    wrap: without('UPDATE checkpoint SET through'),
  },
  'a failed checkpoint is not repeated': {
    infect: () => patch(Sums.prototype, 'putBack', () => () => {}),
  },
  'a correction is refunded twice': {
    infect: () =>
      patch(Sums.prototype, 'add', (add) => {
        return function (this: Sums, spender, charge, funds) {
          add.call(this, spender, charge, funds);
          if (charge.microcredits < 0) add.call(this, spender, charge, funds);
        };
      }),
  },
  'a grant is booked again at the next start': {
    wrap: without('UPDATE adjustments SET adopted'),
  },
  'a later request overtakes waiting requests': {
    infect: () => patch(Contention.prototype, 'lineBefore', () => () => -1),
  },
  'no request is woken when money is released': {
    infect: () => patch(Contention.prototype, 'wake', () => () => {}),
  },
  'a settlement counts in the window of its own time': {
    infect: () => {
      let now = 0;
      const cures = [
        patch(Journal.prototype, 'charge', (charge) => {
          return function (this: Journal, ...asked) {
            now = asked[4];
            return charge.apply(this, asked);
          };
        }),
        patch(Sums.prototype, 'add', (add) => {
          return function (this: Sums, spender, charge, funds) {
            const late = Math.max(charge.reservation, (now - Date.UTC(2026, 0, 1)) * 8_192);
            add.call(this, spender, { ...charge, reservation: late }, funds);
          };
        }),
      ];
      return () => {
        for (const cure of cures) cure();
      };
    },
  },
  'the expiry of a hold is not written': {
    wrap: (store) => rewriting(store, (writes) => writes.filter(({ params }) => params[1] !== 'expire')),
  },
  'other requests can spend what a payment is expected to bring': {
    infect: () => {
      let purse: BookedFund | undefined;
      const lent = new Map<number, { purse: BookedFund; amount: number }>();
      const takeBack = (id: number) => {
        const loan = lent.get(id);
        if (loan) loan.purse.held += loan.amount;
        lent.delete(id);
      };
      const cures = [
        patch(FundStates.prototype, 'drawnBy', (drawnBy) => {
          return function (this: FundStates, refs) {
            const drawn = drawnBy.call(this, refs);
            purse = drawn.funds.find((fund) => fund.isBalance);
            return drawn;
          };
        }),
        patch(Bookings.prototype, 'earmark', (earmark) => {
          return function (this: Bookings, op, batch) {
            const result = earmark.call(this, op, batch);
            if (result.kind === 'granted' && purse) {
              const amount = Math.min(result.amount, op.expected);
              purse.held -= amount;
              lent.set(op.id, { purse, amount });
            }
            return result;
          };
        }),
        patch(Bookings.prototype, 'capture', (capture) => {
          return function (this: Bookings, op, batch) {
            takeBack(op.id);
            return capture.call(this, op, batch);
          };
        }),
        patch(Bookings.prototype, 'release', (release) => {
          return function (this: Bookings, id, batch) {
            takeBack(id);
            return release.call(this, id, batch);
          };
        }),
      ];
      return () => {
        for (const cure of cures) cure();
      };
    },
  },
  'an earmark is not released if no payment arrives': {
    infect: () => patch(Bookings.prototype, 'release', () => () => ({ kind: 'granted', amount: 0 })),
  },
  'an earmark takes its whole amount from the balance': {
    infect: () =>
      patch(Ledger.prototype, 'earmark', (earmark) => {
        return function (this: Ledger, order) {
          return earmark.call(this, order, 0);
        };
      }),
  },
  'a fee is refunded twice': {
    infect: () =>
      patch(Bookings.prototype, 'waive', (waive) => {
        return function (this: Bookings, op, batch) {
          waive.call(this, { ...op, id: `${op.id} again` }, batch);
          return waive.call(this, op, batch);
        };
      }),
  },
  'a deposit is written after the hold that it pays for': {
    wrap: (store) =>
      rewriting(store, (writes) => {
        const [deposit, reserve] = ['deposit', 'reserve'].map((kind) =>
          writes.find(({ params }) => params[1] === kind),
        );
        if (!deposit || !reserve) return writes;
        const renumbered = (one: SqlWrite, { params }: SqlWrite): SqlWrite =>
          write(one.statement, params[0]!, ...one.params.slice(1));
        return writes.map((write) => {
          if (write === deposit) return renumbered(deposit, reserve);
          return write === reserve ? renumbered(reserve, deposit) : write;
        });
      }),
  },
  'a deposit counts before it is on disk': {
    infect: () =>
      patch(Bookings.prototype, 'deposit', (deposit) => {
        return function (this: Bookings, op, batch) {
          const result = deposit.call(this, op, batch);
          batch.pending?.at(-1)?.written();
          batch.pending?.splice(-1, 1, { written: () => undefined, lost: () => {} });
          return result;
        };
      }),
  },
  'a checkpoint ignores deposits that are being written': {
    infect: () => patchGetter(Deposits.prototype, 'unwrittenRows', () => new Map()),
  },
  'a start books to a key what a wallet paid for it': {
    wrap: (store) => misreading(store, (row) => (isFund(row) && isAddress(row.name) ? { ...row, name: 'k1' } : row)),
  },
  'a checkpoint is never written': {
    infect: () => patch(Checkpoints.prototype, 'write', () => async () => {}),
  },
};

const isFund = (row: unknown): row is { name: string } =>
  typeof row === 'object' && row !== null && Object.keys(row).join() === 'id,name' && 'name' in row;
const isState = (row: unknown): row is { open: string } => typeof row === 'object' && row !== null && 'open' in row;
