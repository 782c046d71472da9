import { describe, expect } from 'bun:test';
import { type FundShortage, isShortage } from '../../src/ledger/available-funds.ts';
import type { Hold } from '../../src/ledger/hold.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { ledgerFamilies } from '../../src/ledger/metrics.ts';
import { figuresOf } from '../support/families.ts';
import { ledgerTest } from './books-test.ts';
import { budget, held, line, order, refused, terms } from './support.ts';

/** Longer than any test takes, ms. */
const LONG = 20_000;

const wait = (ledger: Ledger, amount: number, waitMs = LONG, signal?: AbortSignal): Promise<Hold | FundShortage> =>
  ledger.reserve(order(amount, { waitMs, ...(signal && { signal }) }));

/** The metrics of waits: the counts by outcome, and how many requests waited for how long. */
async function waitsOf(ledger: Ledger) {
  await Bun.sleep(0);
  const figures = figuresOf(ledgerFamilies(ledger));
  const of = (outcome: string) => figures[`signalbox_contention_waits_total{outcome="${outcome}"}`];
  const [count, seconds] = ['_count', '_sum'].map((part) => figures[`signalbox_contention_wait_seconds${part}`]);
  const waiting = figures.signalbox_contention_waiting;
  return { served: of('served'), gaveUp: of('gave_up'), crowded: of('crowded'), waiting, count, seconds };
}

describe('metrics of waits', () => {
  ledgerTest(
    'a request that waits for money is counted as waiting while it waits, and as served with its duration afterwards',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(100)) });
      const hold = await held(ledger, order(80));
      const asked = wait(ledger, 50);
      expect(await waitsOf(ledger)).toMatchObject({ served: 0, gaveUp: 0, crowded: 0, waiting: 1, count: 0 });
      await Bun.sleep(20);
      hold.settle(null, () => []);
      expect(isShortage(await asked)).toBe(false);
      const told = await waitsOf(ledger);
      expect(told).toMatchObject({ served: 1, gaveUp: 0, waiting: 0, count: 1 });
      expect(told.seconds).toBeGreaterThanOrEqual(0.019);
    },
  );

  ledgerTest(
    'a request that waits for money counts as given up if its time is over, its client disconnects, or the money is spent',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(100)) });
      const hold = await held(ledger, order(80));
      await wait(ledger, 50, 10);
      const gone = new AbortController();
      const left = wait(ledger, 50, LONG, gone.signal);
      gone.abort();
      await left;
      const late = wait(ledger, 50);
      hold.settle(line(80), () => []);
      expect(await late).toMatchObject({ why: 'exhausted' });
      expect(await waitsOf(ledger)).toMatchObject({ served: 0, gaveUp: 3, crowded: 0, waiting: 0, count: 3 });
    },
  );

  ledgerTest(
    'a request that waits for money is not counted if it may not wait, its client has already disconnected, or it could never be paid',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(100)) });
      await held(ledger, order(80));
      await refused(ledger, order(50));
      await wait(ledger, 50, LONG, AbortSignal.abort());
      await wait(ledger, 101);
      expect(await waitsOf(ledger)).toMatchObject({ served: 0, gaveUp: 0, crowded: 0, count: 0 });
    },
  );

  ledgerTest(
    'a request that waits for money is refused as crowded without waiting if 1,000 requests already wait',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(1_000)) });
      const hold = await held(ledger, order(1_000));
      const waiting = Array.from({ length: 1_000 }, () => wait(ledger, 1));
      await wait(ledger, 1);
      expect(await waitsOf(ledger)).toMatchObject({ crowded: 1, waiting: 1_000, count: 0 });
      hold.settle(null, () => []);
      await Promise.all(waiting);
      expect(await waitsOf(ledger)).toMatchObject({ served: 1_000, gaveUp: 0, crowded: 1, waiting: 0, count: 1_000 });
    },
  );
});
