import { describe, expect, test } from 'bun:test';
import { windowAt } from '../../src/core/accounting/window.ts';
import { idText } from '../../src/core/id.ts';
import { holderCaller } from '../../src/core/people/caller.ts';
import { NO_LINES } from '../../src/core/people/holder.ts';
import { Accounts } from '../../src/ledger/accounts.ts';
import { BudgetWindows, Funds } from '../../src/ledger/funds.ts';
import { FundStates } from '../../src/store/sqlite/books/fund-states.ts';
import { grantWrite, sqliteLedger } from '../../src/store/sqlite/books/ledger-table.ts';
import { runHere } from '../support/run-here.ts';
import { audit, tamper } from './audit-support.ts';
import { ledgerTest } from './books-test.ts';
import { adjust, fundsOf } from './model/spending.ts';
import { budget, caller, held, line, NO_TERMS, NOON, order, refused, terms } from './support.ts';
import { AGENT, balance, deposit, OTHER, WALLET } from './wallet-support.ts';

const KEY = caller('key', { team: 'red' });
const EACH = budget(1_000, { name: 'each', each: ({ key }) => key.id });
/** A request of a key that a wallet pays for. */
const BESIDE = { caller: KEY, holder: WALLET } as const;

describe('a wallet that pays in the place of a key', () => {
  ledgerTest(
    'a wallet that pays for a key is charged, while the windows are the windows of the key; a restart books the same',
    async (folder) => {
      const opened = await folder.open({ terms: terms(EACH) });
      const { ledger } = opened;
      await ledger.deposit(WALLET, deposit(500), []);
      // A key with a grant of its own keeps it.
      await opened.store.commit([grantWrite('key', 300, '', NOON)]);
      await ledger.refresh();
      (await held(ledger, order(200, BESIDE))).settle(line(150), () => []);
      expect(await refused(ledger, order(351, BESIDE))).toMatchObject({ kind: 'balance', name: WALLET, spent: 150 });
      const expected = [
        ['each', 'key', 1_000, 150, 0],
        [WALLET, '', 500, 150, 0],
        ['key', '', 300, 0, 0],
      ];
      expect(await fundsOf(opened)).toEqual(expected);
      await opened.store.close();
      const again = await folder.open({ terms: terms(EACH) });
      expect(await fundsOf(again)).toEqual(expected);
      await folder.prove();
    },
  );

  ledgerTest('the audit finds a request that drew on the balance of another wallet', async (folder) => {
    const { ledger, store } = await folder.open();
    await ledger.deposit(WALLET, deposit(500), []);
    (await held(ledger, order(200, BESIDE))).settle(line(150), () => []);
    await ledger.close();
    await store.close();
    tamper(folder.file, `UPDATE accounts SET payer = '${OTHER}' WHERE payer IS NOT NULL`);
    const { findings } = await audit(folder.file);
    expect(findings).toMatchObject([
      { kind: 'foreign_fund', message: `draws on the balance of wallet ${WALLET}, but ${OTHER} pays` },
    ]);
  });

  ledgerTest('a refund goes to the wallet that paid, not to the key', async (folder) => {
    const opened = await folder.open();
    const { ledger, store } = opened;
    await ledger.deposit(WALLET, deposit(500), []);
    await store.commit([grantWrite('key', 300, '', NOON)]);
    await ledger.refresh();
    const hold = await held(ledger, order(200, BESIDE));
    hold.settle(line(150), () => []);
    await store.flush();
    const words = ['ledger', 'refund', idText('dec_', hold.id), '0.0001'];
    const { out: told } = await runHere(
      words,
      { SIGNALBOX_DATA: folder.path, DATABASE_URL: folder.file },
      '',
      () => NOON,
    );
    expect(told).toContain('(key key)');
    expect(told).toContain(`the balance of wallet ${WALLET}.`);
    await ledger.refresh();
    expect(balance(ledger)).toEqual([500, 50, 0]);
    expect(await ledger.giveBack(hold.id, 'sorry')).toBe(50);
    expect([balance(ledger), balance(ledger, 'key')]).toEqual([
      [500, 0, 0],
      [300, 0, 0],
    ]);
    await store.close();
    const again = await folder.open();
    expect([balance(again.ledger), balance(again.ledger, 'key')]).toEqual([
      [500, 0, 0],
      [300, 0, 0],
    ]);
    await folder.prove();
  });

  ledgerTest('a wallet must be named by its address in lower case', async (folder) => {
    const { ledger } = await folder.open();
    for (const holder of [WALLET.toUpperCase(), 'key2', '']) {
      await expect(ledger.reserve(order(1, { holder }))).rejects.toBeInstanceOf(RangeError);
      await expect(ledger.deposit(holder, deposit(1), [])).rejects.toBeInstanceOf(RangeError);
    }
    expect(ledger.open).toBe(0);
  });
});

