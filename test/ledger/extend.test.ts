import { describe, expect } from 'bun:test';
import type { FundBlock } from '../../src/core/accounting/fund.ts';
import { isShortage } from '../../src/ledger/available-funds.ts';
import { ledgerTest } from './books-test.ts';
import { budget, held, line, order, terms } from './support.ts';

/** Longer than any test takes, ms. */
const LONG = 20_000;

const more = (amount: number, wanted = amount) => ({ amounts: [amount, wanted], least: amount }) as const;
const patient = (signal = new AbortController().signal, blocked: FundBlock[] = []) => ({
  waitMs: LONG,
  signal,
  onBlocked: (by: FundBlock) => void blocked.push(by),
});

describe('extensions of holds', () => {
  ledgerTest(
    'the hold of an answer grows by the second amount only while its funds have twice that amount free',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(100)) });
      const hold = await held(ledger, order(20));
      expect(await hold.extend(more(5, 40), patient())).toBe(true);
      expect(hold.reserved).toBe(60);
      expect(await hold.extend(more(5, 40), patient())).toBe(true);
      expect(hold.reserved).toBe(65);
      hold.settle(line(65), () => []);
      expect((await ledger.status()).funds).toMatchObject([{ spent: 65, held: 0 }]);
    },
  );

  ledgerTest(
    'the hold of an answer gets whatever is free of an amount when a fund is almost used up',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(100)) });
      const hold = await held(ledger, order(80));
      expect(await hold.extend({ amounts: [40], least: 10 }, patient())).toBe(true);
      expect(hold.reserved).toBe(100);
    },
  );

  ledgerTest('the hold of an answer gets money before requests that have not started', async (folder) => {
    const { ledger } = await folder.open({ terms: terms(budget(100)) });
    const [one, two] = [await held(ledger, order(60)), await held(ledger, order(40))];
    const served: string[] = [];
    const waiting = ledger.reserve(order(30, { waitMs: LONG }));
    void waiting.then((answer) => served.push(isShortage(answer) ? 'refused' : 'request'));
    await folder.turn();
    void one.extend(more(30), patient()).then((isGranted) => served.push(isGranted ? 'answer' : 'cut'));
    await folder.turn();
    expect(served).toEqual([]);
    two.settle(line(5), () => []);
    await folder.turn();
    // 35 are free: enough for either of the two.
    expect(served).toEqual(['answer']);
    one.settle(line(10), () => []);
    await folder.turn();
    expect(served).toEqual(['answer', 'request']);
  });

  ledgerTest(
    'the hold of an answer stops waiting when its signal aborts, and later requests move up',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(100)) });
      const hold = await held(ledger, order(80));
      const over = new AbortController();
      const blocked: FundBlock[] = [];
      const extension = hold.extend(more(30), patient(over.signal, blocked));
      await folder.turn();
      const waiting = ledger.reserve(order(20, { waitMs: LONG }));
      over.abort();
      expect(await extension).toBe(false);
      expect(blocked).toMatchObject([{ why: 'contended', fund: { held: 80 } }]);
      expect(isShortage(await waiting)).toBe(false);
    },
  );

  ledgerTest('the hold of an answer is refused at once an amount that its fund can never pay', async (folder) => {
    const { ledger } = await folder.open({ terms: terms(budget(100)) });
    (await held(ledger, order(30))).settle(line(30), () => []);
    const hold = await held(ledger, order(50));
    const blocked: FundBlock[] = [];
    expect(await hold.extend(more(71), patient(undefined, blocked))).toBe(false);
    expect(blocked).toMatchObject([{ why: 'exhausted' }]);
  });

  ledgerTest('the hold of an answer stays within its limit, and does not grow after its end', async (folder) => {
    const { ledger } = await folder.open();
    const hold = await held(ledger, order(50, { limit: 60 }));
    expect(await hold.extend(more(11), patient())).toBe(false);
    const late = hold.extend(more(10), patient());
    hold.settle(line(50), () => []);
    expect(await late).toBe(false);
    expect((await ledger.status()).held).toBe(0);
  });
});
