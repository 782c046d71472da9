import { expect, test } from 'bun:test';
import { type SqlWrite, write } from '../../src/store/sql/statement.ts';
import { GroupCommit } from '../../src/store/sqlite/group-commit.ts';
import { StoreError, type StoreErrorReason } from '../../src/store/store.ts';
import { processTimers } from '../../src/telemetry/process-timers.ts';
import { quietFor, waitFor } from '../support/answers.ts';
import { note } from './support.ts';

class DiskError extends Error {}

/** Transactions that only remember; `fail` stands for a broken disk, a note with the text `bad` for a broken rule. */
function harness() {
  const state = {
    transactions: [] as number[][],
    /** Whether each was synced. */
    synced: [] as boolean[],
    errors: [] as string[],
    fail: false,
    get written(): number[] {
      return this.transactions.flat();
    },
  };
  const transactions = {
    transact(units: readonly { readonly writes: readonly SqlWrite[] }[], synced: boolean) {
      if (state.fail) throw new DiskError('disk full');
      const writes = units.flatMap((unit) => unit.writes);
      if (writes.some((write) => write.params[1] === 'bad')) throw new Error('constraint failed');
      state.transactions.push(writes.map((write) => Number(write.params[0])));
      state.synced.push(synced);
    },
    faultOf: (error: unknown): StoreErrorReason => (error instanceof DiskError ? 'full' : 'refused'),
    onError: (error: StoreError) => state.errors.push(error.message),
  };
  const group = new GroupCommit(transactions, processTimers);
  return { group, state };
}

test('commits of one turn share one transaction', async () => {
  const { group, state } = harness();
  await Promise.all(Array.from({ length: 500 }, (_, i) => group.commit([note(i)])));
  expect(state.written).toHaveLength(500);
  expect(state.transactions.length).toBeLessThanOrEqual(3);
});

