import { describe, expect, test } from 'bun:test';
import { idAt } from '../../src/core/id.ts';
import type { Budget } from '../../src/core/money/budget.ts';
import { flaky, tempFolder } from '../store/support.ts';
import { ledgerTest } from './books-test.ts';
import { adjust, fundsOf, reload, spent } from './model/spending.ts';
import { budget, caller, held, line, NO_TERMS, NOON, open, order, refused, terms } from './support.ts';

const MIDNIGHT = Date.UTC(2026, 10, 21);
const SECOND = 1_000;

const each: Budget['each'] = ({ key }) => key.id;

describe('what funds allow', () => {
  ledgerTest(
    'available funds are null without a fund; only funds with `downgrade` limit the choice of models, then cap the output',
    async (folder) => {
      const opened = await folder.open({
        terms: terms(
          budget(100),
          budget(80, { name: 'thrifty', onExhausted: 'downgrade', match: ({ key }) => key.id !== 'x' }),
        ),
      });
      await held(opened.ledger, order(30));
      await spent(opened, 10);
      const standing = opened.ledger.availableFunds(caller(), 'auto');
      const cap = { by: 'thrifty', unspent: 70 };
      expect(standing?.terms).toEqual([{ free: 40 }, { free: 70 }, { free: null, cap }]);
      expect(standing?.shortFor(70)).toBeNull();
      expect(standing?.shortFor(71)).toMatchObject({ why: 'exhausted', name: 'thrifty', needed: 71 });
      // Only the budget `all` applies to this key, and it rejects.
      const other = opened.ledger.availableFunds(caller('x'), 'auto');
      expect(other?.terms).toEqual([{ free: null }]);
      expect(other?.shortFor(91)).toMatchObject({ name: 'all', limit: 100, spent: 10, held: 30 });
      await reload(opened);
      expect(opened.ledger.availableFunds(caller(), 'auto')).toBeNull();
    },
  );

  ledgerTest(
    'a shortage names a budget whose limit is too low before a budget that is only used up',
    async (folder) => {
      const budgets = [budget(100, { name: 'spent' }), budget(40, { name: 'low' })];
      const opened = await folder.open({ terms: terms(...budgets) });
      await spent(opened, 30);
      const standing = opened.ledger.availableFunds(caller(), 'auto');
      expect(standing?.shortFor(75)).toMatchObject({ name: 'low', limit: 40 });
      expect(standing?.shortFor(35)).toMatchObject({ name: 'low', spent: 30 });
    },
  );

  ledgerTest(
    'a fund is exhausted if no release could help, and contended if open reservations hold the money',
    async (folder) => {
      const opened = await folder.open({ terms: terms(budget(100, { window: 'day' })) });
      await spent(opened, 50);
      await held(opened.ledger, order(30));
      const renewsAt = MIDNIGHT;
      expect(await refused(opened.ledger, order(51))).toEqual({
        title: expect.objectContaining({ name: 'all', subject: '', ends: MIDNIGHT }),
        why: 'exhausted',
        kind: 'budget',
        name: 'all',
        subject: '',
        window: 'day',
        level: null,
        timeZone: 'UTC',
        limit: 100,
        spent: 50,
        held: 30,
        needed: 51,
        renewsAt,
      });
      expect(await refused(opened.ledger, order(21))).toMatchObject({ why: 'contended', needed: 21, renewsAt });
      expect((await held(opened.ledger, order(20))).reserved).toBe(20);
    },
  );

  ledgerTest(
    'a refusal names a fund that can never pay before a fund that may, and a refused request draws on no fund',
    async (folder) => {
      const opened = await folder.open({
        terms: terms(
          budget(100, { name: 'wide' }),
          budget(60, { name: 'own', each }),
          budget(50, { name: 'narrow', window: 'total' }),
        ),
      });
      await held(opened.ledger, order(45));
      const before = await fundsOf(opened);
      // `wide` lacks money now; `own` and `narrow` could never pay.
      expect(await refused(opened.ledger, order(61))).toMatchObject({ why: 'exhausted', name: 'own', subject: 'key' });
      expect(await refused(opened.ledger, order(51))).toMatchObject({
        why: 'exhausted',
        name: 'narrow',
        renewsAt: null,
      });
      expect(await refused(opened.ledger, order(20))).toMatchObject({ why: 'contended', name: 'own' });
      expect(await fundsOf(opened)).toEqual(before);
      await held(opened.ledger, order(5));
      expect(await fundsOf(opened)).toEqual([
        ['wide', '', 100, 0, 50],
        ['own', 'key', 60, 0, 50],
        ['narrow', '', 50, 0, 50],
      ]);
    },
  );

  ledgerTest(
    'the ledger reserves the highest amount that is free twice, so a fallback cannot crowd other requests out',
    async (folder) => {
      const opened = await folder.open({ terms: terms(budget(100)) });
      const first = await held(opened.ledger, order(10, { amounts: [10, 51, 50] }));
      expect(first.reserved).toBe(50);
      const second = await held(opened.ledger, order(40, { amounts: [40, 50] }));
      expect(second.reserved).toBe(40);
      // A raise cannot take more than is free, either.
      expect(await second.raise([11])).toBe(false);
      expect(await second.raise([10])).toBe(true);
    },
  );

  ledgerTest('without a fund, the ledger reserves the highest amount', async (folder) => {
    const opened = await folder.open();
    expect((await held(opened.ledger, order(10, { amounts: [10, 500, 60] }))).reserved).toBe(500);
  });
});

