import { describe, expect } from 'bun:test';
import { FULL_SIGHT } from '../../src/admin/use-cases/sight.ts';
import { parseExport, writeExport } from '../../src/cli/ledger/export.ts';
import type { SqlWrite } from '../../src/store/sql/statement.ts';
import { grantWrite, sqliteLedger } from '../../src/store/sqlite/books/ledger-table.ts';
import { ledgerMigrations } from '../../src/store/sqlite/books/schema.ts';
import { openReader } from '../../src/store/sqlite/reader.ts';
import type { SqlStore } from '../../src/store/sqlite/statement.ts';
import { StoreError } from '../../src/store/store.ts';
import { flaky } from '../store/support.ts';
import { findingsOf, tamper } from './audit-support.ts';
import { ledgerTest, type TestFolder } from './books-test.ts';
import { readCsv } from './csv-support.ts';
import { GatedStore } from './model/gate.ts';
import { held, line, NOON, type Opened, order, refused } from './support.ts';
import {
  AGENT,
  balance,
  deposit,
  earmarked,
  OTHER,
  PAYMENTS,
  payment,
  rows,
  WALLET,
  waiving,
} from './wallet-support.ts';

const agent = { caller: AGENT } as const;

/** A ledger with a table of payments, whose disk the test can block. */
async function gated(folder: TestFolder): Promise<Opened & { gate: GatedStore }> {
  let gate: GatedStore | null = null;
  const opened = await folder.open({
    wrap: (store: SqlStore) => {
      gate = new GatedStore(store);
      return gate;
    },
  });
  tamper(folder.file, PAYMENTS);
  return { ...opened, gate: gate! };
}

/** Starts the ledger again, and returns the balance that the start finds. */
async function afterStart(folder: TestFolder): Promise<[number, number, number] | null> {
  const { ledger, store } = await folder.open();
  const found = balance(ledger);
  await ledger.close();
  await store.close();
  return found;
}

describe('deposits', () => {
  ledgerTest(
    'a deposit is booked without its fee, together with its other writes, and survives a restart',
    async (folder) => {
      const { ledger, store } = await gated(folder);
      await ledger.deposit(WALLET, deposit(500, 20, 'pay_00000000001'), [payment(1, 'settled', 500, 20)]);
      expect(balance(ledger)).toEqual([480, 0, 0]);
      await ledger.deposit(WALLET, deposit(70, 0, 'pay_00000000002'), [payment(2, 'settled', 70, 0)]);
      expect(balance(ledger)).toEqual([550, 0, 0]);
      expect(await rows(store)).toEqual([
        ['deposit', 500, 'pay_00000000001'],
        ['fee', -20, 'pay_00000000001'],
        ['deposit', 70, 'pay_00000000002'],
      ]);
      expect([await sqliteLedger(store).balance(WALLET), await sqliteLedger(store).granted(WALLET)]).toEqual([
        { granted: 550, spent: 0 },
        550,
      ]);
      await store.close();
      expect(await afterStart(folder)).toEqual([550, 0, 0]);
      expect(await findingsOf(folder.file)).toEqual([]);
    },
  );

  ledgerTest('a deposit cannot be spent before it is written to disk', async (folder) => {
    const { ledger, gate } = await gated(folder);
    gate.shut();
    const paid = ledger.deposit(WALLET, deposit(500, 0, 'pay_00000000001'), [payment(1, 'settled', 500, 0)]);
    expect(balance(ledger)).toBeNull();
    expect(await refused(ledger, order(1, agent))).toMatchObject({ why: 'exhausted', limit: 0 });
    gate.open();
    await paid;
    (await held(ledger, order(500, agent))).settle(line(500), () => []);
    await folder.prove();
  });

  ledgerTest('a deposit is not booked if it or its payment cannot be written', async (folder) => {
    let broken = false;
    const { ledger, store } = await folder.open({ wrap: (inner) => flaky(inner, () => broken) });
    tamper(folder.file, PAYMENTS);
    broken = true;
    await expect(ledger.deposit(WALLET, deposit(500), [])).rejects.toBeInstanceOf(StoreError);
    broken = false;
    await store.commit([payment(1, 'failed', 0, 0)]);
    const twice = ledger.deposit(WALLET, deposit(500), [payment(1, 'settled', 500, 0)]);
    await expect(twice).rejects.toBeInstanceOf(StoreError);
    expect(balance(ledger)).toBeNull();
    expect(await rows(store)).toEqual([]);
    await ledger.deposit(WALLET, deposit(7, 0, 'pay_00000000002'), [payment(2, 'settled', 7, 0)]);
    expect(balance(ledger)).toEqual([7, 0, 0]);
    await ledger.close();
    await store.close();
    expect(await afterStart(folder)).toEqual([7, 0, 0]);
    expect(await findingsOf(folder.file)).toEqual([]);
  });

  ledgerTest('a deposit wakes requests that wait for the balance', async (folder) => {
    const { ledger } = await gated(folder);
    await ledger.deposit(WALLET, deposit(100, 0, 'pay_00000000001'), [payment(1, 'settled', 100, 0)]);
    const first = await held(ledger, order(80, agent));
    const waiting = held(ledger, order(50, { ...agent, waitMs: 20_000 }));
    await ledger.deposit(WALLET, deposit(30, 0, 'pay_00000000002'), [payment(2, 'settled', 30, 0)]);
    expect((await waiting).reserved).toBe(50);
    first.settle(line(80), () => []);
    expect(balance(ledger)).toEqual([130, 80, 50]);
  });

  ledgerTest(
    'a deposit of 0 books only its other writes; an invalid deposit is refused as a mistake of the program',
    async (folder) => {
      const { ledger, store } = await gated(folder);
      await ledger.deposit(WALLET, deposit(0, 0), [payment(1, 'failed', 0, 0)]);
      expect(balance(ledger)).toBeNull();
      expect(await store.query({ sql: 'SELECT id FROM payments' })).toEqual([{ id: 1 }]);
      for (const [paid, fee] of [
        [-1, 0],
        [1.5, 0],
        [Number.NaN, 0],
        [10, 11],
        [10, Number.NaN],
      ] as const)
        await expect(ledger.deposit(WALLET, deposit(paid, fee), [])).rejects.toBeInstanceOf(RangeError);
      expect(() => ledger.waiveFee(WALLET, -1, '')).toThrow(RangeError);
      expect(await rows(store)).toEqual([]);
    },
  );
});

