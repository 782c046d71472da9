import { describe, expect, test } from 'bun:test';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { GroupCommit, type GroupedDatabase, type WriteUnit } from '../../src/store/group-commit.ts';
import type { SpooledUnit } from '../../src/store/spool/spool.ts';
import { SpooledAppends } from '../../src/store/spool/spooled-appends.ts';
import { type SqlWrite, write } from '../../src/store/sql/statement.ts';
import { StoreError, type StoreErrorReason } from '../../src/store/store.ts';
import { quietFor, waitFor } from '../support/answers.ts';
import { note } from './support.ts';

class DiskError extends Error {}

/** A database for tests. The database remembers its transactions, and a test can make the next transaction fail. */
class Transactions {
  readonly transactions: number[][] = [];
  /** For each transaction, whether it was synced. */
  readonly synced: boolean[] = [];
  readonly errors: string[] = [];
  fail = false;

  get written(): number[] {
    return this.transactions.flat();
  }

  /** A note with the text `bad` breaks a rule of the table. */
  transact(units: readonly WriteUnit<SqlWrite>[], synced: boolean): void {
    if (this.fail) throw new DiskError('disk full');
    const writes = units.flatMap((unit) => unit.writes);
    if (writes.some((write) => write.params[1] === 'bad')) throw new Error('constraint failed');
    this.transactions.push(writes.map((write) => Number(write.params[0])));
    this.synced.push(synced);
  }
}

/** A database that finishes each transaction in the turn in which it begins, like SQLite. */
function harness() {
  const state = new Transactions();
  const appends = new SpooledAppends((error, isFirst) => void (isFirst && state.errors.push(error.message)));
  const db: GroupedDatabase<SqlWrite> = {
    pace: { unitsMax: Number.POSITIVE_INFINITY, spacingMs: 1, probeMs: 50, canSkipSync: true, failsFast: false },
    transact: (units, synced) => state.transact(units, synced) as undefined,
    faultOf: (error: unknown): StoreErrorReason => (error instanceof DiskError ? 'full' : 'refused'),
    textOf: (error) => (error instanceof Error ? error.message : ''),
    onError: (error) => state.errors.push(error.message),
    keep: (units) => appends.keep(units),
    written: (synced) => appends.written(synced),
  };
  return { group: new GroupCommit(db, processTimers), state, appends };
}

/** A database over a network, like PostgreSQL: each transaction takes some turns, and its answer can be lost. */
class Remote extends GroupCommit<SqlWrite> {
  readonly state: Transactions;
  /** Settles the transactions whose answer was lost; null while none was lost. */
  unanswered: PromiseWithResolvers<boolean> | null = null;

  constructor(unitsMax = 500) {
    const state = new Transactions();
    super(
      {
        pace: { unitsMax, spacingMs: 0, probeMs: 50, canSkipSync: false, failsFast: true },
        transact: async (units, synced) => {
          await new Promise((resolve) => void setImmediate(resolve));
          if (this.unanswered && !(await this.unanswered.promise)) return false;
          state.transact(units, synced);
          return true;
        },
        faultOf: (error: unknown): StoreErrorReason => (error instanceof DiskError ? 'full' : 'refused'),
        textOf: (error) => (error instanceof Error ? error.message : ''),
        onError: (error) => state.errors.push(error.message),
        keep: () => false,
        written: () => {},
      },
      processTimers,
    );
    this.state = state;
  }

  giveUp(): void {
    this.stopWaiting();
  }
}

function remote(unitsMax?: number) {
  const group = new Remote(unitsMax);
  return { group, state: group.state };
}

