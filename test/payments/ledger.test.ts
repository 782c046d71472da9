import { describe, expect } from 'bun:test';
import { idText } from '../../src/core/id.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { Book } from '../../src/payments/payments.ts';
import type { Payment } from '../../src/store/payments.ts';
import { openSqliteBooks } from '../../src/store/sqlite/books/books.ts';
import type { SqlStore } from '../../src/store/sqlite/statement.ts';
import { findingsOf } from '../ledger/audit-support.ts';
import { NO_TERMS } from '../ledger/support.ts';
import { type BenchOptions, CONTEXT, failure, never, newAccount, only, shopTest } from './support.ts';

/** Payments with the real ledger. The ledger's audit covers both. */
function withLedger() {
  const ledgers: Ledger[] = [];
  const ledger = () => ledgers.at(-1)!;
  const options: BenchOptions = {
    ledger: async (store: SqlStore) => {
      const opened = await openLedger({
        books: await openSqliteBooks({ store, now: Date.now }),
        terms: NO_TERMS,
        now: () => Date.now(),
        onAlarm: () => {},
      });
      ledgers.push(opened);
      return opened;
    },
  };
  const book: Book<void> = ({ payer, paid, fee, id }, writes) =>
    ledger().deposit(payer, { paid, fee, note: idText('pay_', id) }, writes);
  return { ledger, options, book };
}

describe('With the ledger', () => {
  shopTest(
    'a captured payment becomes balance minus its fee, or the whole amount if a crash interrupted its request',
    async (shop) => {
      const { ledger, options, book } = withLedger();
      const first = await shop.open(options);
      const signed = await first.signedPayment(newAccount());
      expect((await first.payments.settle(signed, CONTEXT, book)).state).toBe('captured');
      expect(ledger().balanceOf(signed.payer)?.free).toBe(5_000_000);
      expect(await findingsOf(shop.file)).toEqual([]);
      await first.close();
      const second = await shop.open(options);
      expect(ledger().balanceOf(signed.payer)?.free).toBe(6_000_000);
      expect(await only(second)).toMatchObject({ state: 'settled', paid: 6_000_000, fee: 0 });
      expect(await findingsOf(shop.file)).toEqual([]);
    },
  );

  shopTest('a top-up is captured and settled in one commit', async (shop) => {
    const { ledger, options } = withLedger();
    const bench = await shop.open(options);
    const signed = await bench.signedPayment(newAccount(), { purpose: 'topup', isFeeDue: false });
    await bench.payments.settle(signed, { decision: null, keyId: null }, (payment: Payment, writes) => {
      const also = [...writes, ...bench.payments.settleWrites(payment, 0, 0)];
      return ledger().deposit(payment.payer, { paid: payment.paid, fee: 0, note: idText('pay_', payment.id) }, also);
    });
    expect(await only(bench)).toMatchObject({ state: 'settled', purpose: 'topup', fee: 0, charged: 0 });
    expect(ledger().balanceOf(signed.payer)?.free).toBe(5_000_000);
    expect(await findingsOf(shop.file)).toEqual([]);
  });

  shopTest(
    'a payment that arrived unconfirmed becomes balance once, even if several callers look it up',
    async (shop) => {
      const { ledger, options } = withLedger();
      const bench = await shop.open(options);
      const signed = await bench.signedPayment(newAccount());
      bench.chain.behavior = 'lost';
      expect((await failure(bench.payments.settle(signed, CONTEXT, never))).code).toBe('payment_unsettled');
      expect(ledger().balanceOf(signed.payer)).toBeNull();
      const { id } = await only(bench);
      const requests = [
        bench.payments.reconcile(id),
        bench.payments.settle(signed, CONTEXT, never),
        bench.payments.reconcile(id),
      ];
      await Promise.allSettled(requests);
      expect(ledger().balanceOf(signed.payer)?.free).toBe(6_000_000);
      expect(await only(bench)).toMatchObject({ state: 'settled', fee: 0 });
      expect(await findingsOf(shop.file)).toEqual([]);
    },
  );
});