describe('checkpoints during deposits', () => {
  for (const isNew of [true, false]) {
    for (const arrives of [true, false]) {
      const what = `a deposit of a ${isNew ? 'new' : 'known'} wallet that ${arrives ? 'succeeds' : 'fails'}`;
      ledgerTest(`a checkpoint during ${what} contains exactly what is on disk`, async (folder) => {
        const { ledger, store } = await folder.open();
        tamper(folder.file, PAYMENTS);
        await store.commit([payment(1, 'failed', 0, 0)]);
        if (!isNew) {
          await ledger.deposit(WALLET, deposit(70, 10, 'pay_00000000002'), [payment(2, 'settled', 70, 10)]);
          await ledger.close();
        }
        const also: SqlWrite[] = [payment(arrives ? 3 : 1, 'settled', 500, 20)];
        const coming = ledger.deposit(WALLET, deposit(500, 20, 'pay_00000000003'), also);
        const other = ledger.deposit(OTHER, deposit(5, 0, 'pay_00000000004'), [payment(4, 'settled', 5, 0, OTHER)]);
        // A wallet gets two deposits at the same time.
        const more = ledger.deposit(WALLET, deposit(9, 0, 'pay_00000000005'), [payment(5, 'settled', 9, 0)]);
        const closing = ledger.close();
        const outcome = await coming.then(
          () => true,
          () => false,
        );
        await Promise.all([other, more, closing]);
        expect(outcome).toBe(arrives);
        const expected = (isNew ? 0 : 60) + (arrives ? 480 : 0) + 9;
        expect(balance(ledger)).toEqual([expected, 0, 0]);
        await store.close();
        expect(await findingsOf(folder.file)).toEqual([]);
        expect(await afterStart(folder)).toEqual([expected, 0, 0]);
        expect(await findingsOf(folder.file)).toEqual([]);
      });
    }
  }
});

ledgerTest('a checkpoint after a deposit includes a negative grant that was made after the deposit', async (folder) => {
  const { ledger, store } = await folder.open();
  await ledger.deposit(WALLET, deposit(100), []);
  await ledger.close();
  await Promise.all([ledger.deposit(WALLET, deposit(30), []), ledger.close()]);
  await store.commit([grantWrite(WALLET, -30, '', NOON)]);
  await ledger.refresh();
  await folder.prove();
  expect(await afterStart(folder)).toEqual([100, 0, 0]);
});