describe.each([
  ['in a turn', harness],
  ['over a wire', remote],
])('a database that writes %s', (_, open) => {
  test('commits of the same turn of the event loop share a transaction', async () => {
    const { group, state } = open();
    await Promise.all(Array.from({ length: 500 }, (_, i) => group.commit([note(i)])));
    expect(state.written).toHaveLength(500);
    expect(state.transactions.length).toBeLessThanOrEqual(3);
  });

  test('a thousand commits in many turns need far fewer transactions', async () => {
    const { group, state } = open();
    const worker = async (from: number) => {
      for (let i = 0; i < 20; i++) {
        await group.commit([note(from + i)]);
        group.append([note(100_000 + from + i)], false);
      }
    };
    await Promise.all(Array.from({ length: 50 }, (_, w) => worker(w * 20)));
    await group.flush();
    expect(state.written).toHaveLength(2_000);
    expect(state.transactions.length).toBeLessThan(60);
  });

  test('an append without any commit is written within a few milliseconds', async () => {
    const { group, state } = open();
    group.append([note(1)], false);
    await new Promise((resolve) => setImmediate(resolve));
    expect(state.written).toEqual([]);
    await waitFor(() => state.written.length > 0);
    expect(state.written).toEqual([1]);
  });

  test('flush and close write all deferred writes, each as its own unit', async () => {
    const { group, state } = open();
    for (const write of [note(1), note(2, 'bad'), note(3)]) group.defer(write);
    await group.flush();
    expect(state.written).toEqual([1, 3]);
    expect(state.errors).toHaveLength(1);
    group.defer(note(4));
    await group.close();
    expect(state.written).toEqual([1, 3, 4]);
    group.defer(note(5));
    expect(state.errors.at(-1)).toContain('closed');
  });

  test('the store probes a failed disk without new writes, and stops failing once the disk accepts a write', async () => {
    const { group, state } = open();
    state.fail = true;
    await expect(group.commit([note(1)])).rejects.toThrow('disk full');
    expect(group.isFailing).toBe(true);
    state.fail = false;
    await waitFor(() => !group.isFailing);
    expect(state.written).toEqual([]);
  });

  test('an append is written with the next commit, in the order of the calls', async () => {
    const { group, state } = open();
    group.append([note(1)], false);
    const commit = group.commit([note(2)]);
    group.append([note(3)], false);
    await commit;
    expect(state.transactions).toEqual([[1, 2, 3]]);
  });

  test('the store refuses a faulty write and writes all other writes of the transaction', async () => {
    const { group, state } = open();
    const results = await Promise.allSettled([
      group.commit([note(1)]),
      group.commit([note(2, 'bad')]),
      group.commit([note(3)]),
    ]);
    expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(results[1]).toMatchObject({ reason: expect.any(StoreError) });
    expect(state.written).toEqual([1, 3]);
  });

  test('the store reports and drops a faulty append, and does not retry it', async () => {
    const { group, state } = open();
    group.append([note(1, 'bad')], false);
    group.append([note(2)], false);
    await group.flush();
    expect(state.written).toEqual([2]);
    expect(state.errors).toEqual(['a write was refused: constraint failed']);
    await group.flush();
    expect(state.errors).toHaveLength(1);
  });

  test('the queue limit refuses commits and droppable appends; other appends are always kept', async () => {
    const { group, state } = open();
    state.fail = true;
    for (let i = 0; i < 10_001; i++) group.append([note(i)], true);
    expect(state.errors).toEqual(['10000 writes are waiting for the database']);
    expect(group.commit([note(-1)])).rejects.toBeInstanceOf(StoreError);
    group.append([note(20_000)], false);
    state.fail = false;
    await waitFor(() => state.written.length > 10_000);
    expect(state.written).toHaveLength(10_001);
    expect(state.written.at(-1)).toBe(20_000);
  });

  test('flush and close wait for a commit that is in progress', async () => {
    for (const end of ['flush', 'close'] as const) {
      const { group, state } = open();
      const commit = group.commit([note(1)]);
      await group[end]();
      expect(state.written).toEqual([1]);
      expect(await commit).toBeUndefined();
    }
  });

  test('a closed store refuses', async () => {
    const { group, state } = open();
    group.append([note(1)], false);
    await group.close();
    expect(state.written).toEqual([1]);
    expect(group.commit([note(2)])).rejects.toThrow('closed');
    group.append([note(3)], false);
    expect(state.errors).toEqual(['the store is closed']);
  });
});

test('the store writes an append at once if a caller waits for it, and syncs the append a few milliseconds later', async () => {
  const { group, state } = harness();
  group.append([note(1)], false);
  await group.written();
  expect(state).toMatchObject({ transactions: [[1]], synced: [false] });
  await waitFor(() => state.synced.length > 1);
  expect(state).toMatchObject({ transactions: [[1], []], synced: [false, true] });
  await quietFor(20, 'another sync, for the append that is synced', () => state.synced.length > 2);
});

test('a due commit also writes awaited appends, and syncs appends that were written before', async () => {
  const { group, state } = harness();
  group.append([note(1)], false);
  await group.written();
  group.append([note(2)], false);
  const commit = group.commit([note(3)]);
  await group.written();
  expect(state).toMatchObject({ transactions: [[1], [2, 3]], synced: [false, true] });
  await commit;
  await quietFor(20, 'another sync, for the append that rode with the commit', () => state.synced.length > 2);
  await group.written();
});