test('a thousand commits in many turns need far fewer transactions', async () => {
  const { group, state } = harness();
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

test('an append alone is written within a few milliseconds, without a commit to ride with', async () => {
  const { group, state } = harness();
  group.append([note(1)], false);
  await new Promise((resolve) => setImmediate(resolve));
  expect(state.written).toEqual([]);
  await waitFor(() => state.written.length > 0);
  expect(state.written).toEqual([1]);
});

test('an append that must be known written is so at once, and synced a few milliseconds later', async () => {
  const { group, state } = harness();
  group.append([note(1)], false);
  await group.written();
  expect(state).toMatchObject({ transactions: [[1]], synced: [false] });
  await waitFor(() => state.synced.length > 1);
  expect(state).toMatchObject({ transactions: [[1], []], synced: [false, true] });
  await quietFor(20, 'another sync, for the append that is synced', () => state.synced.length > 2);
});

test('a commit near by takes along what must be known written, and what was written before is synced with it', async () => {
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

test('a waiter for appends learns, too, that the disk refused them; they are written later', async () => {
  const { group, state } = harness();
  state.fail = true;
  group.append([note(1)], false);
  await group.written();
  expect(state.written).toEqual([]);
  state.fail = false;
  await group.flush();
  expect(state.written).toEqual([1]);
});

test('deferred writes wait for each other, and not for long', async () => {
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

test('a sync that is due takes deferred writes along', async () => {
  const { group, state } = harness();
  group.append([note(1)], false);
  await group.written();
  group.defer(note(2));
  await waitFor(() => state.synced.length > 1);
  expect(state).toMatchObject({ transactions: [[1], [2]], synced: [false, true] });
  await quietFor(80, 'another sync, for the deferred write', () => state.synced.length > 2);
});

test('a flush and the end of the store write what is deferred, each write for itself', async () => {
  const { group, state } = harness();
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

test('deferred writes are dropped and reported when too much waits for a broken disk', async () => {
  const { group, state } = harness();
  state.fail = true;
  for (let i = 0; i < 10_000; i++) group.append([note(i)], false);
  for (let i = 0; i < 64; i++) group.defer(note(10_000 + i));
  expect(group.waiting).toBe(10_000);
  expect(state.errors.filter((error) => error.includes('waiting for the disk'))).toHaveLength(64);
  state.fail = false;
  await group.written();
  expect(state.written).toHaveLength(10_000);
});

/** A row that must outlive the process, and one that need not. */
const lasting = (id: number): SqlWrite => write({ sql: '', spooledAs: 'lasting' }, id);

/** A spool that only remembers; `fail` stands for a disk that refuses it, too. */
function withSpool() {
  const { group, state } = harness();
  const spool = { units: [] as unknown[], cleared: 0, fail: false };
  group.spool = {
    add(units) {
      if (spool.fail) throw new DiskError('spool full');
      spool.units.push(...units);
    },
    clear() {
      spool.cleared++;
    },
  };
  return { group, state, spool };
}
const inSpool = (id: number) => [{ name: 'lasting', params: [id] }];

test('a write that the disk refuses is in the spool, once, before it counts as written', async () => {
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

test('the spool is emptied once all of it is written, and synced, not before', async () => {
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

test('a write that the spool refuses, too, counts as written only once one of both takes it', async () => {
  const { group, state, spool } = withSpool();
  state.fail = true;
  spool.fail = true;
  group.append([lasting(1)], false);
  expect(await group.written()).toBe(false);
  expect(group.unkept).toBe(1);
  expect(state.errors).toEqual(['the database cannot be written: disk full', 'spool full']);
  spool.fail = false;
  expect(await group.written()).toBe(true);
  expect([group.unkept, spool.units]).toEqual([0, [inSpool(1)]]);
});

test('a failed disk is tried again without new writes, and is well once it takes one', async () => {
  const { group, state } = harness();
  state.fail = true;
  await expect(group.commit([note(1)])).rejects.toThrow('disk full');
  expect(group.isFailing).toBe(true);
  state.fail = false;
  await waitFor(() => !group.isFailing);
  expect(state.written).toEqual([]);
});

test('an append rides with the next commit, in the order in which both were given', async () => {
  const { group, state } = harness();
  group.append([note(1)], false);
  const commit = group.commit([note(2)]);
  group.append([note(3)], false);
  await commit;
  expect(state.transactions).toEqual([[1, 2, 3]]);
});

test('a bad write is refused and its neighbours are written', async () => {
  const { group, state } = harness();
  const results = await Promise.allSettled([
    group.commit([note(1)]),
    group.commit([note(2, 'bad')]),
    group.commit([note(3)]),
  ]);
  expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(results[1]).toMatchObject({ reason: expect.any(StoreError) });
  expect(state.written).toEqual([1, 3]);
});

test('a bad append is reported, dropped, and not tried again', async () => {
  const { group, state } = harness();
  group.append([note(1, 'bad')], false);
  group.append([note(2)], false);
  await group.flush();
  expect(state.written).toEqual([2]);
  expect(state.errors).toEqual(['a write was refused: constraint failed']);
  await group.flush();
  expect(state.errors).toHaveLength(1);
});

test('while the disk fails commits reject and appends are kept, then written in order', async () => {
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

test('of what may be lost, and of commits, so many are kept; what must not be lost is kept whatever waits', async () => {
  const { group, state } = harness();
  state.fail = true;
  for (let i = 0; i < 10_001; i++) group.append([note(i)], true);
  expect(state.errors).toEqual(['10000 writes are waiting for the disk']);
  expect(group.commit([note(-1)])).rejects.toBeInstanceOf(StoreError);
  group.append([note(20_000)], false);
  state.fail = false;
  await waitFor(() => state.written.length > 0);
  expect(state.written).toHaveLength(10_001);
  expect(state.written.at(-1)).toBe(20_000);
});

test('a flush and the end of the store wait for a commit that was asked for alone', async () => {
  for (const end of ['flush', 'close'] as const) {
    const { group, state } = harness();
    const commit = group.commit([note(1)]);
    await group[end]();
    expect(state.written).toEqual([1]);
    expect(await commit).toBeUndefined();
  }
});

test('a closed store refuses', async () => {
  const { group, state } = harness();
  group.append([note(1)], false);
  await group.close();
  expect(state.written).toEqual([1]);
  expect(group.commit([note(2)])).rejects.toThrow('closed');
  group.append([note(3)], false);
  expect(state.errors).toEqual(['the store is closed']);
});
