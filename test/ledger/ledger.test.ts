import { Database } from 'bun:sqlite';
import { describe, expect, test } from 'bun:test';
import { write } from '../../src/store/sql/statement.ts';
import { StoreError } from '../../src/store/store.ts';
import { flaky, tempFolder } from '../store/support.ts';
import { ledgerTest } from './books-test.ts';
import { budget, caller, held, journal, line, NOON, open, order, terms } from './support.ts';

describe('reserving', () => {
  ledgerTest('a hold is on disk for any other reader before reserve resolves', async (folder) => {
    const { ledger } = await folder.open();
    const hold = await held(ledger, order(500, { caller: caller('key', { team: 'x' }) }));
    const reader = new Database(folder.file, { readonly: true });
    expect(reader.query('SELECT kind, reservation, amount, key_id, labels, selector FROM entries').all()).toEqual([
      { kind: 'reserve', reservation: hold.id, amount: 500, key_id: 'key', labels: '{"team":"x"}', selector: 'auto' },
    ]);
    reader.close();
    expect({ reserved: hold.reserved, left: hold.left, open: ledger.open }).toEqual({
      reserved: 500,
      left: 500,
      open: 1,
    });
  });

  ledgerTest('a hold that cannot be written rejects with StoreError and holds nothing', async (folder) => {
    let broken = false;
    const { ledger } = await folder.open({ wrap: (store) => flaky(store, () => broken) });
    broken = true;
    await expect(ledger.reserve(order(500))).rejects.toBeInstanceOf(StoreError);
    expect(ledger.open).toBe(0);
    expect(await ledger.status()).toMatchObject({ charged: 0, held: 0, open: 0 });
    broken = false;
    (await held(ledger, order(500))).settle(null, () => []);
    expect(ledger.open).toBe(0);
  });

  ledgerTest('a hold above its limit is refused as a mistake of the program', async (folder) => {
    const { ledger } = await folder.open();
    await expect(ledger.reserve(order(11, { limit: 10 }))).rejects.toBeInstanceOf(RangeError);
    expect(ledger.open).toBe(0);
  });
});

describe('settling', () => {
  ledgerTest(
    'a settlement releases the money once, even if the record of the request cannot be made',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(1_000)) });
      const hold = await held(ledger, order(500));
      const record = () => {
        throw new Error('no record');
      };
      expect(() => hold.settle(line(120), record)).toThrow('no record');
      expect(await ledger.status()).toMatchObject({ open: 0, held: 0, funds: [{ spent: 120, held: 0 }] });
      expect(await hold.settle(line(300), record)).toEqual({ charged: 120, overrun: 0 });
      expect((await ledger.status()).charged).toBe(120);
      await folder.prove();
    },
  );

  ledgerTest(
    'a settlement charges what was used, releases the rest, and writes its other writes in the same commit',
    async (folder) => {
      const { ledger, store } = await folder.open();
      await store.commit([write({ sql: 'CREATE TABLE side (x INTEGER)' })]);
      const hold = await held(ledger, order(500));
      const also = [write({ sql: 'INSERT INTO side VALUES (?)' }, 7)];
      expect(await hold.settle(line(120), () => also)).toEqual({ charged: 120, overrun: 0 });
      expect(hold.left).toBe(0);
      await store.flush();
      expect(await store.query({ sql: `SELECT * FROM entries WHERE kind = 'settle'` })).toEqual([
        expect.objectContaining({
          reservation: hold.id,
          amount: 120,
          model: 'm',
          provider: 'p',
          upstream: 'u',
          input_tokens: 10,
          output_tokens: 20,
          bill: '{"input":10,"output":20,"reasoning":3,"units":{"cached_input":4,"cache_write":1}}',
          estimated: 0,
          key_id: 'key',
          time: NOON,
        }),
      ]);
      expect(await store.query({ sql: 'SELECT x FROM side' })).toEqual([{ x: 7 }]);
    },
  );

  ledgerTest('a hold is settled once: a second call returns the first settlement', async (folder) => {
    const { ledger, store } = await folder.open();
    const hold = await held(ledger, order(500));
    const first = await hold.settle(line(120), () => []);
    expect(await hold.settle(line(400), () => [])).toBe(first);
    expect(await hold.settle(null, () => [])).toBe(first);
    expect(ledger.open).toBe(0);
    expect(await journal(store)).toHaveLength(2);
    expect(await ledger.status()).toMatchObject({ charged: 120, held: 0, open: 0 });
  });

  ledgerTest('a settlement without an attempt closes the hold without a charge', async (folder) => {
    const { ledger, store } = await folder.open();
    expect(await (await held(ledger, order(500))).settle(null, () => [])).toEqual({ charged: 0, overrun: 0 });
    expect(await journal(store)).toMatchObject([{ kind: 'reserve' }, { kind: 'settle', amount: 0 }]);
  });

  ledgerTest(
    'a settlement never charges more than was reserved: the excess is an overrun and raises an alarm',
    async (folder) => {
      const { ledger, store, alarms } = await folder.open();
      const hold = await held(ledger, order(500));
      expect(await hold.settle(line(700), () => [])).toEqual({ charged: 500, overrun: 200 });
      expect(await journal(store)).toMatchObject([
        { kind: 'reserve', amount: 500 },
        { kind: 'settle', amount: 500 },
        { kind: 'overrun', amount: 200 },
      ]);
      expect(alarms).toMatchObject([
        { message: 'an upstream billed more than was reserved', details: { excess_credits: 0.0002 } },
      ]);
    },
  );

  test.each([Number.NaN, -1, 1e308, 0.5])(
    'a settlement with the impossible cost %p charges the whole hold and raises an alarm',
    async (cost) => {
      using folder = tempFolder();
      const { ledger, store, alarms } = await open(folder.file);
      const usage = { inputTokens: cost, outputTokens: 1, reasoningTokens: 0 };
      const hold = await held(ledger, order(500));
      expect(await hold.settle(line(cost, { usage }), () => [])).toEqual({ charged: 500, overrun: 0 });
      await store.flush();
      expect(await ledger.status()).toMatchObject({ charged: 500, held: 0, open: 0 });
      expect(alarms.map(({ message }) => message)).toEqual(['an upstream reported an impossible usage']);
      await store.close();
    },
  );

  ledgerTest('a settlement does not throw if the alarm throws or the store is closed', async (folder) => {
    const { ledger, store, alarms } = await folder.open();
    alarms.push = () => {
      throw new Error('the log is gone');
    };
    const [one, two] = await Promise.all([held(ledger, order(1)), held(ledger, order(1))]);
    expect(await one.settle(line(5), () => [])).toEqual({ charged: 1, overrun: 4 });
    await store.close();
    expect(await two.settle(line(1), () => [])).toEqual({ charged: 1, overrun: 0 });
  });
});

