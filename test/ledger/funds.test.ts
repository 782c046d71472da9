import { describe, expect, test } from 'bun:test';
import type { Budget } from '../../src/core/budget.ts';
import { idAt } from '../../src/core/id.ts';
import { flaky, tempFolder } from '../store/support.ts';
import { ledgerTest } from './books-test.ts';
import { adjust, fundsOf, reload, spent } from './model/spending.ts';
import { budget, caller, held, line, NO_TERMS, NOON, open, order, refused, terms } from './support.ts';

const MIDNIGHT = Date.UTC(2026, 10, 21);
const SECOND = 1_000;

const each: Budget['each'] = ({ key }) => key.id;

describe('what funds allow', () => {
  ledgerTest(
    'is null without one, and counts only funds that downgrade as a bound on choices, then as a cap on the output',
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
      // Only `all`, which rejects.
      const other = opened.ledger.availableFunds(caller('x'), 'auto');
      expect(other?.terms).toEqual([{ free: null }]);
      expect(other?.shortFor(91)).toMatchObject({ name: 'all', limit: 100, spent: 10, held: 30 });
      await reload(opened);
      expect(opened.ledger.availableFunds(caller(), 'auto')).toBeNull();
    },
  );

  ledgerTest('a limit that is too low as a whole is named before a budget that is only spent', async (folder) => {
    const budgets = [budget(100, { name: 'spent' }), budget(40, { name: 'low' })];
    const opened = await folder.open({ terms: terms(...budgets) });
    await spent(opened, 30);
    const standing = opened.ledger.availableFunds(caller(), 'auto');
    expect(standing?.shortFor(75)).toMatchObject({ name: 'low', limit: 40 });
    expect(standing?.shortFor(35)).toMatchObject({ name: 'low', spent: 30 });
  });

  ledgerTest('exhausted is what no release can help; contended is what open reservations hold', async (folder) => {
    const opened = await folder.open({ terms: terms(budget(100, { window: 'day' })) });
    await spent(opened, 50);
    await held(opened.ledger, order(30));
    const renewsAt = MIDNIGHT;
    expect(await refused(opened.ledger, order(51))).toEqual({
      why: 'exhausted',
      kind: 'budget',
      name: 'all',
      subject: '',
      window: 'day',
      level: null,
      limit: 100,
      spent: 50,
      held: 30,
      needed: 51,
      renewsAt,
    });
    expect(await refused(opened.ledger, order(21))).toMatchObject({ why: 'contended', needed: 21, renewsAt });
    expect((await held(opened.ledger, order(20))).reserved).toBe(20);
  });

  ledgerTest(
    'names the fund that can never pay before one that may, and draws on none when one has no room',
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
      // `wide` is held up, `own` and `narrow` could never pay.
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
    'of the amounts, the greatest that is free twice is reserved; a fallback that would crowd others out is left out',
    async (folder) => {
      const opened = await folder.open({ terms: terms(budget(100)) });
      const first = await held(opened.ledger, order(10, { amounts: [10, 51, 50] }));
      expect(first.reserved).toBe(50);
      const second = await held(opened.ledger, order(40, { amounts: [40, 50] }));
      expect(second.reserved).toBe(40);
      // Nor may a raise take what is not there.
      expect(await second.raise([11])).toBe(false);
      expect(await second.raise([10])).toBe(true);
    },
  );

  ledgerTest('without any fund, the greatest amount is reserved', async (folder) => {
    const opened = await folder.open();
    expect((await held(opened.ledger, order(10, { amounts: [10, 500, 60] }))).reserved).toBe(500);
  });
});

describe('a condition that cannot be judged', () => {
  const fails = (): never => {
    throw new Error('no such label');
  };

  ledgerTest('holds, and a share that cannot be named is everyone’s', async (folder) => {
    const opened = await folder.open({ terms: terms(budget(100, { match: fails, each: fails })) });
    await spent(opened, 40);
    await spent(opened, 30, { caller: caller('another') });
    expect(await fundsOf(opened)).toEqual([['all', '', 100, 70, 0]]);
    expect(await refused(opened.ledger, order(31))).toMatchObject({ why: 'exhausted', subject: '' });
    await opened.store.close();
    // Nor when it is counted anew.
    const again = await folder.open({ terms: terms(budget(100, { match: fails, each: fails })) });
    expect(await fundsOf(again)).toEqual([['all', '', 100, 70, 0]]);
  });
});