describe('a condition that fails', () => {
  const fails = (): never => {
    throw new Error('no such label');
  };

  ledgerTest(
    'a budget applies if its condition throws, and charges without a subject share the same window',
    async (folder) => {
      const opened = await folder.open({ terms: terms(budget(100, { match: fails, each: fails })) });
      await spent(opened, 40);
      await spent(opened, 30, { caller: caller('another') });
      expect(await fundsOf(opened)).toEqual([['all', '', 100, 70, 0]]);
      expect(await refused(opened.ledger, order(31))).toMatchObject({ why: 'exhausted', subject: '' });
      await opened.store.close();
      // The budget has the same figures when the ledger counts it again.
      const again = await folder.open({ terms: terms(budget(100, { match: fails, each: fails })) });
      expect(await fundsOf(again)).toEqual([['all', '', 100, 70, 0]]);
    },
  );
});

describe('a reload', () => {
  ledgerTest('a reload that changes a limit keeps what was counted and what is held', async (folder) => {
    const opened = await folder.open({ terms: terms(budget(100, { each })) });
    await spent(opened, 40);
    const hold = await held(opened.ledger, order(30));
    await reload(opened, budget(50, { each }));
    expect(await fundsOf(opened)).toEqual([['all', 'key', 50, 40, 30]]);
    // The reload put the fund beyond its limit. No further request is admitted, and the open hold stays valid.
    expect(await refused(opened.ledger, order(1))).toMatchObject({ why: 'contended' });
    expect(await hold.raise([1])).toBe(false);
    expect((await hold.settle(line(30), () => [])).charged).toBe(30);
    expect(await refused(opened.ledger, order(1))).toMatchObject({ why: 'exhausted', spent: 70, limit: 50 });
    await reload(opened, budget(90, { each }));
    await held(opened.ledger, order(20));
    expect(await fundsOf(opened)).toEqual([['all', 'key', 90, 70, 20]]);
  });

  ledgerTest(
    'a reload that changes what a budget counts counts again: old charges, new charges and open holds',
    async (folder) => {
      let now = NOON - 86_400_000;
      const opened = await folder.open({ terms: terms(budget(1_000, { window: 'day' })), now: () => now });
      await spent(opened, 7, { id: idAt(now) });
      now = NOON;
      await spent(opened, 40);
      await opened.ledger.close();
      // These charges are not in the stored sums yet.
      await spent(opened, 5, { caller: caller('another') });
      const posted = await held(opened.ledger, order(100));
      posted.post(line(30));
      await held(opened.ledger, order(20, { caller: caller('another') }));
      await reload(opened, budget(1_000, { window: 'month', each }));
      expect((await fundsOf(opened)).sort()).toEqual([
        ['all', 'another', 1_000, 5, 20],
        ['all', 'key', 1_000, 77, 70],
      ]);
      posted.settle(line(10), () => []);
      expect((await fundsOf(opened)).sort()[1]).toEqual(['all', 'key', 1_000, 87, 0]);
    },
  );

  ledgerTest('a reload counts charges that are settled while it is being prepared', async (folder) => {
    const opened = await folder.open({ terms: terms() });
    const hold = await held(opened.ledger, order(100));
    const swap = await opened.ledger.prepare(terms(budget(1_000)));
    hold.settle(line(60), () => []);
    await spent(opened, 5);
    await held(opened.ledger, order(9));
    swap();
    expect(await fundsOf(opened)).toEqual([['all', '', 1_000, 65, 9]]);
  });

  ledgerTest('a reload that renames a budget makes a new budget with the charges of its window', async (folder) => {
    const opened = await folder.open({ terms: terms(budget(100, { alertAt: [0.5] })) });
    await spent(opened, 60);
    await held(opened.ledger, order(10));
    await reload(opened, budget(100, { name: 'new', alertAt: [0.5, 0.8] }));
    expect(await fundsOf(opened)).toEqual([['new', '', 100, 60, 10]]);
    expect(opened.ledger.state().budgets).toEqual(['new']);
    await spent(opened, 20);
    expect(opened.alerts).toEqual([
      { name: 'all', subject: '', fraction: 0.5 },
      { name: 'new', subject: '', fraction: 0.8 },
    ]);
  });

  ledgerTest('a reload that adds a removed budget again counts all charges in between', async (folder) => {
    const opened = await folder.open({ terms: terms(budget(100)) });
    await spent(opened, 40);
    const hold = await held(opened.ledger, order(30));
    await reload(opened);
    await spent(opened, 500);
    await reload(opened, budget(100));
    expect(await fundsOf(opened)).toEqual([['all', '', 100, 540, 30]]);
    hold.settle(null, () => []);
    expect(await fundsOf(opened)).toEqual([['all', '', 100, 540, 0]]);
  });

  ledgerTest('a reload that cannot be written changes nothing, and the next reload works', async (folder) => {
    let broken = false;
    const opened = await folder.open({ terms: terms(budget(100)), wrap: (store) => flaky(store, () => broken) });
    await spent(opened, 40);
    broken = true;
    await expect(opened.ledger.prepare(terms(budget(50, { name: 'new' })))).rejects.toThrow('disk full');
    expect(await fundsOf(opened)).toEqual([['all', '', 100, 40, 0]]);
    expect((await opened.ledger.status()).charged).toBe(40);
    broken = false;
    await reload(opened, budget(50, { name: 'new' }));
    expect(await fundsOf(opened)).toEqual([['new', '', 50, 40, 0]]);
  });
});

