import { describe, expect } from 'bun:test';
import { idAt } from '../../../src/core/id.ts';
import type { SqlStore } from '../../../src/store/sqlite/statement.ts';
import { flaky } from '../../store/support.ts';
import { ledgerTest } from '../books-test.ts';
import { budget, caller, held, line, NOON, order, refused, terms } from '../support.ts';
import { GatedStore } from './gate.ts';
import { adjust, fundsOf, reload, spent } from './spending.ts';
import { Subject } from './subject.ts';

/** Cases in which two things happen at the same time. The random model found these moments; each moment has its own test in this file. */
const MIDNIGHT = Date.UTC(2026, 10, 21);
const SECOND = 1_000;

describe('across the end of a window', () => {
  const day = terms(budget(100, { window: 'day' }));

  ledgerTest('a late settlement counts in the window of its reservation, also after a restart', async (folder) => {
    let now = MIDNIGHT - SECOND;
    const opened = await folder.open({ now: () => now, terms: day });
    const hold = await held(opened.ledger, order(90, { id: idAt(now) }));
    now = MIDNIGHT + SECOND;
    // The figures belong to the new window.
    expect(await fundsOf(opened)).toEqual([['all', '', 100, 0, 0]]);
    await spent(opened, 20, { id: idAt(now) });
    hold.settle(line(90), () => []);
    expect(await fundsOf(opened)).toEqual([['all', '', 100, 20, 0]]);
    await opened.store.close();
    const again = await folder.open({ now: () => now, terms: day });
    expect(await fundsOf(again)).toEqual([['all', '', 100, 20, 0]]);
    // A monthly budget has both charges.
    await reload(again, budget(1_000, { window: 'month' }));
    expect(await fundsOf(again)).toEqual([['all', '', 1_000, 110, 0]]);
  });

  ledgerTest('a start with the clock set back counts the window of the latest entries', async (folder) => {
    let now = MIDNIGHT + SECOND;
    const opened = await folder.open({ now: () => now, terms: day });
    const last = await spent(opened, 90, { id: idAt(now) });
    await opened.store.close();
    now = MIDNIGHT - SECOND;
    const again = await folder.open({ now: () => now, terms: day });
    // The next ID is higher than the last ID, so it counts in the new day, in which 10 are left.
    expect(await refused(again.ledger, order(11, { id: last + 1 }))).toMatchObject({ why: 'exhausted', spent: 90 });
  });

  ledgerTest(
    'a budget window that starts during the preparation of a reload contains the charges of that window',
    async (folder) => {
      let now = MIDNIGHT - SECOND;
      const opened = await folder.open({ now: () => now, terms: terms() });
      const swap = await opened.ledger.prepare(day);
      now = MIDNIGHT + SECOND;
      const last = await spent(opened, 90, { id: idAt(now) });
      swap();
      expect(await refused(opened.ledger, order(11, { id: last + 1 }))).toMatchObject({ why: 'exhausted', spent: 90 });
    },
  );

  ledgerTest('an ID from just before the end of a window counts in the same window after a restart', async (folder) => {
    let now = MIDNIGHT - 1;
    const opened = await folder.open({ now: () => now, terms: day });
    const id = idAt(now);
    now = MIDNIGHT;
    // In the order of the gateway: it takes the ID, then reads the available funds, then makes the hold.
    opened.ledger.availableFunds(caller(), 'auto');
    await spent(opened, 90, { id });
    const before = await fundsOf(opened);
    await opened.store.close();
    const again = await folder.open({ now: () => now, terms: day });
    expect(await fundsOf(again)).toEqual(before);
    await folder.prove();
  });
});

ledgerTest(
  'the ledger releases a hold once if the hold expires during its write and the write then fails',
  async (folder) => {
    let gate: GatedStore | null = null;
    const start = (store: SqlStore) => {
      gate = new GatedStore(store);
      return gate;
    };
    const now = NOON + 120_000;
    const subject = await Subject.open(folder.file, { budgets: [], onCrash: 'charge' }, () => now, start);
    const ask = { who: { keyId: 'key', labels: {}, model: 'auto' }, payer: null, expected: null };
    const plain = { ...ask, amounts: [10], least: null, ample: null, limit: null, waits: false };
    await subject.take({ ...plain, id: idAt(NOON), expiresAt: now + 60_000 });
    const disk = gate as GatedStore | null;
    disk!.shut();
    // As if the machine had slept for minutes at this moment.
    const lost = subject.take({ ...plain, id: idAt(NOON) + 1, expiresAt: now - 1 });
    const told = lost.catch((error: Error) => error.message);
    subject.tick().catch(() => {});
    while (disk!.failFirst());
    expect(await told).toBe('the disk is full');
    disk!.open();
    expect(subject.ledger.open).toBe(1);
    expect(await subject.ledger.status()).toMatchObject({ open: 1, held: 10, charged: 0 });
    await subject.end();
  },
);

ledgerTest(
  'a starting server counts all charges that the server booked before its restart, even after a row that could not be written',
  async (folder) => {
    let broken = false;
    const opened = await folder.open({ wrap: (store) => flaky(store, () => broken) });
    await spent(opened, 40);
    broken = true;
    await expect(opened.ledger.reserve(order(10))).rejects.toThrow('disk full');
    broken = false;
    // The checkpoint goes up to the row that was never written.
    await opened.ledger.close();
    await opened.store.close();
    await adjust(folder.file, { kind: 'grant', amount: 100 });
    for (let start = 0; start < 3; start++) {
      const again = await folder.open();
      expect(await fundsOf(again)).toEqual([['key', '', 100, 0, 0]]);
      await again.store.close();
    }
  },
);

ledgerTest('`status` of the ledger includes the charges that a checkpoint is writing', async (folder) => {
  let gate: GatedStore | null = null;
  const opened = await folder.open({
    wrap: (store) => {
      gate = new GatedStore(store);
      return gate;
    },
  });
  const disk = gate as GatedStore | null;
  await spent(opened, 40);
  disk!.shut();
  const closing = opened.ledger.close();
  expect((await opened.ledger.status()).charged).toBe(40);
  disk!.open();
  await closing;
  expect((await opened.ledger.status()).charged).toBe(40);
});
