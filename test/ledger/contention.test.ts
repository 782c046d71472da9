import { describe, expect } from 'bun:test';
import { idAt } from '../../src/core/id.ts';
import type { Budget } from '../../src/core/money/budget.ts';
import { type FundShortage, isShortage } from '../../src/ledger/available-funds.ts';
import type { Hold } from '../../src/ledger/hold.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { insertAdjustment } from '../../src/store/sqlite/books/tables.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import type { SqlStore } from '../../src/store/sqlite/statement.ts';
import { StoreError } from '../../src/store/store.ts';
import { flaky } from '../store/support.ts';
import { waitFor } from '../support/answers.ts';
import { ledgerTest } from './books-test.ts';
import { budget, caller, held, line, NO_TERMS, NOON, order, refused, terms } from './support.ts';

/** Longer than any test takes, ms. */
const LONG = 20_000;

/** A budget for the requests for one model name. */
const of = (selector: string, limit: number): Budget =>
  budget(limit, { name: selector, match: ({ request }) => request.model.includes(selector) });

/** Sends requests, and records the order of the answers. */
function asking(ledger: Ledger) {
  const told: string[] = [];
  const ask = (name: string, amount: number, over: Parameters<typeof order>[1] = {}): Promise<Hold | FundShortage> => {
    const asked = ledger.reserve(order(amount, { waitMs: LONG, ...over }));
    asked.then((answer) => told.push(isShortage(answer) ? `${name} ${answer.why}` : name));
    return asked;
  };
  return { told, ask };
}

async function got(asked: Promise<Hold | FundShortage>): Promise<Hold> {
  const answer = await asked;
  if (isShortage(answer)) throw new Error(`there was no room: ${JSON.stringify(answer)}`);
  return answer;
}

describe('queues', () => {
  ledgerTest(
    'a request that waits for a fund is served in the order of arrival, as soon as there is enough money',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(100)) });
      const [one, two] = [await held(ledger, order(60)), await held(ledger, order(40))];
      const { told, ask } = asking(ledger);
      const asked = [ask('a', 50), ask('b', 30), ask('c', 20)];
      await folder.turn();
      expect(told).toEqual([]);
      two.settle(null, () => []);
      await folder.turn();
      // 40 are free. 40 would be enough for b and c, but a came first.
      expect(told).toEqual([]);
      one.settle(line(10), () => []);
      await folder.turn();
      expect(told).toEqual(['a', 'b']);
      (await got(asked[0]!)).settle(line(0), () => []);
      await folder.turn();
      expect(told).toEqual(['a', 'b', 'c']);
      expect((await ledger.status()).funds).toMatchObject([{ spent: 10, held: 50 }]);
    },
  );

  ledgerTest('a request that waits for a fund is not overtaken by a later request that would fit', async (folder) => {
    const { ledger } = await folder.open({ terms: terms(budget(100)) });
    const first = await held(ledger, order(80));
    const { told, ask } = asking(ledger);
    ask('large', 50);
    ask('small', 10);
    expect(await refused(ledger, order(10))).toMatchObject({ why: 'contended', needed: 10 });
    await folder.turn();
    expect(told).toEqual([]);
    first.settle(null, () => []);
    await folder.turn();
    expect(told).toEqual(['large', 'small']);
  });

  ledgerTest(
    'a request that waits for a fund leaves the queue when its client disconnects, and later requests move up',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(100)) });
      await held(ledger, order(80));
      const gone = new AbortController();
      const large = ledger.reserve(order(50, { waitMs: 10_000, signal: gone.signal }));
      const { told, ask } = asking(ledger);
      ask('small', 20);
      await folder.turn();
      expect(told).toEqual([]);
      gone.abort();
      expect(await large).toMatchObject({ why: 'contended', needed: 50 });
      await folder.turn();
      expect(told).toEqual(['small']);
      expect(await refused(ledger, order(50, { waitMs: 10_000, signal: gone.signal }))).toMatchObject({ needed: 50 });
    },
  );

  ledgerTest(
    'a request that waits for a fund takes no money after its client has disconnected, even if there is enough',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(100)) });
      await held(ledger, order(80));
      const { told, ask } = asking(ledger);
      ask('large', 50);
      const gone = new AbortController();
      ask('small', 10, { signal: gone.signal });
      await folder.turn();
      expect(told).toEqual([]);
      gone.abort();
      await folder.turn();
      expect(told).toEqual(['small contended']);
      expect((await ledger.status()).funds).toMatchObject([{ held: 80 }]);
    },
  );

  ledgerTest(
    'a request that waits for a fund is refused as contended when its time is over, with the fund that lacks money',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(100)) });
      await held(ledger, order(80));
      const began = performance.now();
      const shortage = await refused(ledger, order(30, { waitMs: 40 }));
      expect(shortage).toMatchObject({ why: 'contended', name: 'all', limit: 100, spent: 0, held: 80, needed: 30 });
      expect(performance.now() - began).toBeGreaterThanOrEqual(39);
      // The queue is empty again.
      expect((await held(ledger, order(20))).reserved).toBe(20);
    },
  );

  ledgerTest(
    'a request that waits for a fund is refused as exhausted as soon as the fund can never pay it',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(100)) });
      const hold = await held(ledger, order(80));
      const { told, ask } = asking(ledger);
      ask('a', 50);
      hold.settle(line(80), () => []);
      await folder.turn();
      expect(told).toEqual(['a exhausted']);
    },
  );

  ledgerTest(
    'a request that waits for a fund does not wait for an amount that no release could free',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(100)) });
      (await held(ledger, order(60))).settle(line(60), () => []);
      await held(ledger, order(30));
      const began = performance.now();
      expect(await refused(ledger, order(41, { waitMs: LONG }))).toMatchObject({
        why: 'exhausted',
        spent: 60,
        held: 30,
      });
      expect(performance.now() - began).toBeLessThan(LONG / 4);
    },
  );

  ledgerTest(
    'a request that waits for a fund leaves its money to later requests when its time is over',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(100)) });
      await held(ledger, order(60));
      const { told, ask } = asking(ledger);
      ask('large', 90, { waitMs: 40 });
      ask('small', 30);
      ask('tiny', 10);
      await folder.turn();
      expect(told).toEqual([]);
      await waitFor(() => told.length >= 3);
      expect(told).toEqual(['large contended', 'small', 'tiny']);
    },
  );

  ledgerTest(
    'a request that waits for a fund gives up in the middle of the queue without losing another waiting request',
    async (folder) => {
      const { ledger } = await folder.open({ terms: terms(budget(100)) });
      const hold = await held(ledger, order(100));
      const { told, ask } = asking(ledger);
      ask('a', 50);
      ask('b', 60, { waitMs: 30 });
      ask('c', 50);
      await waitFor(() => told.length > 0);
      expect(told).toEqual(['b contended']);
      hold.settle(null, () => []);
      await folder.turn();
      expect(told).toEqual(['b contended', 'a', 'c']);
    },
  );
});

