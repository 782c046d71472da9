import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { auditReport } from '../../src/admin/use-cases/ledger/audit.ts';
import { reportText } from '../../src/cli/ledger/audit.ts';
import type { FindingKind } from '../../src/ledger/audit/audit.ts';
import { tempFolder } from '../store/support.ts';
import { audit, copies, shift, tamper } from './audit-support.ts';
import { budget, caller, held, line, NO_TERMS, NOON, open, order } from './support.ts';
import { AGENT, deposit, earmarked, OTHER, PAYMENTS, payment, WALLET, waiving } from './wallet-support.ts';

let folder: ReturnType<typeof tempFolder>;
const reportOf = (found: Awaited<ReturnType<typeof audit>>) =>
  auditReport(found, { settlements: 0, fault: null, ledgerFault: null }, NOON);
const note = (id: number) => `pay_0000000000${id}`;

/** Makes a top-up, a payment whose request ran, one whose request got no answer, a failed payment, and a request that runs on the rest. */
beforeAll(async () => {
  folder = tempFolder();
  const terms = { ...NO_TERMS, budgets: [budget(9_000, { name: 'all' })] };
  const { ledger, store } = await open(folder.file, { terms });
  tamper(folder.file, PAYMENTS);
  await ledger.deposit(WALLET, deposit(500, 0, note(1)), [payment(1, 'settled', 500, 0)]);
  const paid = await earmarked(ledger, order(300, { caller: AGENT }), 250);
  const ran = await paid.capture(deposit(260, 10, note(2)), [payment(2, 'captured', 260, 10)]);
  ran!.settle(line(200), () => []);
  const other = { holder: OTHER, caller: caller('key') };
  const none = await (await earmarked(ledger, order(90, other), 90)).capture(deposit(100, 10, note(3)), [
    payment(3, 'settled', 100, 0, OTHER),
  ]);
  none!.settle(null, waiving(ledger, OTHER, 10, note(3)));
  await store.commit([payment(4, 'failed', 700, 10), payment(5, 'unknown', 30, 1), payment(6, 'settling', 30, 1)]);
  await ledger.close();
  await held(ledger, order(40, other));
  await store.close();
});
afterAll(() => folder[Symbol.dispose]());

test('the audit finds nothing wrong with payments whose deposits and fees are in the journal, and adds the payments up', async () => {
  const result = await audit(folder.file);
  expect(result.findings).toEqual([]);
  expect(result.payments.totals).toEqual({ deposited: 860, fees: 10 });
  expect(result.totals).toMatchObject({ granted: 0, charged: 200 });
  expect(reportText(reportOf(result))).toContain(
    '\nWallets paid in 0.00086 Credits, of which 0.00001 Credits were kept as fees.\n',
  );
  expect(reportOf(result)).toMatchObject({
    deposited_credits: 0.00086,
    fees_credits: 0.00001,
  });
});

test('the audit text shows an open reservation with the wallet that requested it', async () => {
  expect(reportText(reportOf(await audit(folder.file)))).toMatch(/dec_\w+ {2}key key, 0\.00004 Credits reserved/);
  const file = copy();
  tamper(file, `UPDATE accounts SET key_id = '${OTHER}', payer = NULL WHERE payer = '${OTHER}'`);
  expect(reportText(reportOf(await audit(file)))).toContain(`wallet ${OTHER}, 0.00004 Credits reserved`);
});

test('the audit of a ledger without payments passes', async () => {
  const file = copy();
  tamper(file, 'DROP TABLE payments');
  expect((await audit(file)).findings).toEqual([]);
});

const copy = copies(() => folder);

const copyRow = (seq: number, amount: string) =>
  `INSERT INTO journal (seq, kind, account, amount, time, note) SELECT 99, kind, account, ${amount}, time, note
    FROM journal WHERE seq = ${seq}`;