test('a caller that waits for appends gets an error if the disk refuses the appends, which the store writes later', async () => {
  const { group, state } = harness();
  state.fail = true;
  group.append([note(1)], false);
  await group.written();
  expect(state.written).toEqual([]);
  state.fail = false;
  await group.flush();
  expect(state.written).toEqual([1]);
});

test('deferred writes wait a short time for further writes', async () => {
  const { group, state } = harness();
  for (let i = 0; i < 63; i++) group.defer(note(i));
  await group.commit([note(1_000)]);
  expect(state.written).toEqual([1_000]);
  group.defer(note(63));
  await group.written();
  expect(state.written.slice(1)).toEqual(Array.from({ length: 64 }, (_, i) => i));
  group.defer(note(64));
  await waitFor(() => state.written.length > 65);
  expect(state.written.at(-1)).toBe(64);
});

test('a sync that is due includes deferred writes', async () => {
  const { group, state } = harness();
  group.append([note(1)], false);
  await group.written();
  group.defer(note(2));
  await waitFor(() => state.synced.length > 1);
  expect(state).toMatchObject({ transactions: [[1], [2]], synced: [false, true] });
  await quietFor(80, 'another sync, for the deferred write', () => state.synced.length > 2);
});

test('the store drops and reports deferred writes when too many writes wait for a broken disk', async () => {
  const { group, state } = harness();
  state.fail = true;
  for (let i = 0; i < 10_000; i++) group.append([note(i)], false);
  for (let i = 0; i < 64; i++) group.defer(note(10_000 + i));
  expect(group.waiting).toBe(10_000);
  expect(state.errors.filter((error) => error.includes('waiting for the database'))).toHaveLength(64);
  state.fail = false;
  await group.written();
  expect(state.written).toHaveLength(10_000);
});

/** A row that must survive the process; `note` makes rows that need not. */
const lasting = (id: number): SqlWrite => write({ sql: '', spooledAs: 'lasting' }, id);

/** A spool that only remembers entries. `fail` makes the spool fail like a disk that refuses its writes. */
function withSpool() {
  const { group, state, appends } = harness();
  const spool = { units: [] as unknown[], cleared: 0, fail: false };
  appends.spool = {
    add(units: readonly SpooledUnit[]) {
      if (spool.fail) throw new DiskError('spool full');
      spool.units.push(...units);
    },
    clear() {
      spool.cleared++;
    },
  };
  return { group, state, appends, spool };
}
const inSpool = (id: number) => [{ name: 'lasting', params: [id] }];

test('the store adds a write that the disk refuses to the spool, once, before the write counts as written', async () => {
  const { group, state, spool } = withSpool();
  state.fail = true;
  group.append([lasting(1), note(2)], false);
  group.append([note(3)], false);
  expect(await group.written()).toBe(true);
  expect(spool.units).toEqual([inSpool(1)]);
  group.append([lasting(4)], false);
  expect(await group.written()).toBe(true);
  expect(spool.units).toEqual([inSpool(1), inSpool(4)]);
});

test('the store empties the spool only after the database has synced all entries of the spool', async () => {
  const { group, state, spool } = withSpool();
  state.fail = true;
  group.append([lasting(1)], false);
  await group.written();
  state.fail = false;
  await group.written();
  expect(state).toMatchObject({ transactions: [[1]], synced: [false] });
  expect(spool.cleared).toBe(0);
  await group.flush();
  expect(state.synced).toEqual([false, true]);
  expect(spool.cleared).toBe(1);
});

test('a write that the spool also refuses counts as written only once the database or the spool accepts it', async () => {
  const { group, state, appends, spool } = withSpool();
  state.fail = true;
  spool.fail = true;
  group.append([lasting(1)], false);
  expect(await group.written()).toBe(false);
  expect(appends.unkept).toBe(1);
  expect(state.errors).toEqual(['the database cannot be written: disk full', 'spool full']);
  spool.fail = false;
  expect(await group.written()).toBe(true);
  expect([appends.unkept, spool.units]).toEqual([0, [inSpool(1)]]);
});

