import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import type { Hold } from '../../src/ledger/hold.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { readSpool, Spool, type SpooledUnit } from '../../src/store/spool/spool.ts';
import { type SqlWrite, write } from '../../src/store/sql/statement.ts';
import { openSqliteBooks } from '../../src/store/sqlite/books/books.ts';
import { ledgerMigrations } from '../../src/store/sqlite/books/schema.ts';
import { closedBy, unbooked } from '../../src/store/sqlite/books/spooled.ts';
import { openSqlite, type WatchedStore } from '../../src/store/sqlite/database.ts';
import { tempFolder } from '../store/support.ts';
import { findingsOf } from './audit-support.ts';
import { held, line, NO_TERMS, NOON, order, type StoredEntry } from './support.ts';

const spoolOf = (folder: string): string => join(folder, 'settlements.spool');
const databaseOf = (folder: string): string => join(folder, 'signalbox.db');

/** Returns what a start books from the spool that it finds. */
type TakeIn = (store: WatchedStore, units: readonly SpooledUnit[]) => Promise<readonly SqlWrite[]>;

const comparing: TakeIn = async (store, units) => (await unbooked(store, 'the spool', units, [])).writes;

const openStore = (folder: string) => openSqlite(databaseOf(folder), [ledgerMigrations], { busyTimeoutMs: 1 });

/**
 * Starts like a server.
 * @param dies true to stop after the spool is booked and before a new spool exists
 */
async function start(
  folder: string,
  takeIn: TakeIn,
  dies = false,
  terms = NO_TERMS,
): Promise<{ store: WatchedStore; ledger: Ledger }> {
  const store = await openStore(folder);
  const writes = await takeIn(store, readSpool(spoolOf(folder)).units);
  if (writes.length > 0) await store.commit(writes);
  if (dies) {
    await store.close();
    return start(folder, takeIn);
  }
  store.useSpool(Spool.create(spoolOf(folder)));
  const now = () => NOON;
  const books = await openSqliteBooks({ store, now });
  return { store, ledger: await openLedger({ books, terms, now, onAlarm: () => {} }) };
}

/** Copies a folder, as it is on disk when the process dies. */
function copyOf(folder: string): string {
  const copy = join(folder, 'left');
  mkdirSync(copy);
  for (const name of ['signalbox.db', 'signalbox.db-wal', 'settlements.spool'])
    if (existsSync(join(folder, name))) copyFileSync(join(folder, name), join(copy, name));
  return copy;
}

type Step = {
  readonly kind: 'reserve' | 'post' | 'settle' | 'exceed' | 'void' | 'block' | 'free';
  readonly at: number;
};

/** A server whose database is sometimes locked by another process, which has the same effect as a full disk. */
class World {
  /** The charges that callers received, by the ID of the hold. */
  readonly told = new Map<number, number>();
  readonly #open: Hold[] = [];
  readonly #ledger: Ledger;
  readonly #blocker: Database;
  isBlocked = false;

  constructor(folder: string, ledger: Ledger) {
    this.#ledger = ledger;
    this.#blocker = new Database(databaseOf(folder), { readwrite: true });
    this.#blocker.run('PRAGMA busy_timeout = 2000');
  }

  async play({ kind, at }: Step): Promise<void> {
    if (kind === 'reserve' && !this.isBlocked) this.#open.push(await held(this.#ledger, order(1_000)));
    if (kind === 'block' && !this.isBlocked) this.#lock('BEGIN IMMEDIATE');
    if (kind === 'free' && this.isBlocked) this.#lock('ROLLBACK');
    const hold = this.#open[at % Math.max(1, this.#open.length)];
    if (!hold) return;
    if (kind === 'post') hold.post(line(100 + at));
    if (kind !== 'settle' && kind !== 'exceed' && kind !== 'void') return;
    this.#open.splice(this.#open.indexOf(hold), 1);
    const used = kind === 'void' ? null : line(kind === 'settle' ? 200 + at : 5_000);
    const { charged } = await hold.settle(used, () => []);
    if (await this.#ledger.written()) this.told.set(hold.id, charged);
  }

  end(): void {
    this.#blocker.close();
  }

  #lock(sql: string): void {
    this.#blocker.run(sql);
    this.isBlocked = !this.isBlocked;
  }
}

const step: fc.Arbitrary<Step> = fc.record({
  kind: fc.constantFrom('reserve', 'reserve', 'post', 'settle', 'settle', 'exceed', 'void', 'block', 'free'),
  at: fc.nat(5),
});
const opening: Step[] = [0, 1, 2].map((at) => ({ kind: 'reserve', at }));

/** At any time when the process may die, the next start books exactly once the prices that callers received. */
const lawOf = (takeIn: TakeIn) =>
  fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 9 }), fc.boolean(), async (steps, dies) => {
    using folder = tempFolder();
    const { store, ledger } = await start(folder.path, comparing);
    const world = new World(folder.path, ledger);
    let left: string;
    try {
      for (const one of [...opening, ...steps]) await world.play(one);
      left = copyOf(folder.path);
    } finally {
      world.end();
      await store.close();
    }
    const next = await start(left, takeIn, dies);
    const rows = await next.store.query<StoredEntry>({ sql: 'SELECT kind, reservation, amount FROM journal' });
    await next.ledger.close();
    await next.store.close();
    for (const [reservation, charged] of world.told) {
      const its = rows.filter((row) => row.reservation === reservation);
      const charges = its.filter(({ kind }) => kind === 'post' || kind === 'settle' || kind === 'expire');
      expect(charges.reduce((sum, { amount }) => sum + amount, 0)).toBe(charged);
      expect(its.filter(({ kind }) => kind === 'settle' || kind === 'expire').map(({ kind }) => kind)).toEqual([
        'settle',
      ]);
    }
    expect(await findingsOf(databaseOf(left))).toEqual([]);
    expect(readSpool(spoolOf(left)).units).toEqual([]);
  });

