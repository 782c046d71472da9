import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { usesOf } from '../../src/admin/use-cases/ledger/status.ts';
import type { FundTitle } from '../../src/core/accounting/fund.ts';
import { idAt } from '../../src/core/id.ts';
import type { Hold } from '../../src/ledger/hold.ts';
import { holdAge, OpenHolds } from '../../src/ledger/open-holds.ts';
import { ledgerTest } from './books-test.ts';
import { reload } from './model/spending.ts';
import { budget, caller, held, line, NOON, type Opened, order, terms } from './support.ts';
import { AGENT, beside, earmarked, paying, WALLET } from './wallet-support.ts';

const each = budget(1_000, { name: 'each', each: ({ key }) => key.id });
const all = budget(1_000, { name: 'all' });

/** Returns each fund with its name, its subject, the money held, and the requests that hold it. */
async function holders({ ledger }: Pick<Opened, 'ledger'>) {
  const { funds } = await ledger.status();
  return usesOf(ledger, funds).map(({ title, held: money, holds }) => [title.name, title.subject, money, holds.open]);
}

describe('open holds of a fund', () => {
  ledgerTest(
    'a fund lists the requests that hold its money, separately for each subject, until they are settled',
    async (folder) => {
      const opened = await folder.open({ terms: terms(each, all) });
      const one = await held(opened.ledger, order(10, { caller: caller('a') }));
      await held(opened.ledger, order(20, { caller: caller('a') }));
      await held(opened.ledger, order(30, { caller: caller('b') }));
      expect(await holders(opened)).toEqual([
        ['each', 'a', 30, 2],
        ['each', 'b', 30, 1],
        ['all', '', 60, 3],
      ]);
      one.settle(line(4), () => []);
      expect(await holders(opened)).toEqual([
        ['each', 'a', 20, 1],
        ['each', 'b', 30, 1],
        ['all', '', 50, 2],
      ]);
    },
  );

  ledgerTest('open requests move with their money to other budgets and limits', async (folder) => {
    const opened = await folder.open({ terms: terms(all) });
    await held(opened.ledger, order(10));
    await reload(opened, { ...all, limit: 500 }, budget(90, { name: 'new' }));
    expect(await holders(opened)).toEqual([
      ['all', '', 10, 1],
      ['new', '', 10, 1],
    ]);
  });

  ledgerTest('a payment in progress is listed as an open request, before and after it arrives', async (folder) => {
    const box = await beside(folder, 50, all);
    const earmark = await earmarked(box.ledger, order(120, { caller: AGENT }), 90);
    expect(await holders(box)).toEqual([
      ['all', '', 120, 1],
      [WALLET, '', 30, 1],
    ]);
    const hold = await earmark.capture(...paying(2, 90));
    expect((await holders(box)).map(([, , , open]) => open)).toEqual([1, 1]);
    hold!.settle(null, () => []);
    // Nothing was charged, so the window looks as if nothing had drawn on it.
    expect(await holders(box)).toEqual([
      [WALLET, '', 0, 0],
      ['all', '', 0, 0],
    ]);
  });

  ledgerTest('no fund is ever held without an open request, and no request is listed after its end', async (folder) => {
    const opened = await folder.open({ terms: terms(each, all) });
    const steps = fc.array(fc.record({ key: fc.constantFrom('a', 'b', 'c'), ends: fc.boolean() }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(steps, async (run) => {
        const open: { readonly key: string; readonly hold: Hold }[] = [];
        for (const { key, ends } of run) {
          if (ends) open.shift()?.hold.settle(null, () => []);
          else open.push({ key, hold: await held(opened.ledger, order(1, { caller: caller(key) })) });
          for (const [name, subject, money, count] of await holders(opened)) {
            const own = open.filter((one) => name === 'all' || one.key === subject).length;
            expect([money, count]).toEqual([own, own]);
          }
        }
        for (const { hold } of open) hold.settle(null, () => []);
      }),
      { numRuns: 30 },
    );
  });
});

test('the age of a hold is the age of the oldest hold of the fund, at least 0, and 0 without a hold', () => {
  const title: FundTitle = { kind: 'budget', name: 'all', subject: '', definition: '', starts: 0, ends: NOON };
  const made = [NOON + 500, NOON, NOON + 900].map((at) => ({ id: idAt(at), funds: [{ title }] }));
  const holds = new OpenHolds(made).of({ ...title });
  expect(holds).toEqual({ open: 3, oldestAt: NOON });
  expect([holdAge(holds, NOON + 2_000), holdAge(holds, NOON - 5)]).toEqual([2_000, 0]);
  expect(holdAge(new OpenHolds([]).of(title), NOON)).toBe(0);
  expect(new OpenHolds(made).of({ ...title, definition: 'other' })).toMatchObject({ open: 0 });
});
