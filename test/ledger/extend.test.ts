import { describe, expect } from 'bun:test';
import { isShortage } from '../../src/ledger/standing.ts';
import { ledgerTest } from './books-test.ts';
import { budget, held, line, order, terms } from './support.ts';

/** Longer than any test takes, ms. */
const LONG = 20_000;

/** Long enough for whatever was woken to be written. */
const turn = (): Promise<void> => Bun.sleep(15);

const patient = (signal = new AbortController().signal) => ({ waitMs: LONG, signal });

describe('the hold of an answer that is being written', () => {
  ledgerTest('grows by the second amount only while its funds have that twice', async (folder) => {
    const { ledger } = await folder.open({ terms: terms(budget(100)) });
    const hold = await held(ledger, order(20));
    expect(await hold.extend([5, 40], patient())).toBeNull();
    expect(hold.reserved).toBe(60);
    expect(await hold.extend([5, 40], patient())).toBeNull();
    expect(hold.reserved).toBe(65);
    hold.settle(line(65), () => []);
    expect((await ledger.status()).funds).toMatchObject([{ spent: 65, held: 0 }]);
  });

  ledgerTest('comes before requests that wait for their first money', async (folder) => {
    const { ledger } = await folder.open({ terms: terms(budget(100)) });
    const [one, two] = [await held(ledger, order(60)), await held(ledger, order(40))];
    const served: string[] = [];
    const waiting = ledger.reserve(order(30, { waitMs: LONG }));
    void waiting.then((answer) => served.push(isShortage(answer) ? 'refused' : 'request'));
    await turn();
    void one.extend([30], patient()).then((refused) => served.push(refused === null ? 'answer' : 'cut'));
    await turn();
    expect(served).toEqual([]);
    two.settle(line(5), () => []);
    await turn();
    // 35 are free: enough for either of them.
    expect(served).toEqual(['answer']);
    one.settle(line(10), () => []);
    await turn();
    expect(served).toEqual(['answer', 'request']);
  });

  ledgerTest('no longer waits once its signal aborts, and those behind it move up', async (folder) => {
    const { ledger } = await folder.open({ terms: terms(budget(100)) });
    const hold = await held(ledger, order(80));
    const over = new AbortController();
    const extension = hold.extend([30], patient(over.signal));
    await turn();
    const waiting = ledger.reserve(order(20, { waitMs: LONG }));
    over.abort();
    expect(await extension).toMatchObject({ why: 'contended', fund: { held: 80 } });
    expect(isShortage(await waiting)).toBe(false);
  });

  ledgerTest('is refused at once what its fund can never pay', async (folder) => {
    const { ledger } = await folder.open({ terms: terms(budget(100)) });
    (await held(ledger, order(30))).settle(line(30), () => []);
    const hold = await held(ledger, order(50));
    expect(await hold.extend([71], patient())).toMatchObject({ why: 'exhausted' });
  });

  ledgerTest('stays within its limit, and does not grow after its end', async (folder) => {
    const { ledger } = await folder.open();
    const hold = await held(ledger, order(50, { limit: 60 }));
    expect(await hold.extend([11], patient())).toBe('closed');
    const late = hold.extend([10], patient());
    hold.settle(line(50), () => []);
    expect(await late).toBe('closed');
    expect((await ledger.status()).held).toBe(0);
  });
});
