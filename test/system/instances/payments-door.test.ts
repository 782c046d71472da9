import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { encodePaymentSignatureHeader } from '@x402/core/http';
import { World } from '../../store/hostile/world.ts';
import { answerOf, waitFor } from '../../support/answers.ts';
import { type Fleet, startFleet } from '../../support/fleet.ts';
import type { Signalbox } from '../../support/signalbox.ts';
import { useUpstream } from '../../support/use.ts';
import { startChain, type TestChain } from '../support/chain/chain.ts';
import { amountOf, paidServers, requiredOf, stockClient, untilReady } from '../support/paying.ts';

/** The same payment header arrives at two applications that share a store. */
const upstream = useUpstream();
const world = new World();
let chain: TestChain;
let fleet: Fleet;
let one: Signalbox;
let other: Signalbox;

beforeAll(async () => {
  chain = await startChain();
  fleet = await startFleet(world, 2, paidServers(chain, upstream));
  [one, other] = fleet.instances as [Signalbox, Signalbox];
  await Promise.all(fleet.instances.map(untilReady));
});
afterEach(async () => {
  upstream.behave({});
  await chain.automine(true);
});
afterAll(async () => {
  await fleet.stop();
  await chain.stop();
});

let asks = 0;

/** Makes a request that one instance has quoted, and its payment. The cost must be paid and booked once. */
async function signed() {
  const messages = [{ role: 'user', content: `Say hello ${++asks} times.` }];
  const body = JSON.stringify({ model: 'best', messages, max_tokens: 100 });
  const ask = (at: Signalbox, headers: Readonly<Record<string, string>> = {}) =>
    fetch(`${at.url}/v1/chat/completions`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json', ...headers },
    });
  const payer = await chain.payer(10_000_000n);
  const required = requiredOf(await ask(one));
  const payload = await stockClient(payer, chain.token).createPaymentPayload(required);
  const before = await sums();
  return {
    pay: (at: Signalbox) => ask(at, { 'payment-signature': encodePaymentSignatureHeader(payload) }),
    /** @param told the received answers */
    async expectOnce(told: readonly Response[]) {
      const prices = await Promise.all(told.map(async (answer) => (await answerOf(answer)).platform));
      await waitFor(() => world.books.open().count === 0);
      const after = await sums();
      expect(after.received - before.received).toBe(amountOf(required));
      expect(after.calls - before.calls).toBe(1);
      expect(after.deposits - before.deposits).toBe(1);
      const charged = (after.charged - before.charged) / 1_000_000;
      expect(charged).toBeGreaterThan(0);
      for (const { credits_consumed } of prices) expect(credits_consumed).toBe(charged);
      const [payment] = await world.store.payments.list({ state: null, payer: null, limit: 1, before: null });
      expect(payment).toMatchObject({ payer: payer.address.toLowerCase(), state: 'settled', owner: null });
    },
  };
}

const sums = async () => ({
  received: await chain.balanceOf(chain.payTo),
  calls: upstream.requests.length,
  deposits: world.books.journal.entries.filter(({ kind }) => kind === 'deposit').length,
  charged: await world.books.charged(),
});

const refusal = async (answer: Response) => [answer.status, (await answerOf(answer)).error.code];
const IN_FLIGHT = [409, 'in_flight'];

test('at both at once, before one has claimed it: one answers, and the other reports that the request runs', async () => {
  const { pay, expectOnce } = await signed();
  upstream.behave({ headersAfterMs: 200 });
  const answers = await Promise.all([pay(one), pay(other)]);
  const [told, refused] = [200, 409].map((status) => answers.find((answer) => answer.status === status));
  expect(await refusal(refused!)).toEqual(IN_FLIGHT);
  await expectOnce([told!]);
});

test('a payment sent to a second server is refused while the first server settles it or answers', async () => {
  const { pay, expectOnce } = await signed();
  await chain.automine(false);
  upstream.behave({ headersAfterMs: 500 });
  const calls = upstream.requests.length;
  const first = pay(one);
  await waitFor(async () => (await chain.client.getTxpoolStatus()).pending > 0);
  expect(await refusal(await pay(other))).toEqual(IN_FLIGHT);
  await chain.automine(true);
  await chain.mine();
  await waitFor(() => upstream.requests.length > calls);
  expect(await refusal(await pay(other))).toEqual(IN_FLIGHT);
  await expectOnce([await first]);
});

test('at the second one after the first: it returns the same answer', async () => {
  const { pay, expectOnce } = await signed();
  const first = await pay(one);
  const [again, here] = [await pay(other), await pay(one)];
  const texts = await Promise.all([first, again, here].map((answer) => answer.clone().text()));
  expect(new Set(texts).size).toBe(1);
  await expectOnce([first, again, here]);
});