describe('the value of a Credit', () => {
  const other = { ...NO_TERMS, usdPerCredit: '0.002' };
  ledgerTest('the value of a Credit may change until the first reservation, and never afterwards', async (folder) => {
    const opened = await folder.open();
    expect(opened.ledger.state().usdPerCredit).toBeNull();
    (await opened.ledger.prepare(other))();
    const hold = await held(opened.ledger, order(5));
    expect(opened.ledger.state().usdPerCredit).toBe('0.002');
    await expect(opened.ledger.prepare(NO_TERMS)).rejects.toThrow('usd_per_credit cannot change to 0.001');
    hold.settle(null, () => []);
    await opened.ledger.close();
    await opened.store.close();
    await expect(folder.open()).rejects.toThrow(
      'The ledger has entries with a Credit worth 0.002 USD, so usd_per_credit cannot change to 0.001.',
    );
    const again = await folder.open({ terms: other });
    expect(again.ledger.state().usdPerCredit).toBe('0.002');
  });
});

describe('alerts', () => {
  ledgerTest(
    'each fraction of a budget causes one alert; several fractions at once cause an alert for the highest; a restart repeats no alert',
    async (folder) => {
      const alertAt = [0.5, 0.8, 1];
      const opened = await folder.open({ terms: terms(budget(100, { each, alertAt })) });
      await spent(opened, 49);
      expect(opened.alerts).toEqual([]);
      await spent(opened, 1);
      await spent(opened, 10);
      expect(opened.alerts).toEqual([{ name: 'all', subject: 'key', fraction: 0.5 }]);
      await spent(opened, 90, { caller: caller('another') });
      expect(opened.alerts.at(-1)).toEqual({ name: 'all', subject: 'another', fraction: 0.8 });
      await opened.ledger.close();
      await opened.store.close();
      const again = await folder.open({ terms: terms(budget(100, { each, alertAt })) });
      await spent(again, 15);
      expect(again.alerts).toEqual([]);
      await spent(again, 25);
      expect(again.alerts).toEqual([{ name: 'all', subject: 'key', fraction: 1 }]);
    },
  );

  ledgerTest(
    'an alert is not repeated if a reload removes its fraction and another reload adds it again',
    async (folder) => {
      const at = (...alertAt: number[]) => budget(100, { alertAt });
      const opened = await folder.open({ terms: terms(at(0.5, 0.8)) });
      await spent(opened, 85);
      for (const other of [at(0.5), at(0.5, 0.8)]) await reload(opened, other);
      await spent(opened, 1);
      expect(opened.alerts).toEqual([{ name: 'all', subject: '', fraction: 0.8 }]);
    },
  );

  ledgerTest('alerts start again with the next window', async (folder) => {
    let now = MIDNIGHT - SECOND;
    const opened = await folder.open({
      now: () => now,
      terms: terms(budget(10, { window: 'day', alertAt: [0.5] })),
    });
    await spent(opened, 6, { id: idAt(now) });
    now = MIDNIGHT + SECOND;
    await spent(opened, 6, { id: idAt(now) });
    expect(opened.alerts).toHaveLength(2);
  });
});