describe('a reload', () => {
  ledgerTest('that moves a limit keeps what was counted and what is held', async (folder) => {
    const opened = await folder.open({ terms: terms(budget(100, { each })) });
    await spent(opened, 40);
    const hold = await held(opened.ledger, order(30));
    await reload(opened, budget(50, { each }));
    expect(await fundsOf(opened)).toEqual([['all', 'key', 50, 40, 30]]);
    // Beyond its limit by the edit: nothing more is let in, and the hold is honoured.
    expect(await refused(opened.ledger, order(1))).toMatchObject({ why: 'contended' });
    expect(await hold.raise([1])).toBe(false);
    expect((await hold.settle(line(30), () => [])).charged).toBe(30);
    expect(await refused(opened.ledger, order(1))).toMatchObject({ why: 'exhausted', spent: 70, limit: 50 });
    await reload(opened, budget(90, { each }));
    await held(opened.ledger, order(20));
    expect(await fundsOf(opened)).toEqual([['all', 'key', 90, 70, 20]]);
  });

  ledgerTest(
    'that changes what is counted counts anew: old entries, new ones, and holds that are open',
    async (folder) => {
      let now = NOON - 86_400_000;
      const opened = await folder.open({ terms: terms(budget(1_000, { window: 'day' })), now: () => now });
      await spent(opened, 7, { id: idAt(now) });
      now = NOON;
      await spent(opened, 40);
      await opened.ledger.close();
      // Not summed up in the store yet.
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

  ledgerTest('counts what is settled while it is being made ready', async (folder) => {
    const opened = await folder.open({ terms: terms() });
    const hold = await held(opened.ledger, order(100));
    const swap = await opened.ledger.prepare(terms(budget(1_000)));
    hold.settle(line(60), () => []);
    await spent(opened, 5);
    await held(opened.ledger, order(9));
    swap();
    expect(await fundsOf(opened)).toEqual([['all', '', 1_000, 65, 9]]);
  });

  ledgerTest('that renames a budget makes another of it, with what its window holds', async (folder) => {
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

  ledgerTest('that takes a budget away and brings it back forgets nothing', async (folder) => {
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

  ledgerTest('that cannot be written changes nothing, and the next one works', async (folder) => {
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

describe('what a Credit is worth', () => {
  const other = { ...NO_TERMS, usdPerCredit: '0.002' };
  ledgerTest('may change until something was reserved, and never after', async (folder) => {
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
    'come once for each fraction, the greatest when several are passed at once, and not again after a start',
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

  ledgerTest('are not repeated when an edit removes their fraction, and another restores it', async (folder) => {
    const at = (...alertAt: number[]) => budget(100, { alertAt });
    const opened = await folder.open({ terms: terms(at(0.5, 0.8)) });
    await spent(opened, 85);
    for (const other of [at(0.5), at(0.5, 0.8)]) await reload(opened, other);
    await spent(opened, 1);
    expect(opened.alerts).toEqual([{ name: 'all', subject: '', fraction: 0.8 }]);
  });

  ledgerTest('begin anew with the next window', async (folder) => {
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
  ledgerTest('is there from the first grant on; before it a key pays afterwards', async (folder) => {
    const opened = await folder.open();
    await spent(opened, 500);
    const early = await held(opened.ledger, order(30));
    await adjust(folder.file, { kind: 'grant', amount: 100 });
    await opened.ledger.refresh();
    expect(await fundsOf(opened)).toEqual([['key', '', 100, 0, 0]]);
    // Reserved before there was a balance: not drawn from it.
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
  });

  ledgerTest('granted while no server runs is there at the next start, once', async (folder) => {
    await (await folder.open()).store.close();
    await adjust(folder.file, { kind: 'grant', amount: 100 });
    for (let start = 0; start < 3; start++) {
      const opened = await folder.open();
      expect(await fundsOf(opened)).toEqual([['key', '', 100, 0, 0]]);
      await opened.store.close();
    }
  });

  ledgerTest('gets back what a correction gives back, and so does the window of the reservation', async (folder) => {
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

  ledgerTest('a correction of what an earlier window was charged leaves the present one alone', async (folder) => {
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

describe('what a crash left behind', () => {
  test.each([
    ['charge', 140],
    ['release', 40],
  ] as const)('is closed by `on_crash: %s`, in the windows and the balance', async (onCrash, charged) => {
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
  });
});
