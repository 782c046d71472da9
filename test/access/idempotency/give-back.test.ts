import { expect, test } from 'bun:test';
import { auditLedger } from '../../../src/ledger/audit/run.ts';
import { sqliteJournal } from '../../../src/store/sqlite/books/journal-reader.ts';
import { budget, caller, held, journal, line, NO_TERMS, open, order } from '../../ledger/support.ts';
import { tempFolder } from '../../store/support.ts';

const terms = { ...NO_TERMS, budgets: [budget(1_000, { onExhausted: 'downgrade' })] };

test('the ledger refunds the rest of a charge once, to the budget and the sums, and the audit agrees', async () => {
  using folder = tempFolder();
  const { ledger, store } = await open(folder.file, { terms });
  const hold = await held(ledger, order(600));
  hold.settle(line(500), () => []);
  expect(ledger.availableFunds(caller(), 'auto')?.terms[0].free).toBe(500);
  expect(await ledger.giveBack(hold.id, 'a note')).toBe(500);
  expect(ledger.availableFunds(caller(), 'auto')?.terms[0].free).toBe(1_000);
  expect((await ledger.status()).charged).toBe(0);
  expect(await ledger.giveBack(hold.id, 'a note')).toBe(0);
  expect(await journal(store)).toMatchObject([
    { kind: 'reserve' },
    { kind: 'settle' },
    { kind: 'correct', amount: -500 },
  ]);
  await ledger.close();
  expect((await auditLedger(sqliteJournal(store), { idle: true })).findings).toEqual([]);
  await store.close();
});

test('two simultaneous refunds of a charge refund the charge once', async () => {
  using folder = tempFolder();
  const { ledger, store } = await open(folder.file, { terms });
  const hold = await held(ledger, order(600));
  hold.settle(line(500), () => []);
  const results = await Promise.allSettled([ledger.giveBack(hold.id, ''), ledger.giveBack(hold.id, '')]);
  expect(results.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThanOrEqual(1);
  expect(ledger.availableFunds(caller(), 'auto')?.terms[0].free).toBe(1_000);
  expect((await journal(store)).filter(({ kind }) => kind === 'correct')).toHaveLength(1);
  await ledger.close();
  await store.close();
});

test('a refund for a repeat is made once, however often it is requested', async () => {
  using folder = tempFolder();
  const { ledger, store } = await open(folder.file, { terms });
  const [first, repeat] = [await held(ledger, order(400)), await held(ledger, order(400))];
  await first.settle(line(300), () => []);
  await repeat.settle(line(50), () => []);
  for (let i = 0; i < 2; i++) expect(await ledger.giveBack(first.id, '', repeat.id)).toBe(50);
  expect((await journal(store)).filter(({ kind }) => kind === 'correct')).toMatchObject([{ amount: -50 }]);
  expect(await ledger.giveBack(first.id, '')).toBe(250);
  await ledger.close();
  await store.close();
});

test('nothing is refunded for an open or unknown hold', async () => {
  using folder = tempFolder();
  const { ledger, store } = await open(folder.file, { terms });
  const hold = await held(ledger, order(600));
  expect(ledger.giveBack(hold.id, '')).rejects.toThrow('is open');
  expect(await ledger.giveBack(order(1).id, '')).toBe(0);
  hold.settle(null, () => []);
  expect(await ledger.giveBack(hold.id, '')).toBe(0);
  await ledger.close();
  await store.close();
});

test('a refund survives a crash immediately after the refund', async () => {
  using folder = tempFolder();
  const first = await open(folder.file, { terms });
  const hold = await held(first.ledger, order(600));
  hold.settle(line(500), () => []);
  await first.ledger.giveBack(hold.id, '');
  // The refund itself is durable, but its row in the journal may not be written yet.
  const second = await open(folder.file, { terms });
  expect(second.ledger.availableFunds(caller(), 'auto')?.terms[0].free).toBe(1_000);
  expect(await second.ledger.giveBack(hold.id, '')).toBe(0);
  for (const { ledger } of [first, second]) void ledger.close().catch(() => {});
  await second.store.close();
  await first.store.close().catch(() => {});
});