describe('between reserve and settle', () => {
  ledgerTest('the cost of a failed attempt leaves less for the next attempt', async (folder) => {
    const { ledger, store } = await folder.open();
    const hold = await held(ledger, order(500));
    expect(await hold.post(line(200))).toBe(200);
    expect(hold.left).toBe(300);
    expect(await hold.settle(line(400), () => [])).toEqual({ charged: 500, overrun: 100 });
    await store.flush();
    expect(await ledger.status()).toMatchObject({ charged: 500, held: 0, open: 0 });
  });

  ledgerTest('a posted cost stays charged if nothing follows', async (folder) => {
    const { ledger, store } = await folder.open();
    const hold = await held(ledger, order(500));
    hold.post(line(200));
    expect(await hold.settle(null, () => [])).toEqual({ charged: 200, overrun: 0 });
    expect(await journal(store)).toMatchObject([{}, { kind: 'post', amount: 200 }, { kind: 'settle', amount: 0 }]);
  });

  ledgerTest('a raise is durable before it resolves, and never exceeds the limit', async (folder) => {
    const { ledger, store } = await folder.open();
    const hold = await held(ledger, order(500, { limit: 800 }));
    expect(await hold.raise([301])).toBe(false);
    expect(await hold.raise([300])).toBe(true);
    expect(await journal(store)).toMatchObject([{ amount: 500 }, { kind: 'raise', amount: 300 }]);
    expect(hold.reserved).toBe(800);
    hold.settle(line(800), () => []);
    expect(await hold.raise([0])).toBe(false);
  });

  ledgerTest('a raise that cannot be written changes nothing', async (folder) => {
    let broken = false;
    const { ledger, store } = await folder.open({ wrap: (store) => flaky(store, () => broken) });
    const hold = await held(ledger, order(500));
    broken = true;
    await expect(hold.raise([100])).rejects.toBeInstanceOf(StoreError);
    expect(hold.reserved).toBe(500);
    hold.settle(line(600), () => []);
    const rows = await journal(store);
    expect(rows.map(({ kind, amount }) => [kind, amount])).toEqual([
      ['reserve', 500],
      ['settle', 500],
      ['overrun', 100],
    ]);
  });

  ledgerTest('a raise grants nothing more if the hold is settled at the same time', async (folder) => {
    const { ledger } = await folder.open();
    const hold = await held(ledger, order(500));
    const raise = hold.raise([100]);
    expect(await hold.settle(line(600), () => [])).toEqual({ charged: 500, overrun: 100 });
    expect(await raise).toBe(false);
    expect((await ledger.status()).charged).toBe(500);
  });
});
