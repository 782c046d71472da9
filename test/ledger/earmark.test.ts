import { describe, expect } from 'bun:test';
import { StoreError } from '../../src/store/store.ts';
import { ledgerTest } from './books-test.ts';
import { adjust, fundsOf } from './model/spending.ts';
import { budget, caller, held, line, order, refused } from './support.ts';
import { AGENT, balance, beside, deposit, earmarked, paying, rows, unearmarked, WALLET } from './wallet-support.ts';

const agent = { caller: AGENT } as const;
const DAY = budget(300, { name: 'day', window: 'day' });
const LONG = 20_000;

describe('earmarks', () => {
  ledgerTest(
    'an earmark for a payment in progress holds its whole amount in every window, and in the balance only the part that the payment does not bring',
    async (folder) => {
      const box = await beside(folder, 50, DAY);
      await earmarked(box.ledger, order(120, agent), 90);
      expect(await fundsOf(box)).toEqual([
        ['day', '', 300, 0, 120],
        [WALLET, '', 50, 0, 30],
      ]);
      // No other request can use money that is only expected, and nothing of the earmark is written.
      expect(await refused(box.ledger, order(21, agent))).toMatchObject({ why: 'contended', name: WALLET, held: 30 });
      expect(await refused(box.ledger, order(51, agent))).toMatchObject({ why: 'exhausted', limit: 50 });
      expect(box.ledger.availableFunds(AGENT, 'auto')?.shortFor(51)).toMatchObject({ name: WALLET });
      expect(await refused(box.ledger, order(181))).toMatchObject({ why: 'contended', name: 'day' });
      expect(await box.ledger.status()).toMatchObject({ open: 0, held: 0 });
      expect(await rows(box.store)).toHaveLength(1);
      expect((await held(box.ledger, order(20, agent))).reserved).toBe(20);
    },
  );

  ledgerTest(
    'an earmark for a payment in progress expects its payment once: two payments of an empty wallet each pay for their own request',
    async (folder) => {
      const box = await beside(folder);
      const { ledger } = box;
      const one = await earmarked(ledger, order(100, agent), 100);
      const two = await earmarked(ledger, order(60, agent), 80);
      expect(await refused(ledger, order(1, agent))).toMatchObject({ why: 'exhausted', limit: 0, held: 0 });
      expect(await unearmarked(ledger, order(10, agent), 9)).toMatchObject({ why: 'exhausted', needed: 10 });
      const [first, second] = await Promise.all([one.capture(...paying(1, 100)), two.capture(...paying(2, 80))]);
      expect(balance(ledger)).toEqual([180, 0, 160]);
      // After this settlement, the rest of the second payment is free.
      (await held(ledger, order(20, agent))).settle(line(20), () => []);
      first!.settle(line(100), () => []);
      second!.settle(line(60), () => []);
      expect(balance(ledger)).toEqual([180, 180, 0]);
      await folder.prove();
    },
  );

  ledgerTest(
    'an earmark for a payment in progress becomes a reservation when the payment arrives, written after its deposit with its other writes',
    async (folder) => {
      const box = await beside(folder, 50, DAY);
      const earmark = await earmarked(box.ledger, order(120, { ...agent, limit: 200 }), 90);
      expect(earmark.amount).toBe(120);
      const hold = await earmark.capture(...paying(2, 100, 10));
      expect(hold).toMatchObject({ reserved: 120, left: 120 });
      expect(balance(box.ledger)).toEqual([140, 0, 120]);
      expect(await hold!.raise([21])).toBe(false);
      expect(await hold!.raise([20])).toBe(true);
      hold!.settle(line(130), () => []);
      expect(balance(box.ledger)).toEqual([140, 130, 0]);
      expect((await rows(box.store)).slice(1)).toEqual([
        ['deposit', 100, 'pay_00000000002'],
        ['fee', -10, 'pay_00000000002'],
        ['reserve', 120, null],
        ['raise', 20, null],
        ['settle', 130, null],
      ]);
      expect(await box.store.query({ sql: 'SELECT state FROM payments WHERE id = 2' })).toEqual([
        { state: 'captured' },
      ]);
      await folder.prove();
    },
  );

  ledgerTest(
    'an earmark for a payment in progress may belong to a request of a key: it draws on the windows of the key and the balance of the wallet',
    async (folder) => {
      const each = budget(300, { name: 'each', each: ({ key }) => key.id });
      const box = await beside(folder, 50, each);
      const earmark = await earmarked(
        box.ledger,
        order(120, { holder: WALLET, caller: caller('key'), agentWallet: 'Me' }),
        90,
      );
      expect(await fundsOf(box)).toEqual([
        ['each', 'key', 300, 0, 120],
        [WALLET, '', 50, 0, 30],
      ]);
      (await earmark.capture(...paying(2, 90)))!.settle(line(120), () => []);
      expect(balance(box.ledger)).toEqual([140, 120, 0]);
      const [named] = await box.store.query({
        sql: `SELECT key_id, payer, agent_wallet FROM entries WHERE kind = 'reserve'`,
      });
      expect(named).toEqual({ key_id: 'key', payer: WALLET, agent_wallet: 'Me' });
      await folder.prove();
    },
  );

  ledgerTest(
    'an earmark for a payment in progress is released once if no payment arrives, and wakes waiting requests',
    async (folder) => {
      const box = await beside(folder, 50, DAY);
      const { ledger } = box;
      const earmark = await earmarked(ledger, order(120, agent), 90);
      const waiting = [
        held(ledger, order(40, { ...agent, waitMs: LONG })),
        held(ledger, order(200, { waitMs: LONG })),
      ] as const;
      earmark.release();
      earmark.release();
      expect((await Promise.all(waiting)).map(({ reserved }) => reserved)).toEqual([40, 200]);
      expect(await fundsOf(box)).toEqual([
        ['day', '', 300, 0, 240],
        [WALLET, '', 50, 0, 40],
      ]);
      await expect(earmark.capture(...paying(2, 90))).rejects.toThrow('already captured or released');
      expect(balance(ledger)).toEqual([50, 0, 40]);
      await folder.prove();
    },
  );

  ledgerTest(
    'an earmark for a payment in progress is captured once, and a release after that changes nothing',
    async (folder) => {
      const box = await beside(folder);
      const earmark = await earmarked(box.ledger, order(120, agent), 120);
      box.gate.shut();
      const captured = earmark.capture(...paying(2, 120));
      earmark.release();
      await expect(earmark.capture(...paying(3, 120))).rejects.toThrow('already captured or released');
      box.gate.open();
      expect(await captured).toMatchObject({ left: 120 });
      earmark.release();
      expect(balance(box.ledger)).toEqual([120, 0, 120]);
      await folder.prove();
    },
  );

  ledgerTest(
    'an earmark for a payment in progress waits in the same queue as reservations and is not overtaken',
    async (folder) => {
      const box = await beside(folder, 0, DAY);
      const { ledger } = box;
      const first = await held(ledger, order(250));
      const told: string[] = [];
      const one = earmarked(ledger, order(200, { ...agent, waitMs: LONG }), 200).then((made) => {
        told.push('earmark');
        return made;
      });
      const two = held(ledger, order(40, { waitMs: LONG })).then(() => told.push('reservation'));
      expect(await unearmarked(ledger, order(10, agent), 10)).toMatchObject({ why: 'contended', name: 'day' });
      expect(await unearmarked(ledger, order(301, agent), 301)).toMatchObject({ why: 'exhausted', name: 'day' });
      first.settle(null, () => []);
      await Promise.all([one, two]);
      expect(told).toEqual(['earmark', 'reservation']);
      await (await one).capture(...paying(2, 200));
      await folder.prove();
    },
  );

  ledgerTest(
    'an earmark for a payment in progress holds the amount of a fallback if the payment covers it, and takes the rest only from a balance with plenty',
    async (folder) => {
      const box = await beside(folder, 50);
      const { ledger } = box;
      const amounts = [60, 100, 125, 126] as const;
      const earmark = await earmarked(ledger, order(60, { ...agent, amounts }), 100);
      // Of the 125, the balance must pay 25. The balance has twice as much, so 125 is held.
      expect([earmark.amount, balance(ledger)]).toEqual([125, [50, 0, 25]]);
    },
  );

  ledgerTest('an earmark for a payment in progress is refused for a key and for invalid amounts', async (folder) => {
    const { ledger } = await beside(folder);
    await expect(ledger.earmark(order(1), 1)).rejects.toThrow('only a wallet can earmark money');
    await expect(ledger.earmark(order(1, agent), Number.NaN)).rejects.toBeInstanceOf(RangeError);
    await expect(ledger.earmark(order(2, { ...agent, limit: 1 }), 2)).rejects.toBeInstanceOf(RangeError);
    const earmark = await earmarked(ledger, order(5, agent), 5);
    await expect(earmark.capture(deposit(Number.NaN), [])).rejects.toBeInstanceOf(RangeError);
    earmark.release();
    expect(await refused(ledger, order(1, agent))).toMatchObject({ limit: 0, held: 0 });
  });
});