ledgerTest(
  'a key has a single account, whatever its requests send as `agent_wallet`, and each hold stores that wallet',
  async (folder) => {
    const { ledger, store } = await folder.open();
    for (const agentWallet of ['one', 'two', null]) {
      (await held(ledger, order(10, { agentWallet }))).settle(line(5), () => []);
    }
    await store.flush();
    const named = await store.query({
      sql: `SELECT kind, key_id, payer, agent_wallet, note FROM entries WHERE kind = 'reserve' ORDER BY seq`,
    });
    expect(named).toEqual(
      ['one', 'two', null].map((wallet) => ({
        ...{ kind: 'reserve', key_id: 'key', payer: null, note: null },
        agent_wallet: wallet,
      })),
    );
    expect(await store.query({ sql: 'SELECT count(*) AS n FROM accounts' })).toEqual([{ n: 1 }]);
    // A wallet that names itself as the payer is the same as the caller alone.
    for (const holder of [null, WALLET])
      (await held(ledger, order(0, { caller: AGENT, holder }))).settle(null, () => []);
    await store.flush();
    expect(await store.query({ sql: 'SELECT payer FROM accounts WHERE id > 1' })).toEqual([{ payer: null }]);
  },
);

describe('wallets pay in advance', () => {
  ledgerTest(
    'a wallet that never paid has a balance of 0, as a caller and as a payer; a key without grants has no balance',
    async (folder) => {
      const { ledger } = await folder.open();
      const short = { why: 'exhausted', kind: 'balance', name: WALLET, limit: 0, spent: 0, held: 0 };
      expect(await refused(ledger, order(1, { caller: AGENT }))).toMatchObject(short);
      expect(await refused(ledger, order(1, BESIDE))).toMatchObject(short);
      expect(ledger.availableFunds(AGENT, 'auto')?.shortFor(1)).toMatchObject(short);
      expect(ledger.availableFunds(AGENT, 'auto')?.shortFor(0)).toBeNull();
      expect(ledger.availableFunds(KEY, 'auto')).toBeNull();
      (await held(ledger, order(1, { caller: KEY }))).settle(null, () => []);
      // A request that costs nothing needs no balance, but it cannot be raised without one.
      const free = await held(ledger, order(0, { caller: AGENT }));
      expect(await free.raise([1])).toBe(false);
      free.settle(line(0), () => []);
      await folder.prove();
    },
  );

  for (const isClosed of [true, false]) {
    ledgerTest(
      `a wallet cannot pay later after a ${isClosed ? 'stop' : 'crash'} either, although \`balances\` has no row for it`,
      async (folder) => {
        const first = await folder.open();
        (await held(first.ledger, order(0, { caller: AGENT }))).settle(line(0), () => []);
        if (isClosed) await first.ledger.close();
        await first.store.close();
        const again = await folder.open();
        expect(again.ledger.balanceOf(WALLET)).toBeNull();
        expect(await refused(again.ledger, order(1, { caller: AGENT }))).toMatchObject({ name: WALLET });
        await again.ledger.close();
        expect(await again.store.query({ sql: 'SELECT * FROM balances' })).toEqual([]);
      },
    );
  }

  ledgerTest(
    'available funds do not include a balance that a payment will fill, but include the budgets',
    async (folder) => {
      const opened = await folder.open({ terms: terms(EACH) });
      const { ledger } = opened;
      const standing = ledger.availableFunds(AGENT, 'auto', NOON, true);
      expect(standing?.shortFor(1_000)).toBeNull();
      expect(standing?.shortFor(1_001)).toMatchObject({ kind: 'budget', name: 'each', subject: WALLET });
      (await ledger.prepare(terms()))();
      expect(ledger.availableFunds(AGENT, 'auto', NOON, true)).toBeNull();
    },
  );

  test('reading funds stores nothing, and the ledger forgets balances that no request used', () => {
    const month = windowAt('month', 'UTC', NOON);
    const states = new FundStates();
    const funds = new Funds((holder) => states.balanceOf(holder) !== null);
    funds.use([new BudgetWindows({ budget: EACH, generation: 1, rank: 1, at: 0 }, month)]);
    const account = (agent = AGENT) => new Accounts(() => false, NO_LINES.lineOf).of(agent, 'auto', null);
    expect(funds.windowsOf(account(), NOON).map(({ title }) => title.subject)).toEqual([WALLET]);
    expect([...funds.budgetWindows[0]!.funds]).toEqual([]);
    expect(states.balanceOf(WALLET)).toBeNull();
    const asked = account();
    const drawn = () => states.drawnBy(funds.of(asked, NOON)).funds[1]!;
    expect(states.look(funds.of(asked, NOON))[1]).not.toBe(states.look(funds.of(asked, NOON))[1]!);
    const first = drawn();
    expect(first.title).toMatchObject({ kind: 'balance', name: WALLET });
    // Nothing was paid in so far.
    expect([states.balanceOf(WALLET), states.balances]).toEqual([null, []]);
    expect(drawn()).toBe(first);
    // A balance in use is kept. If the balance were dropped, the wallet could get a second balance and spend twice.
    states.forget(NOON, new Set([first]));
    expect(drawn()).toBe(first);
    states.forget(NOON, new Set());
    const second = drawn();
    expect(second).not.toBe(first);
    second.rowId = 7;
    states.forget(NOON, new Set());
    expect(drawn()).toBe(second);
    states.grant(WALLET, 5);
    states.forget(NOON, new Set());
    expect([drawn(), states.balanceOf(WALLET)]).toEqual([second, second]);
    expect(funds.of(account(holderCaller(OTHER)), NOON)).toHaveLength(2);
  });

  ledgerTest(
    'an operator may grant Credits to a wallet as to a key, and take away more than the wallet has',
    async (folder) => {
      const { ledger, store } = await folder.open();
      await adjust(folder.file, { kind: 'grant', keyId: WALLET, amount: 40 });
      await ledger.refresh();
      const hold = await held(ledger, order(30, { caller: AGENT }));
      await adjust(folder.file, { kind: 'grant', keyId: WALLET, amount: -25 });
      await ledger.refresh();
      expect(balance(ledger)).toEqual([15, 0, 30]);
      hold.settle(line(30), () => []);
      expect(await refused(ledger, order(0, { caller: AGENT }))).toMatchObject({
        why: 'exhausted',
        limit: 15,
        spent: 30,
      });
      await store.flush();
      expect(await sqliteLedger(store).balance(WALLET)).toEqual({ granted: 15, spent: 30 });
      expect(await sqliteLedger(store).balance(OTHER)).toEqual({ granted: 0, spent: 0 });
      await folder.prove();
    },
  );
});

ledgerTest(
  'after a crash, the ledger releases holds of a wallet whatever `on_crash` says, and closes holds of a key by `on_crash`',
  async (folder) => {
    const first = await folder.open();
    await first.ledger.deposit(WALLET, deposit(500), []);
    const own = await held(first.ledger, order(100, { caller: AGENT }));
    own.post(line(30));
    const beside = await held(first.ledger, order(80, BESIDE));
    const free = await held(first.ledger, order(0, { caller: holderCaller(OTHER) }));
    const key = await held(first.ledger, order(60, { caller: KEY }));
    await first.store.close();
    const again = await folder.open({
      terms: { ...NO_TERMS, ledger: { contentionWaitMs: 0, wholeHoldShare: 0.05, onCrash: 'charge' } },
    });
    expect(again.ledger.recovered).toEqual({ ids: [own.id, beside.id, free.id, key.id], charged: 60, held: 210 });
    // What an upstream had billed before the crash stays charged.
    expect(balance(again.ledger)).toEqual([500, 30, 0]);
    await folder.prove();
  },
);