ledgerTest('later checkpoints do not look up deposits that have succeeded or failed', async (folder) => {
  const asked: number[] = [];
  let breaks = false;
  const { ledger } = await folder.open({
    wrap: (inner) => ({
      ...flaky(inner, () => breaks),
      commit: (writes: readonly SqlWrite[]) => {
        asked.push(writes.filter(({ statement }) => statement.sql.includes('json_each')).length);
        return breaks ? Promise.reject(new StoreError('disk full')) : inner.commit(writes);
      },
    }),
  });
  const earmark = await earmarked(ledger, order(10, agent), 10);
  await ledger.deposit(WALLET, deposit(100), []);
  breaks = true;
  await expect(ledger.deposit(WALLET, deposit(30), [])).rejects.toBeInstanceOf(StoreError);
  await expect(earmark.capture(deposit(30), [])).rejects.toBeInstanceOf(StoreError);
  breaks = false;
  asked.length = 0;
  await ledger.close();
  expect(asked).toEqual([0]);
});

describe('refunded fees', () => {
  ledgerTest(
    'a refunded fee counts at once if it belongs to a settlement, and is written with the settlement',
    async (folder) => {
      const { ledger, store, gate } = await gated(folder);
      await ledger.deposit(WALLET, deposit(500, 20, 'pay_00000000001'), [payment(1, 'settled', 500, 0)]);
      const hold = await held(ledger, order(400, agent));
      gate.shut();
      hold.settle(null, waiving(ledger, WALLET, 20, 'pay_00000000001'));
      expect(balance(ledger)).toEqual([500, 0, 0]);
      const next = held(ledger, order(500, agent));
      gate.open();
      (await next).settle(line(1), waiving(ledger, WALLET, 0, 'pay_00000000001'));
      expect(await rows(store)).toEqual([
        ['deposit', 500, 'pay_00000000001'],
        ['fee', -20, 'pay_00000000001'],
        ['reserve', 400, null],
        ['settle', 0, null],
        ['fee', 20, 'pay_00000000001'],
        ['reserve', 500, null],
        ['settle', 1, null],
      ]);
      await ledger.close();
      await store.close();
      expect(await afterStart(folder)).toEqual([500, 1, 0]);
      expect(await findingsOf(folder.file)).toEqual([]);
    },
  );

  ledgerTest('a refunded fee counts once it is on disk if it belongs to no settlement', async (folder) => {
    const { ledger, gate } = await gated(folder);
    await ledger.deposit(WALLET, deposit(500, 20, 'pay_00000000001'), [payment(1, 'settled', 500, 0)]);
    gate.shut();
    const waived = ledger.deposit(WALLET, deposit(0, -20, 'pay_00000000001'), []);
    expect(balance(ledger)).toEqual([480, 0, 0]);
    gate.open();
    await waived;
    expect(balance(ledger)).toEqual([500, 0, 0]);
    await folder.prove();
  });

  ledgerTest('a refunded fee wakes requests that wait for the balance', async (folder) => {
    const { ledger } = await gated(folder);
    await ledger.deposit(WALLET, deposit(100, 20, 'pay_00000000001'), [payment(1, 'settled', 100, 20)]);
    await held(ledger, order(60, agent));
    const waiting = held(ledger, order(40, { ...agent, waitMs: 20_000 }));
    ledger.waiveFee(WALLET, 20, 'pay_00000000001');
    expect((await waiting).reserved).toBe(40);
  });
});

ledgerTest(
  'an export has a line for each deposit and each fee, and its sums include no deposits and no fees',
  async (folder) => {
    const { ledger, store } = await folder.open();
    await ledger.deposit(WALLET, deposit(5_000_000, 1_000, 'pay_00000000001'), []);
    (await held(ledger, order(300, agent))).settle(line(200), waiving(ledger, WALLET, 1_000, 'pay_00000000001'));
    await store.close();
    const exported = async (...args: string[]): Promise<Record<string, string>[]> => {
      let text = '';
      const reader = openReader(folder.file, [ledgerMigrations]);
      const write = async (part: string): Promise<void> => {
        text += part;
      };
      await writeExport(parseExport(args, NOON), reader.journal, { nameOf: () => null, sight: FULL_SIGHT }, write);
      reader.close();
      return readCsv(text);
    };
    const lines = await exported('--key', WALLET, '--from', new Date(NOON).toISOString());
    expect(
      lines.map((row) => [row.kind, row.key_id, row.granted_credits, row.credits, row.decision, row.note]),
    ).toEqual([
      ['deposit', WALLET, '5', '', '', 'pay_00000000001'],
      ['fee', WALLET, '-0.001', '', '', 'pay_00000000001'],
      ['settle', WALLET, '', '0.0002', lines[2]!.decision, ''],
      ['fee', WALLET, '0.001', '', '', 'pay_00000000001'],
    ]);
    expect(await exported('--by', 'key')).toMatchObject([{ key_id: WALLET, charges: '1', credits: '0.0002' }]);
  },
);
