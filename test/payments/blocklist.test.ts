import { expect, test } from 'bun:test';
import { loadBlocklist } from '../../src/payments/blocklist.ts';
import { openInMemory } from '../store/implementations.ts';
import { newsByHand } from '../store/news-by-hand.ts';

const WALLET = `0x${'ab'.repeat(20)}`;

test('a wallet that another server blocks while a server starts stays blocked there, even if an older answer arrives later', async () => {
  await using store = await openInMemory();
  const { blocklist: table, news } = store;
  const byHand = newsByHand(news);
  const late = Promise.withResolvers<void>();
  let reads = 0;
  const all = async () => {
    const isFirst = ++reads === 1;
    const wallets = await table.all();
    if (isFirst) await late.promise;
    return wallets;
  };
  const shared = { commit: store.commit.bind(store), blocklist: { ...table, all }, news: byHand.news };
  const starting = loadBlocklist(shared, () => 1);
  await Bun.sleep(0);
  await store.commit([table.put(WALLET, 'fraud', 1)]);
  const told = byHand.tell();
  await Bun.sleep(0);
  late.resolve();
  const blocklist = await starting;
  await told;
  expect([...blocklist.blocked]).toEqual([WALLET]);
  blocklist.close();
});