/** For each change of the journal: the kind of finding, the number of the row, and a part of the message that the audit must report. */
const MUTANTS: readonly (readonly [string, readonly string[], FindingKind, number | null, string])[] = [
  [
    'a deposit is removed',
    ['DELETE FROM journal WHERE seq = 1'],
    'wrong_payment',
    null,
    '500 paid and 0 kept, but the',
  ],
  ['a deposit is 1 too high', ['UPDATE journal SET amount = 501 WHERE seq = 1'], 'wrong_balance', null, WALLET],
  ['a deposit is doubled', [copyRow(1, 'amount')], 'wrong_payment', null, 'the journal has 1000 and 0'],
  ['a deposit is nothing', ['UPDATE journal SET amount = 0 WHERE seq = 2'], 'bad_amount', 2, 'deposits 0'],
  ['a deposit takes', ['UPDATE journal SET amount = -1 WHERE seq = 2'], 'bad_amount', 2, 'deposits -1'],
  [
    'a deposit names no payment',
    ['UPDATE journal SET note = NULL WHERE seq = 1'],
    'wrong_payment',
    null,
    'not a payment',
  ],
  ['a payment is removed', ['DELETE FROM payments WHERE id = 1'], 'wrong_payment', null, `by ${WALLET} for "pay_`],
  [
    'a payment belongs to another payer',
    ['UPDATE payments SET payer = nonce WHERE id = 1'],
    'wrong_payment',
    null,
    'booked to',
  ],
  ['a payment was more', ['UPDATE payments SET paid = 501 WHERE id = 1'], 'wrong_payment', null, '501 paid'],
  ['a payment kept less', ['UPDATE payments SET fee = 9 WHERE id = 2'], 'wrong_payment', null, '9 kept'],
  ['a payment failed', [`UPDATE payments SET state = 'failed' WHERE id = 1`], 'wrong_payment', null, 'is failed'],
  ['a payment is settling', [`UPDATE payments SET state = 'settling' WHERE id = 2`], 'wrong_payment', null, 'settling'],
  ['a payment is unknown', [`UPDATE payments SET state = 'unknown' WHERE id = 2`], 'wrong_payment', null, 'unknown'],
  ['a payment has come', [`UPDATE payments SET state = 'settled' WHERE id = 4`], 'wrong_payment', null, '700 paid'],
  ['a payment runs', [`UPDATE payments SET state = 'captured' WHERE id = 6`], 'wrong_payment', null, '30 paid'],
  [
    'a fee is removed',
    ['DELETE FROM journal WHERE seq = 3'],
    'wrong_payment',
    null,
    '10 kept, but the journal has 260 and 0',
  ],
  [
    'a fee is higher than the deposit',
    ['UPDATE journal SET amount = -261 WHERE seq = 3'],
    'wrong_fee',
    3,
    'keeps a fee of 261',
  ],
  ['a fee is refunded twice', [copyRow(10, 'amount')], 'wrong_fee', 99, 'refunds 10 more'],
  [
    'a fee is refunded that was never kept',
    [`${copyRow(1, '1')}`, `UPDATE journal SET kind = 'fee' WHERE seq = 99`],
    'wrong_fee',
    99,
    'refunds 1 more',
  ],
  [
    'a fee is booked to another account',
    [`UPDATE journal SET account = (SELECT account FROM journal WHERE seq = 6) WHERE seq = 3`],
    'wrong_payment',
    3,
    'not to',
  ],
  [
    'a deposit comes after the hold that it pays for',
    [...shift(9), 'UPDATE journal SET seq = 9 WHERE seq = 6'],
    'overdrawn',
    8,
    `the balance of wallet ${OTHER}`,
  ],
];

describe('the audit names the row and the kind of the mistake if', () => {
  test('the journal has the rows that the tests below change', async () => {
    const { store } = await open(copy());
    const kinds = await store.query<{ kind: string }>({ sql: 'SELECT kind FROM journal ORDER BY seq' });
    expect(kinds.map(({ kind }) => kind)).toEqual([
      ...['deposit', 'deposit', 'fee', 'reserve', 'settle'],
      ...['deposit', 'fee', 'reserve', 'settle', 'fee', 'reserve'],
      // The start of this test has expired it.
      'expire',
    ]);
    await store.close();
  });

  for (const [name, sql, kind, seq, told] of MUTANTS) {
    test(name, async () => {
      const file = copy();
      tamper(file, ...sql);
      const { findings } = await audit(file);
      expect(findings).toContainEqual(
        expect.objectContaining({ kind, seq, message: expect.stringContaining(told) as string }),
      );
    });
  }
});
