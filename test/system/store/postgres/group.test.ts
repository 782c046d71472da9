import { afterEach, expect, spyOn, test } from 'bun:test';
import { processTimers } from '../../../../src/host/telemetry/process-timers.ts';
import type { LedgerOp, OpResult } from '../../../../src/store/books.ts';
import { type GroupParts, OpGroups } from '../../../../src/store/postgres/books/group.ts';
import { KeptOps } from '../../../../src/store/postgres/books/kept-ops.ts';
import { Spool } from '../../../../src/store/spool/spool.ts';
import { StoreError, type StoreErrorReason } from '../../../../src/store/store.ts';
import { holdOf, nextId, settleOf } from '../../../store/suites/books.ts';
import { tempFolder } from '../../../store/support.ts';
import { waitFor } from '../../../support/answers.ts';

/** Groups of operations with a spool, on a database that can be away. */
function harness(path: string | null) {
  const kept = new KeptOps(() => {});
  if (path !== null) kept.spool = Spool.create(path, 1, null);
  const state = {
    ...{ isAway: false, reason: 'unknown' as StoreErrorReason },
    ...{ decided: [] as string[], meanwhile: async () => {} },
  };
  const told: OpResult = { kind: 'charged', charged: 7, overrun: 0 };
  const parts: GroupParts = {
    timers: processTimers,
    name: async () => {},
    encode: () => [],
    decode: () => told,
    async decide(calls) {
      await state.meanwhile();
      if (state.isAway) throw new StoreError('no answer', { reason: state.reason });
      return { answers: calls.map(() => []), figures: [], openHolds: [] };
    },
    keep: (ops: readonly LedgerOp[], also) => kept.keep(ops, also, () => told),
    forget: () => kept.forget(),
    take: (_, ops) => void state.decided.push(...ops.map(({ kind }) => kind)),
    told: () => {},
  };
  return { state, groups: new OpGroups(parts), [Symbol.dispose]: () => kept.spool?.close() };
}

const ahead = spyOn(performance, 'now');
afterEach(() => ahead.mockRestore());

test('while the database is away, a hold that lost its answer and must be voided does not delay the prices of other callers', async () => {
  using folder = tempFolder();
  using box = harness(`${folder.path}/spool`);
  const { groups, state } = box;
  state.isAway = true;
  // A group is retried for two seconds; in this test, until the first retry.
  let now = 0;
  ahead.mockImplementation(() => (now += 3_000));
  const [lost, other] = [nextId(), nextId()];
  await expect(groups.add([{ op: holdOf(lost, [], 10) }])).rejects.toBeInstanceOf(StoreError);
  expect(await groups.add([{ op: settleOf(other, 7) }], [], true)).toEqual([
    { kind: 'charged', charged: 7, overrun: 0 },
  ]);
  expect(await groups.written()).toBe(true);
  ahead.mockRestore();
  state.isAway = false;
  await waitFor(() => state.decided.length === 2);
  expect(state.decided.sort()).toEqual(['settle', 'void']);
});

test('while the database is away, a call is reported as lost unless a spool stores it', async () => {
  using folder = tempFolder();
  for (const [path, lost] of [
    [null, 1],
    [`${folder.path}/spool`, 0],
  ] as const) {
    using box = harness(path);
    const { groups, state } = box;
    state.isAway = true;
    let now = 0;
    const ahead = spyOn(performance, 'now').mockImplementation(() => (now += 3_000));
    const told = groups.add([{ op: settleOf(nextId(), 7) }], [], true);
    expect([await groups.written(), groups.unkept]).toEqual([lost === 0, lost]);
    ahead.mockRestore();
    state.isAway = false;
    await told;
    await waitFor(() => state.decided.length === 1);
    expect(groups.unkept).toBe(0);
  }
});

test('once the database is back, all holds of a turn are decided, and none gets the failure of an earlier group', async () => {
  using box = harness(null);
  const { groups, state } = box;
  const hold = () => groups.add([{ op: holdOf(nextId(), [], 10) }]);
  const turn = async () => (await Promise.allSettled([hold(), hold(), hold()])).map(({ status }) => status);
  Object.assign(state, { isAway: true, reason: 'broken' });
  expect(await turn()).toEqual(['rejected', 'rejected', 'rejected']);
  state.isAway = false;
  expect(await turn()).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
});

test('an appended operation is reported as written once it is decided, even if more keep coming', async () => {
  using box = harness(null);
  const { groups, state } = box;
  const add = () => groups.add([{ op: settleOf(nextId(), 7) }], [], true);
  state.meanwhile = async () => {
    if (state.decided.length < 100) void add();
    await Bun.sleep(1);
  };
  await add();
  expect(await groups.written()).toBe(true);
  expect(state.decided.length).toBeLessThan(10);
  const last = add();
  expect(await groups.written()).toBe(true);
  await last;
  expect(state.decided.length).toBeLessThan(20);
  await waitFor(() => state.decided.length > 100);
  expect(await groups.written()).toBe(true);
});