const RUNS = 8;
/** A lock and a settlement, so that every mutant has a spool. */
const examples: [Step[], boolean][] = [
  [
    [
      { kind: 'post', at: 0 },
      { kind: 'block', at: 0 },
      { kind: 'settle', at: 0 },
      { kind: 'exceed', at: 0 },
    ],
    true,
  ],
];

describe('settlements in a spool', () => {
  test('settlements in a spool are booked once by the next start, at the prices that callers received, whenever the process dies', async () => {
    await fc.assert(lawOf(comparing), { numRuns: RUNS, examples });
  });

  const forgetting: TakeIn = async () => [];
  /** A faulty start that books each entry twice, as if the first were not written. */
  const doubling: TakeIn = async (store, units) => {
    const { writes } = await unbooked(store, 'the spool', units, []);
    const isEntry = ({ statement }: SqlWrite) => statement.sql.startsWith('INSERT INTO journal');
    const again = writes.filter(isEntry).map(({ statement, params: [seq, ...rest] }) => {
      return write(statement, Number(seq) + writes.length, ...rest);
    });
    return [...writes, ...again];
  };

  test.each([
    ['forgets the spool', forgetting],
    ['books operations twice', doubling],
  ])(
    'the test fails for a start that %s',
    async (_, mutant) => {
      const { failed } = await fc.check(lawOf(mutant), { numRuns: RUNS, examples, endOnFailure: true });
      expect(failed).toBe(true);
    },
    60_000,
  );

  test('settlements of another database are refused with an error that names the difference', async () => {
    using folder = tempFolder();
    const { store } = await start(folder.path, comparing);
    const op = {
      kind: 'settle',
      reservation: 123,
      amount: 1,
      at: NOON,
      tariff: null,
      usage: [],
      note: null,
      step: null,
    };
    const unit: SpooledUnit = [{ name: 'operation', params: [JSON.stringify({ ...op, holder: null })] }];
    expect(closedBy([unit])).toEqual([123]);
    await expect(unbooked(store, 'the spool', [unit], [])).rejects.toThrow(
      /^the spool does not belong to this database, because it contains a settlement of dec_\w+, which is not open there\. Restore the database/,
    );
    await expect(unbooked(store, 'the spool', [[{ name: 'novel', params: [] }]], [])).rejects.toThrow(
      'it contains rows of the kind "novel", which this version of Signalbox cannot read',
    );
    await store.close();
  });

  test('settlements in a spool are booked in one commit with the rows of other tables that belong to them', async () => {
    using folder = tempFolder();
    const { store, ledger } = await start(folder.path, comparing);
    const statement = { sql: 'UPDATE adjustments SET amount = ? WHERE id = ?', spooledAs: 'payment' };
    const hold = await held(ledger, order(1_000));
    const blocker = new Database(folder.file, { readwrite: true });
    blocker.run('BEGIN IMMEDIATE');
    hold.settle(line(300), () => [write(statement, 300, 9)]);
    expect(await ledger.written()).toBe(true);
    const { units } = readSpool(spoolOf(folder.path));
    const { writes, closed, charged } = await unbooked(store, 'the spool', units, [statement]);
    expect({ closed, charged }).toEqual({ closed: [hold.id], charged: 300 });
    expect(writes.at(-1)).toEqual(write(statement, 300, 9));
    blocker.run('ROLLBACK');
    blocker.close();
    await store.flush();
    expect(await unbooked(store, 'the spool', units, [statement])).toEqual({ writes: [], closed: [], charged: 0 });
    await store.close();
  });

  for (const rule of ['charge', 'release'] as const) {
    test(`settlements that arrive after on_crash correct its charge once to the price that the caller received (${rule})`, async () => {
      using folder = tempFolder();
      const { store, ledger } = await start(folder.path, comparing);
      const [told, failed] = [await held(ledger, order(1_000)), await held(ledger, order(1_000))];
      const blocker = new Database(folder.file, { readwrite: true });
      blocker.run('BEGIN IMMEDIATE');
      void told.settle(line(300), () => []);
      void failed.post(line(40));
      void failed.settle(null, () => []);
      expect(await ledger.written()).toBe(true);
      const { units } = readSpool(spoolOf(folder.path));
      const left = copyOf(folder.path);
      blocker.run('ROLLBACK');
      blocker.close();
      await store.close();
      // The spool is missing when the next start closes the holds, and is found later.
      const terms = { ...NO_TERMS, ledger: { ...NO_TERMS.ledger, onCrash: rule } };
      const crashed = await start(left, async () => [], false, terms);
      expect(crashed.ledger.recovered.ids).toEqual([told.id, failed.id]);
      await crashed.ledger.close();
      await crashed.store.close();
      for (let i = 0; i < 2; i++) {
        const again = await openStore(left);
        const { writes, closed } = await unbooked(again, 'the spool', units, []);
        expect(closed).toEqual(i === 0 ? [told.id, failed.id] : []);
        if (writes.length > 0) await again.commit(writes);
        await again.close();
        const next = await start(left, async () => []);
        expect((await next.ledger.status()).charged).toBe(340);
        await next.ledger.close();
        await next.store.close();
        expect(await findingsOf(databaseOf(left))).toEqual([]);
      }
    });
  }
});