ledgerTest('at most 1,000 requests wait for a fund; the ledger refuses the next request at once', async (folder) => {
  const { ledger } = await folder.open({ terms: terms(budget(1_000)) });
  const hold = await held(ledger, order(1_000));
  const { told, ask } = asking(ledger);
  const waiting = Array.from({ length: 1_000 }, (_, i) => ask(String(i), 1));
  const began = performance.now();
  expect(await refused(ledger, order(1, { waitMs: LONG }))).toMatchObject({ why: 'contended' });
  expect(performance.now() - began).toBeLessThan(LONG / 4);
  hold.settle(null, () => []);
  await Promise.all(waiting);
  expect(told).toEqual(waiting.map((_, i) => String(i)));
  expect(ledger.open).toBe(1_000);
});

ledgerTest('the raise of a hold never waits: the raise takes free money or is refused at once', async (folder) => {
  const { ledger } = await folder.open({ terms: terms(budget(100)) });
  const hold = await held(ledger, order(70));
  const { told, ask } = asking(ledger);
  ask('a', 50);
  expect(await hold.raise([20])).toBe(true);
  expect(await hold.raise([11])).toBe(false);
  expect(told).toEqual([]);
});

ledgerTest('the raise of a hold wakes waiting requests if the raise cannot be written', async (folder) => {
  const { ledger } = await folder.open({ terms: terms(budget(100)) });
  const hold = await held(ledger, order(40));
  const { told, ask } = asking(ledger);
  const raise = hold.raise([30]);
  ask('a', 60);
  hold.settle(line(0), () => []);
  expect(await raise).toBe(false);
  await folder.turn();
  expect(told).toEqual(['a']);
});

