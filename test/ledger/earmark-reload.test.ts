import { describe, expect } from 'bun:test';
import { idAt } from '../../src/core/id.ts';
import { holderCaller } from '../../src/core/people/caller.ts';
import { FundStates } from '../../src/store/sqlite/books/fund-states.ts';
import { ledgerTest } from './books-test.ts';
import { fundsOf, reload } from './model/spending.ts';
import { Subject } from './model/subject.ts';
import { budget, held, line, NOON, order, refused, terms } from './support.ts';
import { AGENT, balance, beside, deposit, earmarked, OTHER, paying, payment, rows, WALLET } from './wallet-support.ts';

const agent = { caller: AGENT } as const;
const DAY = budget(300, { name: 'day', window: 'day' });
const MIDNIGHT = Date.UTC(2026, 10, 21);

describe('earmarks during a change of budgets', () => {
  ledgerTest(
    'an earmark is held in new budgets after a reload, released from removed budgets, and kept in a budget that is too small now',
    async (folder) => {
      const box = await beside(folder, 50, DAY, budget(900, { name: 'old' }));
      const { ledger } = box;
      const earmark = await earmarked(ledger, order(120, agent), 90);
      await reload(
        box,
        { ...DAY, limit: 100 },
        budget(70, { name: 'new', window: 'total' }),
        budget(999, { name: 'wide' }),
      );
      const present = [
        ['day', '', 100, 0, 120],
        ['new', '', 70, 0, 120],
        ['wide', '', 999, 0, 120],
        [WALLET, '', 50, 0, 30],
      ];
      expect(await fundsOf(box)).toEqual(present);
      const hold = await earmark.capture(...paying(2, 90));
      expect((await rows(box.store)).slice(1).map(([kind]) => kind)).toEqual(['deposit', 'reserve', 'attach']);
      hold!.settle(line(110), () => []);
      expect(await fundsOf(box)).toEqual([
        ['day', '', 100, 110, 0],
        ['new', '', 70, 110, 0],
        ['wide', '', 999, 110, 0],
        [WALLET, '', 140, 110, 0],
      ]);
      await folder.prove();
    },
  );

  ledgerTest(
    'an earmark that a reload moved is released from its new budgets, and moves once more while its hold is being written',
    async (folder) => {
      const box = await beside(folder, 50, DAY);
      const { ledger, gate } = box;
      const one = await earmarked(ledger, order(120, agent), 90);
      const two = await earmarked(ledger, order(40, agent), 40);
      await reload(box, budget(500, { name: 'new' }));
      one.release();
      expect(await fundsOf(box)).toEqual([
        ['new', '', 500, 0, 40],
        [WALLET, '', 50, 0, 0],
      ]);
      const swap = await ledger.prepare(terms(budget(600, { name: 'newer' })));
      gate.shut();
      const captured = two.capture(...paying(2, 40));
      swap();
      gate.open();
      (await captured)!.settle(line(30), () => []);
      expect((await rows(box.store)).slice(1).map(([kind]) => kind)).toEqual([
        'deposit',
        'reserve',
        'attach',
        'settle',
      ]);
      expect(await fundsOf(box)).toEqual([
        ['newer', '', 600, 30, 0],
        [WALLET, '', 90, 30, 0],
      ]);
      await folder.prove();
    },
  );

  ledgerTest('an earmark counts in the window of its ID, even if its payment arrives later', async (folder) => {
    let now = MIDNIGHT - 1_000;
    const made = await folder.open({ now: () => now, terms: terms(DAY) });
    const { ledger } = made;
    const earmark = await earmarked(ledger, order(250, { ...agent, id: idAt(now) }), 250);
    now = MIDNIGHT + 1_000;
    (await held(ledger, order(200, { id: idAt(now) }))).settle(line(200), () => []);
    (await earmark.capture(deposit(250), []))!.settle(line(250), () => []);
    expect((await fundsOf(made))[0]).toEqual(['day', '', 300, 200, 0]);
    await folder.prove();
  });

  ledgerTest(
    'an earmark of 0 for a wallet that never paid draws on the same balance that later payments use',
    async (folder) => {
      const box = await beside(folder, 0, DAY);
      const { ledger } = box;
      const other = { caller: holderCaller(OTHER) };
      const earmark = await earmarked(ledger, order(0, other), 0);
      await reload(box, { ...DAY, limit: 250 });
      await ledger.deposit(OTHER, deposit(30, 0, 'pay_00000000003'), [payment(3, 'settled', 30, 0, OTHER)]);
      const hold = await earmark.capture(deposit(10, 0, 'pay_00000000004'), [payment(4, 'captured', 10, 0, OTHER)]);
      expect(await hold!.raise([40])).toBe(true);
      expect(balance(ledger, OTHER)).toEqual([40, 0, 40]);
      expect(await refused(ledger, order(1, other))).toMatchObject({ why: 'contended', held: 40 });
      await folder.prove();
    },
  );
});

ledgerTest(
  'unused balances of wallets are forgotten every ten seconds, but no balance that is in use',
  async (folder) => {
    const subject = await Subject.open(
      folder.file,
      { budgets: [], onCrash: 'charge' },
      () => NOON,
      (store) => store,
    );
    // The ledgers of other tests call `forget`, too, so keep the calls apart.
    const used = new Map<FundStates, number[]>();
    const { forget } = FundStates.prototype;
    FundStates.prototype.forget = function (latest, funds) {
      used.set(this, [...(used.get(this) ?? []), funds.size]);
      forget.call(this, latest, funds);
    };
    try {
      const earmark = await earmarked(subject.ledger, order(0, agent), 0);
      await subject.tick();
      const captured = await earmark.capture(deposit(40), []);
      expect(await captured!.raise([40])).toBe(true);
      expect(balance(subject.ledger)).toEqual([40, 0, 40]);
      await subject.tick();
      expect([...used.values()]).toContainEqual([1, 0]);
    } finally {
      FundStates.prototype.forget = forget;
      await subject.end();
    }
  },
);