describe('captures of earmarks', () => {
  ledgerTest(
    'if the payment of an earmark arrives and the balance was lowered, the whole payment is added to the balance and nothing is held',
    async (folder) => {
      const box = await beside(folder, 50, DAY);
      const { ledger } = box;
      const [short, enough] = [
        await earmarked(ledger, order(120, agent), 90),
        await earmarked(ledger, order(80, agent), 70),
      ];
      // 40 of the balance are held.
      await adjust(folder.file, { kind: 'grant', keyId: WALLET, amount: -20 });
      await ledger.refresh();
      expect(await short.capture(...paying(2, 90))).toBeNull();
      expect(await fundsOf(box)).toEqual([
        ['day', '', 300, 0, 80],
        [WALLET, '', 120, 0, 10],
      ]);
      expect(await enough.capture(...paying(3, 70))).toMatchObject({ left: 80 });
      expect(balance(ledger)).toEqual([190, 0, 80]);
      expect((await rows(box.store)).map(([kind]) => kind)).toEqual([
        ...['deposit', 'grant', 'deposit', 'deposit', 'reserve'],
      ]);
      expect(await box.store.query({ sql: 'SELECT count(*) AS n FROM payments' })).toEqual([{ n: 3 }]);
      await folder.prove();
    },
  );

  ledgerTest(
    'if the payment of an earmark arrives and is smaller than expected, the hold is granted if the balance has the difference',
    async (folder) => {
      const box = await beside(folder, 50);
      const one = await earmarked(box.ledger, order(100, agent), 60);
      expect(await one.capture(...paying(2, 50))).toMatchObject({ left: 100 });
      expect(balance(box.ledger)).toEqual([100, 0, 100]);
      const two = await earmarked(box.ledger, order(100, agent), 100);
      expect(await two.capture(...paying(3, 99))).toBeNull();
      expect(balance(box.ledger)).toEqual([199, 0, 100]);
      await folder.prove();
    },
  );

  ledgerTest(
    'if the payment of an earmark arrives and is smaller than expected, no other request takes the difference while it is being written',
    async (folder) => {
      const box = await beside(folder, 50, DAY);
      const { ledger, gate } = box;
      for (const fails of [true, false]) {
        const earmark = await earmarked(ledger, order(100, agent), 100);
        expect(balance(ledger)).toEqual([50, 0, 0]);
        gate.shut();
        const captured = earmark.capture(...paying(2, 70)).catch((error: unknown) => error);
        expect(await refused(ledger, order(21, agent))).toMatchObject({ why: 'contended', held: 30 });
        if (fails) gate.failFirst();
        gate.open();
        expect(await captured).toMatchObject(fails ? { name: 'StoreError' } : { left: 100 });
        expect(balance(ledger)).toEqual(fails ? [50, 0, 0] : [120, 0, 100]);
      }
      await folder.prove();
    },
  );

  for (const lowered of [false, true]) {
    ledgerTest(
      `if the payment of an earmark arrives and cannot be written, nothing is booked and nothing is held${lowered ? ', also if the balance was lowered' : ''}`,
      async (folder) => {
        const box = await beside(folder, 50, DAY);
        const { ledger, gate } = box;
        const earmark = await earmarked(ledger, order(120, agent), 90);
        if (lowered) await adjust(folder.file, { kind: 'grant', keyId: WALLET, amount: -30 });
        await ledger.refresh();
        gate.shut();
        const captured = earmark.capture(...paying(2, 90, 5)).catch((error: unknown) => error);
        while (gate.failFirst());
        expect(await captured).toBeInstanceOf(StoreError);
        gate.open();
        earmark.release();
        expect(balance(ledger)).toEqual([lowered ? 20 : 50, 0, 0]);
        expect(await ledger.status()).toMatchObject({ open: 0, held: 0 });
        expect((await held(ledger, order(lowered ? 20 : 50, agent))).reserved).toBeGreaterThan(0);
        expect((await held(ledger, order(250))).reserved).toBe(250);
        await folder.prove();
      },
    );
  }

  ledgerTest(
    'if the payment of an earmark arrives and was already booked, a checkpoint at that moment leaves nothing to recover',
    async (folder) => {
      const box = await beside(folder, 50, DAY);
      const { ledger } = box;
      const earmark = await earmarked(ledger, order(120, agent), 90);
      const captured = earmark.capture(...paying(1, 90)).catch((error: unknown) => error);
      const closing = ledger.close();
      expect(await captured).toBeInstanceOf(StoreError);
      await closing;
      expect(balance(ledger)).toEqual([50, 0, 0]);
      await folder.prove();
      const again = await folder.open();
      expect(again.ledger.recovered.ids).toEqual([]);
      expect(balance(again.ledger)).toEqual([50, 0, 0]);
    },
  );

  ledgerTest(
    'if the payment of an earmark arrives and a checkpoint is being written, a crash loses nothing',
    async (folder) => {
      const box = await beside(folder, 50, DAY);
      const earmark = await earmarked(box.ledger, order(120, agent), 90);
      const captured = earmark.capture(...paying(2, 90, 5));
      await Promise.all([box.ledger.close(), captured]);
      await box.store.close();
      const again = await folder.open();
      expect(again.ledger.recovered).toEqual({ ids: [(await captured)!.id], charged: 0, held: 120 });
      expect(balance(again.ledger)).toEqual([135, 0, 0]);
      await folder.prove();
    },
  );
});