ledgerTest('a request that is blocked by a second fund moves to the end of the queue of that fund', async (folder) => {
  const { ledger } = await folder.open({ terms: terms(of('x', 100), of('y', 100)) });
  const x = await held(ledger, order(100, { selector: 'x' }));
  const y = await held(ledger, order(100, { selector: 'y' }));
  const { told, ask } = asking(ledger);
  ask('both', 50, { selector: 'xy' });
  ask('y first', 80, { selector: 'y' });
  x.settle(null, () => []);
  await folder.turn();
  // Fund x has money for it now, but it is the second in the queue for y. Fund x is free for all requests.
  expect(told).toEqual([]);
  expect((await held(ledger, order(60, { selector: 'x' }))).reserved).toBe(60);
  y.settle(null, () => []);
  await folder.turn();
  expect(told).toEqual(['y first']);
});

describe('waking', () => {
  ledgerTest('waiting requests are woken by a reload that raises the limit or removes the budget', async (folder) => {
    const { ledger } = await folder.open({ terms: terms(budget(100)) });
    await held(ledger, order(100));
    const { told, ask } = asking(ledger);
    ask('a', 50);
    ask('b', 60);
    (await ledger.prepare(terms(budget(150))))();
    await folder.turn();
    expect(told).toEqual(['a']);
    (await ledger.prepare(NO_TERMS))();
    await folder.turn();
    expect(told).toEqual(['a', 'b']);
  });

  ledgerTest(
    'waiting requests are woken by a reload that removes the budget for them, even if a request before them keeps waiting',
    async (folder) => {
      const all = budget(100);
      const { ledger } = await folder.open({ terms: terms(all) });
      await held(ledger, order(100));
      const { told, ask } = asking(ledger);
      ask('head', 50);
      ask('other', 50, { caller: caller('other', { team: 'y' }) });
      await folder.turn();
      const narrowed: Budget = {
        ...all,
        definition: JSON.stringify(['without team y', null, 'day', 'UTC']),
        match: ({ key }) => key.labels.get('team') !== 'y',
      };
      (await ledger.prepare(terms(narrowed)))();
      await folder.turn();
      expect(told).toEqual(['other']);
    },
  );

  ledgerTest('waiting requests are woken by a grant', async (folder) => {
    const { ledger } = await folder.open();
    await grant(folder.file, 100);
    await ledger.refresh();
    await held(ledger, order(100));
    const { told, ask } = asking(ledger);
    ask('a', 50);
    await folder.turn();
    expect(told).toEqual([]);
    await grant(folder.file, 50);
    await ledger.refresh();
    await folder.turn();
    expect(told).toEqual(['a']);
  });

  ledgerTest('waiting requests are woken by a reservation that could not be written', async (folder) => {
    let broken = false;
    const wrap = (store: SqlStore): SqlStore => ({
      ...flaky(store),
      commit: async (writes) => {
        const fails = broken;
        await Bun.sleep(5);
        if (fails) throw new StoreError('disk full');
        return store.commit(writes);
      },
    });
    const { ledger } = await folder.open({ wrap, terms: terms(budget(100)) });
    broken = true;
    const lost = ledger.reserve(order(100));
    broken = false;
    const { told, ask } = asking(ledger);
    ask('a', 50);
    await expect(lost).rejects.toThrow('disk full');
    await waitFor(() => told.length > 0);
    expect(told).toEqual(['a']);
    expect(ledger.open).toBe(1);
  });
});

ledgerTest(
  'a request that waits beyond the end of a window does not block requests of the next window',
  async (folder) => {
    const midnight = Date.UTC(2026, 10, 21);
    let now = midnight - 1_000;
    let ids = idAt(now);
    const { ledger } = await folder.open({ now: () => now, terms: terms(budget(100, { window: 'day' })) });
    const yesterday = await held(ledger, order(100, { id: ids++ }));
    const { told, ask } = asking(ledger);
    const late = caller('late');
    ask('late', 50, { id: ids++, caller: late });
    now = midnight + 1_000;
    ids = idAt(now);
    ask('today', 10, { id: ids++, caller: caller('another') });
    // Another request of the same key asks for its funds.
    ledger.availableFunds(late, 'auto');
    yesterday.settle(null, () => []);
    await folder.turn();
    ask('later', 10, { id: ids++, caller: caller('another') });
    await folder.turn();
    expect(told).toContain('later');
  },
);

/** Grants Credits like an operator's command does. */
async function grant(file: string, amount: number): Promise<void> {
  const store = await openSqlite(file, []);
  const why = { reservation: null, account: null, note: '', time: NOON };
  await store.commit([insertAdjustment({ kind: 'grant', keyId: 'key', amount, ...why })]);
  await store.close();
}