test('while the disk fails, the store rejects commits and keeps appends, which it later writes in order', async () => {
  const { group, state } = harness();
  state.fail = true;
  group.append([note(1)], false);
  const failed = group.commit([note(2)]);
  group.append([note(3)], false);
  expect(failed).rejects.toBeInstanceOf(StoreError);
  await failed.catch(() => {});
  group.append([note(4)], false);
  expect(group.flush()).rejects.toThrow('the database cannot be written: disk full');
  await group.flush().catch(() => {});
  expect(state.errors).toEqual(['the database cannot be written: disk full']);
  state.fail = false;
  await group.flush();
  expect(state.written).toEqual([1, 3, 4]);
});

describe('a database over a wire', () => {
  test('commits that arrive during a transaction share the next transaction with appends', async () => {
    const { group, state } = remote();
    const first = group.commit([note(1)]);
    await new Promise((resolve) => void setImmediate(resolve));
    group.append([note(2)]);
    await Promise.all([first, group.commit([note(3)]), group.commit([note(4)])]);
    expect(state.transactions).toEqual([[1], [2, 3, 4]]);
  });

  test('more units than fit into a transaction are written in several transactions, in order', async () => {
    const { group, state } = remote(2);
    for (let i = 0; i < 5; i++) group.append([note(i)]);
    expect(await group.written()).toBe(true);
    expect(state.transactions).toEqual([[0, 1], [2, 3], [4]]);
  });

  test('while the database fails, commits are refused immediately; appends are written in order once it works again', async () => {
    const { group, state } = remote();
    state.fail = true;
    group.append([note(1)]);
    expect(await group.written()).toBe(false);
    group.append([note(2)]);
    let refusal: unknown = null;
    void group.commit([note(3)]).catch((error) => {
      refusal = error;
    });
    await Promise.resolve().then(() => {});
    expect(refusal).toBeInstanceOf(StoreError);
    expect(group.waiting).toBe(2);
    state.fail = false;
    await waitFor(() => !group.isFailing);
    await group.flush();
    expect(state.written).toEqual([1, 2]);
    expect(state.errors).toEqual(['the database cannot be written: disk full']);
  });

  test('a failed transaction also refuses the commits that arrived during it', async () => {
    const { group, state } = remote();
    state.fail = true;
    const both = [group.commit([note(1)])];
    await new Promise((resolve) => void setImmediate(resolve));
    both.push(group.commit([note(2)]));
    const ends = await Promise.allSettled(both);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(state.transactions).toEqual([]);
  });

  test.each([true, false])(
    'callers wait while the outcome of a transaction is unknown; each write happens once, whether the transaction was committed (%p) or not',
    async (hasHappened) => {
      const { group, state } = remote();
      group.unanswered = Promise.withResolvers();
      group.append([note(1)]);
      const commit = group.commit([note(2)]);
      await quietFor(20, 'an answer', () => state.transactions.length > 0);
      const { resolve } = group.unanswered;
      if (!hasHappened) group.unanswered = null;
      resolve(hasHappened);
      await commit;
      await group.flush();
      expect(state.written).toEqual([1, 2]);
    },
  );

  test('callers that waited too long for an outcome get the reason unknown, and only the appends of the transaction are retried', async () => {
    const { group, state } = remote();
    group.unanswered = Promise.withResolvers();
    group.append([note(1)]);
    const doubtful = group.commit([note(2)]);
    await quietFor(20, 'an answer', () => state.transactions.length > 0);
    const later = group.commit([note(3)]);
    group.append([note(4)]);
    group.giveUp();
    expect(await doubtful.catch(({ reason }) => reason)).toBe('unknown');
    expect(await later.catch(({ reason }) => reason)).toBe('broken');
    expect(group.isFailing).toBe(true);
    const { resolve } = group.unanswered;
    group.unanswered = null;
    resolve(false);
    await waitFor(() => !group.isFailing);
    await group.flush();
    expect(state.written).toEqual([1, 4]);
  });

  test('the database refuses only the faulty unit of many, even if callers of other units stop waiting', async () => {
    const { group, state } = remote();
    const ends = [group.commit([note(1)]), group.commit([note(2, 'bad')]), group.commit([note(3)])];
    for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => void setImmediate(resolve));
    group.giveUp();
    group.append([note(4)]);
    await Promise.allSettled(ends);
    await waitFor(() => !group.isFailing);
    await group.flush();
    expect(state.written).toContain(4);
    expect(state.written).not.toContain(2);
  });
});
