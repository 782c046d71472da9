import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { PrivateKeyAccount } from 'viem/accounts';
import { answerOf, waitFor } from '../../support/answers.ts';
import { type PostgresServers, startServers } from '../../support/postgres-servers.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { startChain, type TestChain } from '../support/chain/chain.ts';
import { paidServers, payingFetch, untilReady } from '../support/paying.ts';

/** Wallets that pay two servers that share one PostgreSQL database. */
const upstream = useUpstream();
/** Four times the promised second (`docs/state.md`), ms. */
const BLOCKED_MS = 4_000;
let chain: TestChain;
let fleet: PostgresServers;
let one: Signalbox;
let other: Signalbox;

beforeAll(async () => {
  chain = await startChain();
  fleet = await startServers(2, paidServers(chain, upstream));
  [one, other] = fleet.servers as [Signalbox, Signalbox];
  await Promise.all(fleet.servers.map(untilReady));
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
  await chain.stop();
});

/** Returns the answer to a request that a wallet pays for. */
async function paid(at: Signalbox, payer: PrivateKeyAccount): Promise<readonly [status: number, message?: string]> {
  const messages = [{ role: 'user', content: crypto.randomUUID() }];
  const answer = await payingFetch(payer, chain)(`${at.url}/v1/chat/completions`, {
    method: 'POST',
    body: JSON.stringify({ model: 'best', messages, max_tokens: 20 }),
    headers: { 'content-type': 'application/json' },
  });
  const { error } = await answerOf(answer);
  return [answer.status, error?.message];
}

const REFUSED = [403, 'The operator has blocked this wallet.'] as const;

test('a wallet that is blocked on one server is refused by the other within the promised time, and pays nothing', async () => {
  const [payer, innocent] = [await chain.payer(10_000_000n), await chain.payer(10_000_000n)];
  expect(await paid(other, payer)).toEqual([200, undefined]);
  expect((await one.post(`/admin/wallets/${payer.address}/block`, { note: 'abuse' })).status).toBe(200);
  await waitFor(async () => (await paid(other, payer))[0] === 403, BLOCKED_MS);
  const [received, calls] = [await chain.balanceOf(chain.payTo), upstream.requests.length];
  for (const at of fleet.servers) expect(await paid(at, payer)).toEqual(REFUSED);
  expect([await chain.balanceOf(chain.payTo), upstream.requests.length]).toEqual([received, calls]);
  expect(await paid(other, innocent)).toEqual([200, undefined]);
  expect((await other.post(`/admin/wallets/${payer.address}/unblock`, {})).status).toBe(200);
  await waitFor(async () => (await paid(one, payer))[0] === 200, BLOCKED_MS);
});