describe('a balance', () => {
  ledgerTest(
    'a key has a balance from its first grant on; before that it is not limited by a balance',
    async (folder) => {
      const opened = await folder.open();
      await spent(opened, 500);
      const early = await held(opened.ledger, order(30));
      await adjust(folder.file, { kind: 'grant', amount: 100 });
      await opened.ledger.refresh();
      expect(await fundsOf(opened)).toEqual([['key', '', 100, 0, 0]]);
      // The hold was made before there was a balance, so the hold does not draw on the balance.
      early.settle(line(30), () => []);
      await spent(opened, 60);
      expect(await refused(opened.ledger, order(41))).toMatchObject({
        why: 'exhausted',
        kind: 'balance',
        name: 'key',
        renewsAt: null,
      });
      await held(opened.ledger, order(1_000, { caller: caller('another') }));
      await adjust(folder.file, { kind: 'grant', amount: 10 });
      await adjust(folder.file, { kind: 'grant', amount: -5 });
      await opened.ledger.refresh();
      await opened.ledger.refresh();
      expect(await fundsOf(opened)).toEqual([['key', '', 105, 60, 0]]);
      await opened.store.close();
      const again = await folder.open();
      expect(await fundsOf(again)).toEqual([['key', '', 105, 60, 0]]);
    },
  );

  ledgerTest('a grant while no server runs is booked once at the next start', async (folder) => {
    await (await folder.open()).store.close();
    await adjust(folder.file, { kind: 'grant', amount: 100 });
    for (let start = 0; start < 3; start++) {
      const opened = await folder.open();
      expect(await fundsOf(opened)).toEqual([['key', '', 100, 0, 0]]);
      await opened.store.close();
    }
  });

  ledgerTest('a refund is added to the balance and to the window of the reservation', async (folder) => {
    const opened = await folder.open({ terms: terms(budget(1_000)) });
    await adjust(folder.file, { kind: 'grant', amount: 100 });
    await opened.ledger.refresh();
    const reservation = await spent(opened, 80);
    await opened.store.flush();
    await adjust(folder.file, { kind: 'correct', amount: -50, reservation });
    await opened.ledger.refresh();
    const after = [
      ['all', '', 1_000, 30, 0],
      ['key', '', 100, 30, 0],
    ];
    expect(await fundsOf(opened)).toEqual(after);
    expect((await opened.ledger.status()).charged).toBe(30);
    expect((await held(opened.ledger, order(70))).reserved).toBe(70);
    await opened.store.close();
    const again = await folder.open({
      terms: { ...terms(budget(1_000)), ledger: { contentionWaitMs: 0, wholeHoldShare: 0.05, onCrash: 'release' } },
    });
    expect(await fundsOf(again)).toEqual(after);
  });

  ledgerTest('a refund for a charge of an earlier window does not change the current window', async (folder) => {
    let now = MIDNIGHT - SECOND;
    const opened = await folder.open({ now: () => now, terms: terms(budget(100, { window: 'day' })) });
    const reservation = await spent(opened, 80, { id: idAt(now) });
    await opened.store.flush();
    now = MIDNIGHT + SECOND;
    await spent(opened, 10, { id: idAt(now) });
    await adjust(folder.file, { kind: 'correct', amount: -80, reservation });
    await opened.ledger.refresh();
    expect(await fundsOf(opened)).toEqual([['all', '', 100, 10, 0]]);
    expect((await opened.ledger.status()).charged).toBe(10);
  });
});

describe('holds after a crash', () => {
  test.each([
    ['charge', 140],
    ['release', 40],
  ] as const)(
    'holds that a crash left open are closed by `on_crash: %s`, in the windows and the balance',
    async (onCrash, charged) => {
      using folder = tempFolder();
      const opened = await open(folder.file, { terms: terms(budget(1_000)) });
      await adjust(folder.file, { kind: 'grant', amount: 500 });
      await opened.ledger.refresh();
      const hold = await held(opened.ledger, order(140));
      hold.post(line(40));
      await opened.store.close();
      const again = await open(folder.file, {
        terms: { ...terms(budget(1_000)), ledger: { contentionWaitMs: 0, wholeHoldShare: 0.05, onCrash } },
      });
      expect(again.ledger.recovered).toEqual({ ids: [hold.id], charged: charged - 40, held: 100 });
      expect(await fundsOf(again)).toEqual([
        ['all', '', 1_000, charged, 0],
        ['key', '', 500, charged, 0],
      ]);
      await again.store.close();
    },
  );
});
