import { describe, expect } from 'bun:test';
import { idAt } from '../../../src/core/id.ts';
import type { SqlStore } from '../../../src/store/sqlite/statement.ts';
import { flaky } from '../../store/support.ts';
import { ledgerTest } from '../books-test.ts';
import { budget, caller, held, line, NOON, order, refused, terms } from '../support.ts';
import { GatedStore } from './gate.ts';
import { adjust, fundsOf, reload, spent } from './spending.ts';
import { Subject } from './subject.ts';

/** Moments at which two things happen at once: what the model found, told by hand. */
const MIDNIGHT = Date.UTC(2026, 10, 21);
const SECOND = 1_000;

describe('across the end of a window', () => {
  const day = terms(budget(100, { window: 'day' }));

  ledgerTest('a late settlement counts where its reservation was made, after a start too', async (folder) => {
    let now = MIDNIGHT - SECOND;
    const opened = await folder.open({ now: () => now, terms: day });
    const hold = await held(opened.ledger, order(90, { id: idAt(now) }));
    now = MIDNIGHT + SECOND;
    // That of the new window.
    expect(await fundsOf(opened)).toEqual([['all', '', 100, 0, 0]]);
    await spent(opened, 20, { id: idAt(now) });
    hold.settle(line(90), () => []);
    expect(await fundsOf(opened)).toEqual([['all', '', 100, 20, 0]]);
    await opened.store.close();
    const again = await folder.open({ now: () => now, terms: day });
    expect(await fundsOf(again)).toEqual([['all', '', 100, 20, 0]]);
    // The month has both.
    await reload(again, budget(1_000, { window: 'month' }));
    expect(await fundsOf(again)).toEqual([['all', '', 1_000, 110, 0]]);
  });

  ledgerTest('a start with the clock set back counts the window that the last entries are in', async (folder) => {
    let now = MIDNIGHT + SECOND;
    const opened = await folder.open({ now: () => now, terms: day });
    const last = await spent(opened, 90, { id: idAt(now) });
    await opened.store.close();
    now = MIDNIGHT - SECOND;
    const again = await folder.open({ now: () => now, terms: day });
    // The next ID is greater than the last, so it counts in the new day, of which 10 are left.
    expect(await refused(again.ledger, order(11, { id: last + 1 }))).toMatchObject({ why: 'exhausted', spent: 90 });
  });

  ledgerTest('a window that begins while a reload is made ready has what was spent in it', async (folder) => {
    let now = MIDNIGHT - SECOND;
    const opened = await folder.open({ now: () => now, terms: terms() });
    const swap = await opened.ledger.prepare(day);
    now = MIDNIGHT + SECOND;
    const last = await spent(opened, 90, { id: idAt(now) });
    swap();
    expect(await refused(opened.ledger, order(11, { id: last + 1 }))).toMatchObject({ why: 'exhausted', spent: 90 });
  });

  ledgerTest('an ID made just before it counts where it will count after a start', async (folder) => {
    let now = MIDNIGHT - 1;
    const opened = await folder.open({ now: () => now, terms: day });
    const id = idAt(now);
    now = MIDNIGHT;
    // As the gateway does it: the ID, then what the funds allow, then the hold.
    opened.ledger.availableFunds(caller(), 'auto');
    await spent(opened, 90, { id });
    const before = await fundsOf(opened);
    await opened.store.close();
    const again = await folder.open({ now: () => now, terms: day });
    expect(await fundsOf(again)).toEqual(before);
    await folder.prove();
  });
});

ledgerTest('a hold that ends while it is being written, and then cannot be, is gone once', async (folder) => {
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
  // As after a machine was asleep for minutes, at a bad moment.
  const lost = subject.take({ ...plain, id: idAt(NOON) + 1, expiresAt: now - 1 });
  const told = lost.catch((error: Error) => error.message);
  subject.tick().catch(() => {});
  while (disk!.failFirst());
  expect(await told).toBe('the disk is full');
  disk!.open();
  expect(subject.ledger.open).toBe(1);
  expect(await subject.ledger.status()).toMatchObject({ open: 1, held: 10, charged: 0 });
  await subject.end();
});

ledgerTest(
  'after a row that could not be written, a start counts all that the one before it booked',
  async (folder) => {
    let broken = false;
    const opened = await folder.open({ wrap: (store) => flaky(store, () => broken) });
    await spent(opened, 40);
    broken = true;
    await expect(opened.ledger.reserve(order(10))).rejects.toThrow('disk full');
    broken = false;
    // The checkpoint goes as far as the row that was never written.
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

ledgerTest('`status` knows of what a checkpoint is writing', async (folder) => {
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
