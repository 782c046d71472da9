import { describe, expect, test } from 'bun:test';
import type { StoreDriver } from '../../src/store/driver.ts';
import { sqliteDriver } from '../../src/store/sqlite/open.ts';
import { refusalOf } from './implementations.ts';
import { tempFolder } from './support.ts';

const WALLET = `0x${'a1'.repeat(20)}`;

/** The guarantees of every store driver. */
function suite(open: () => { readonly driver: StoreDriver; readonly url: string } & Disposable): void {
  test('a store is created only if it is opened for writing', async () => {
    using one = open();
    const { driver, url } = one;
    expect(await driver.exists(url)).toBe(false);
    expect(await refusalOf(driver.read(url, []).then(() => {}))).not.toBeNull();
    expect([await driver.isLocked(url), await driver.exists(url)]).toEqual([false, false]);
    const store = await driver.open(url, { mode: 'serve' });
    expect(await driver.exists(url)).toBe(true);
    await store.close();
    expect(await driver.exists(url)).toBe(true);
  });

  test('a reader sees what the running server has committed', async () => {
    using one = open();
    const { driver, url } = one;
    const store = await driver.open(url, { mode: 'serve' });
    await store.commit([store.blocklist.put(WALLET, 'late', 0)]);
    const reader = await driver.read(url, ['payments']);
    expect(await reader.blocklist.all()).toEqual([WALLET]);
    reader.close();
    await store.close();
  });

  test('the store notifies listeners of accepted policy terms and of a requested grant', async () => {
    using one = open();
    const { driver, url } = one;
    const store = await driver.open(url, { mode: 'serve' });
    const books = await store.openBooks(Date.now);
    const heard: string[] = [];
    for (const subject of ['policy', 'budgets', 'funds'] as const)
      store.news.on(subject, () => void heard.push(subject));
    await store.news.look();
    heard.length = 0;
    const budget = { name: 'team', definition: 'all', window: 'day', timeZone: 'UTC', limit: 5 } as const;
    await books.accept({ usdPerCredit: '0.01', budgets: [budget], counted: [budget], rank: null });
    await store.news.look();
    expect(heard.sort()).toEqual(['budgets', 'policy']);
    await store.commit([store.ledger.grant('key', 5, '', 1)]);
    await store.news.look();
    expect(heard).toEqual(['budgets', 'policy', 'funds']);
    await store.close();
  });

  test('only one server at a time can lock a store', async () => {
    using one = open();
    const { driver, url } = one;
    const lock = await driver.lock(url);
    expect(await refusalOf(driver.lock(url).then(() => {}))).toBe('busy');
    lock.release();
    expect(await driver.isLocked(url)).toBe(false);
    (await driver.lock(url)).release();
  });

  test('an examination of a sound store finds nothing while a server uses the store, and reads no table without time', async () => {
    using one = open();
    const { driver, url } = one;
    const store = await driver.open(url, { mode: 'serve' });
    const whole = await driver.examine(url, 60_000);
    expect(whole.faults).toEqual([]);
    expect(whole.tables?.read).toBe(whole.tables?.all);
    const { tables, faults } = await driver.examine(url, 0);
    expect([tables?.read, faults]).toEqual([0, []]);
    await store.close();
  });

  test('the driver finds no settlements if the spool does not exist', async () => {
    using one = open();
    const { driver, url } = one;
    const spool = `${url}.spool`;
    expect(driver.settlementsIn(spool)).toBe(0);
    const store = await driver.open(url, { mode: 'serve' });
    const reader = await driver.read(url, ['ledger']);
    expect(await reader.unbooked(driver.readSpool(spool))).toMatchObject({ closed: [], charged: 0 });
    reader.close();
    await store.close();
  });
}

describe('in SQLite', () =>
  suite(() => {
    const folder = tempFolder();
    return { driver: sqliteDriver, url: folder.file, [Symbol.dispose]: () => folder[Symbol.dispose]() };
  }));
