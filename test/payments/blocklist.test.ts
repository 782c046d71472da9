import { expect, test } from 'bun:test';
import { loadBlocklist } from '../../src/payments/blocklist.ts';
import type { NewsListener } from '../../src/store/news.ts';
import { openInMemory } from '../store/implementations.ts';

const WALLET = `0x${'ab'.repeat(20)}`;

test('a wallet that another server blocks while a server starts stays blocked there, even if an older answer arrives later', async () => {
  await using store = await openInMemory();
  const { blocklist: table, news } = store;
  let heard: NewsListener = () => {};
  const on = (_: string, listener: NewsListener) => {
    heard = listener;
    return () => {};
  };
  const late = Promise.withResolvers<void>();
  let reads = 0;
  const all = async () => {
    const isFirst = ++reads === 1;
    const wallets = await table.all();
    if (isFirst) await late.promise;
    return wallets;
  };
  const shared = { commit: store.commit.bind(store), blocklist: { ...table, all }, news: { ...news, on } };
  const starting = loadBlocklist(shared, () => 1);
  await Bun.sleep(0);
  await store.commit([table.put(WALLET, 'fraud', 1)]);
  const told = heard();
  await Bun.sleep(0);
  late.resolve();
  const blocklist = await starting;
  await told;
  expect([...blocklist.blocked]).toEqual([WALLET]);
  blocklist.close();
});
