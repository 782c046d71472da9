import { describe, expect } from 'bun:test';
import { idAt } from '../../src/core/id.ts';
import { findReservation, refundWrite } from '../../src/store/sqlite/books/adjust.ts';
import { grantWrite, sqliteLedger } from '../../src/store/sqlite/books/ledger-table.ts';
import { tamper } from './audit-support.ts';
import { ledgerTest } from './books-test.ts';
import { caller, held, line, NOON, order } from './support.ts';

const MINUTE = 60_000;

describe('finding a reservation by its ID', () => {
  ledgerTest(
    'the search for a reservation finds the reservation anywhere in the journal, with its charge and whether it is open',
    async (folder) => {
      let now = NOON;
      const { ledger, store } = await folder.open({ now: () => now });
      const made: { id: number; charged: number; isOpen: boolean }[] = [];
      for (let i = 0; i < 300; i++) {
        const hold = await held(ledger, order(100, { id: idAt(now) + i, caller: caller(`key${i % 3}`) }));
        if (i % 5 === 0) hold.post(line(10));
        if (i % 7 !== 0) hold.settle(line(30), () => []);
        made.push({ id: hold.id, charged: (i % 5 === 0 ? 10 : 0) + (i % 7 === 0 ? 0 : 30), isOpen: i % 7 === 0 });
        // Sometimes the clock is set back, once by more than the search allows for.
        now += i === 150 ? -200 * MINUTE : i % 40 === 0 ? -MINUTE : 10 * MINUTE;
      }
      await store.flush();
      for (const [i, { id, charged, isOpen }] of made.entries()) {
        const found = await findReservation(store, id);
        expect(found).toMatchObject({ reservation: id, keyId: `key${i % 3}`, charged, isOpen, givenBack: 0 });
      }
      for (const id of [made[0]!.id - 1, made[7]!.id + 4_000, made.at(-1)!.id + 1, 0, Number.MAX_SAFE_INTEGER]) {
        expect(await findReservation(store, id)).toBeNull();
      }
    },
  );

  ledgerTest(
    'the search for a reservation finds a reservation although the clock was set back by a day after it and hundreds of rows follow',
    async (folder) => {
      let now = NOON;
      const { ledger, store } = await folder.open({ now: () => now });
      (await held(ledger, order(100, { id: idAt(now - MINUTE) }))).settle(null, () => []);
      const { id } = await held(ledger, order(100, { id: idAt(now) }));
      now -= 24 * 60 * MINUTE;
      for (let i = 0; i < 300; i++) await held(ledger, order(1, { id: idAt(now) + i }));
      expect(await findReservation(store, id)).toMatchObject({ reservation: id, isOpen: true });
    },
  );

  ledgerTest(
    'the search for a reservation finds the end of a reservation, however many rows are between start and end',
    async (folder) => {
      const first = await folder.open();
      const { id } = await held(first.ledger, order(100));
      const [begun] = await first.store.query<{ seq: number }>({ sql: 'SELECT max(seq) AS seq FROM journal' });
      await first.store.close();
      // Makes the end the first row of the next range that the search reads.
      tamper(
        folder.file,
        `WITH RECURSIVE n(seq) AS (SELECT ${begun!.seq + 1} UNION ALL SELECT seq + 1 FROM n WHERE seq < ${begun!.seq + 9_999})
        INSERT INTO journal (seq, kind, reservation, account, amount, time) SELECT seq, 'raise', 1, 1, 0, ${NOON} FROM n`,
      );
      const again = await folder.open();
      expect(again.ledger.recovered.ids).toEqual([id]);
      await again.store.flush();
      expect(await findReservation(again.store, id)).toMatchObject({ charged: 100, isOpen: false });
    },
  );

  ledgerTest('the search for a reservation finds a reservation that is the only row of the journal', async (folder) => {
    const { ledger, store } = await folder.open();
    const { id } = await held(ledger, order(100));
    expect(await findReservation(store, id)).toMatchObject({ reservation: id, charged: 0, isOpen: true });
  });

  ledgerTest('the search for a reservation finds nothing in an empty journal', async (folder) => {
    const { store } = await folder.open();
    expect(await findReservation(store, idAt(NOON))).toBeNull();
  });
});

ledgerTest(
  'a refund counts pending and booked refunds; of two refunds at the same time, one is refused',
  async (folder) => {
    const { ledger, store } = await folder.open();
    const hold = await held(ledger, order(100));
    hold.settle(line(90), () => []);
    await store.flush();
    const [one, same] = [await findReservation(store, hold.id), await findReservation(store, hold.id)];
    await store.commit([refundWrite(one!, 60, '', NOON)]);
    await expect(store.commit([refundWrite(same!, 60, '', NOON)])).rejects.toMatchObject({ reason: 'unmet' });
    expect((await findReservation(store, hold.id))?.givenBack).toBe(60);
    await ledger.close();
    await store.close();
    const again = await folder.open();
    const adopted = await findReservation(again.store, hold.id);
    expect(adopted).toMatchObject({ charged: 90, givenBack: 60 });
    await again.store.commit([refundWrite(adopted!, 30, '', NOON)]);
    expect((await findReservation(again.store, hold.id))?.givenBack).toBe(90);
    await folder.prove();
  },
);

ledgerTest('the amount granted to a key is the same before and after the ledger books the grant', async (folder) => {
  const { store } = await folder.open();
  await store.commit([
    grantWrite('key', 70, '', NOON),
    grantWrite('other', 5, '', NOON),
    grantWrite('key', -20, '', NOON),
  ]);
  expect(await sqliteLedger(store).granted('key')).toBe(50);
  await store.close();
  const again = await folder.open();
  expect(await sqliteLedger(again.store).granted('key')).toBe(50);
  await again.store.commit([grantWrite('key', 1, '', NOON)]);
  expect(await sqliteLedger(again.store).granted('key')).toBe(51);
  expect(await sqliteLedger(again.store).granted('nobody')).toBe(0);
  await again.ledger.close();
});
