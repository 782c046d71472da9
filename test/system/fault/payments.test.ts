import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { ClientPayment } from '../../payments/model/signed.ts';
import { waitFor } from '../../support/answers.ts';
import { balanceIn, bookProblems } from '../payments/model/books.ts';
import { CHAT, chatBody, type Stand, shortOf, startStand } from '../payments/model/stand.ts';

/** Faults between the gateway and the chain, and on the chain, as the agent, the operator and the chain see them. */
let stand: Stand;
/** Each test uses a new wallet, because a wallet with a balance would have nothing to pay. */
let payer: PrivateKeyAccount;
let requests = 0;
const PURSE = 1_000_000_000n;

beforeAll(async () => {
  stand = await startStand({ confirmationMs: 1_000 });
});
beforeEach(async () => {
  payer = await stand.chain.payer(PURSE);
});
afterAll(() => stand.stop());

/** After any fault the books and the chain agree. */
afterEach(async () => {
  stand.proxy.fail(null);
  await stand.proxy.up();
  await stand.chain.automine(true);
  await stand.chain.mine();
  await stand.settled();
  expect(await bookProblems(stand)).toEqual([]);
});

const UNSETTLED = { status: 503, code: 'payment_unsettled', quoted: false, retry: 'false' };
const UNAVAILABLE = { status: 503, code: 'payment_unavailable', quoted: false };

/** Callers with an API key are unaffected. */
async function expectKeysServed(): Promise<void> {
  const answer = await stand.box.post(CHAT, chatBody(++requests));
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"choices"')]);
}

async function expectUnsettled(body: unknown, { header }: ClientPayment, wallet = payer.address): Promise<void> {
  expect(await shortOf(await stand.send(body, header))).toMatchObject(UNSETTLED);
  await expectHeldBack(body, wallet);
}

/** Checks that a request whose payment may still arrive gets no new quote, neither with another signature nor with the wallet's name. */
async function expectHeldBack(body: unknown, wallet: string): Promise<void> {
  const named = await stand.post(CHAT, { ...(body as object), agent_wallet: wallet });
  const { code, quoted } = await shortOf(named);
  // A request that names its wallet has another body, unless it named the wallet before.
  if ('agent_wallet' in (body as object)) expect([code, quoted]).toEqual(['payment_unsettled', false]);
}

const balanceOf = (wallet: string) => stand.chain.balanceOf(wallet);
const bodyOf = (account: PrivateKeyAccount, more: object = {}) =>
  chatBody(++requests, { agent_wallet: account.address, ...more });
const calls = () => stand.upstream.requests.length;

test('if one of 50 payers loses its money during 50 parallel paid requests, 49 requests are answered, one is refused, and none stalls', async () => {
  const { chain } = stand;
  const shared = await chain.payer(1_000_000_000n);
  const drained = await chain.payer(1_000_000n);
  const all = await Promise.all(
    Array.from({ length: 50 }, async (_, at) => {
      const account = at === 25 ? drained : at % 2 === 0 ? shared : payer;
      const body = chatBody(++requests);
      return { body, paid: await stand.sign(account, body) };
    }),
  );
  const before = calls();
  const emptied = chain.transfer(drained, shared.address, 1_000_000n);
  const answers = await Promise.all(
    all.map(async ({ body, paid }, at) => {
      if (at === 25) await emptied;
      const answer = await stand.send(body, paid.header);
      return { at, status: answer.status, text: await answer.text() };
    }),
  );
  const refused = answers.filter(({ status }) => status !== 200);
  expect(refused.map(({ at, status }) => [at, status])).toEqual([[25, 402]]);
  expect(calls() - before).toBe(49);
});

test('while a chain does not mine, the outcome of a payment is unknown and there is no new quote; once the chain mines, the same signature gets the answer', async () => {
  await stand.chain.automine(false);
  const body = bodyOf(payer);
  const before = { calls: calls(), balance: await balanceOf(payer.address) };
  const paid = await stand.sign(payer, body);
  await expectUnsettled(body, paid);
  // The outcome is still unknown.
  await expectUnsettled(body, paid);
  expect(calls()).toBe(before.calls);
  await expectKeysServed();
  await stand.chain.automine(true);
  await stand.chain.mine();
  await stand.settled();
  const answer = await stand.send(body, paid.header);
  expect(answer.status).toBe(200);
  expect(before.balance - (await balanceOf(payer.address))).toBe(BigInt(paid.payload.accepted.amount));
});

test('if the node’s answer to the broadcast of a payment is lost, the payer never gets a new 402, pays once, and gets the answer with the same signature', async () => {
  const body = bodyOf(payer);
  const paid = await stand.sign(payer, body);
  stand.proxy.fail('lost', 'eth_sendRawTransaction', 'eth_getTransactionReceipt');
  await expectUnsettled(body, paid);
  stand.proxy.fail(null);
  const answer = await waitFor(async () => {
    const again = await stand.send(body, paid.header);
    return again.status === 200 ? again : null;
  }, 20_000);
  expect(await answer.text()).toContain('"choices"');
  expect(PURSE - (await balanceOf(payer.address))).toBe(BigInt(paid.payload.accepted.amount));
});

test('if the node is down before a payment is sent, the request gets a retryable 503, the store gets no row, and the signature stays valid', async () => {
  const body = bodyOf(payer);
  const paid = await stand.sign(payer, body);
  await stand.proxy.down();
  const rows = () => stand.query<{ n: number }>('SELECT COUNT(*) AS n FROM payments')[0]!.n;
  const before = rows();
  expect(await shortOf(await stand.send(body, paid.header))).toMatchObject(UNAVAILABLE);
  expect(rows()).toBe(before);
  await expectKeysServed();
  await stand.proxy.up();
  expect((await stand.send(body, paid.header)).status).toBe(200);
});

for (const fault of ['error', 'status', 'garbage', 'cut'] as const) {
  test(`a node that answers with ${fault}: 503, not an error about the signature`, async () => {
    const body = bodyOf(payer);
    const paid = await stand.sign(payer, body);
    stand.proxy.fail(fault);
    expect(await shortOf(await stand.send(body, paid.header))).toMatchObject(UNAVAILABLE);
    stand.proxy.fail(null);
    expect((await stand.send(body, paid.header)).status).toBe(200);
  });
}

test('a payer that cancels a payment in progress pays nothing, gets an error that says so, and a new quote', async () => {
  const account = await stand.chain.payer(1_000_000_000n);
  const body = bodyOf(account);
  const paid = await stand.sign(account, body);
  const before = calls();
  stand.proxy.fail('lost', 'eth_sendRawTransaction');
  await stand.chain.automine(false);
  await expectUnsettled(body, paid, account.address);
  await stand.chain.dropTransactions();
  stand.proxy.fail(null);
  await stand.chain.automine(true);
  await stand.chain.cancel(account, paid.nonce);
  const told = await waitFor(async () => {
    const short = await shortOf(await stand.send(body, paid.header));
    return short.status === 402 ? short : null;
  }, 20_000);
  expect(told).toMatchObject({ code: 'payment_invalid', quoted: true });
  expect(calls()).toBe(before);
  expect(await balanceOf(account.address)).toBe(1_000_000_000n);
  expect(balanceIn(stand, account.address)).toBe(0);
  expect((await stand.pay(account, body)).status).toBe(200);
});

test('a provider that fails before its first part: the whole payment, with the fee, becomes balance for the next request', async () => {
  const account = await stand.chain.payer(1_000_000_000n);
  for (const stream of [false, true]) {
    stand.upstream.behave({ status: 500 });
    const body = bodyOf(account, { stream });
    const paid = await stand.sign(account, body);
    const has = balanceIn(stand, account.address);
    const answer = await stand.send(body, paid.header);
    expect(await answer.text()).toContain('"error"');
    stand.upstream.behave({});
    await stand.settled();
    const worth = Number(paid.payload.accepted.amount) * 1_000;
    expect(balanceIn(stand, account.address) - has).toBe(worth);
  }
  const debited = await balanceOf(account.address);
  // The balance is enough: the wallet only has to identify itself.
  const body = bodyOf(account);
  const free = await stand.sign(account, body);
  expect(free.payload.accepted.amount).toBe('0');
  expect((await stand.send(body, free.header)).status).toBe(200);
  expect(await balanceOf(account.address)).toBe(debited);
});

test('if the operator’s gas key has no gas, a paid request gets 503, and its signature is valid again once there is gas', async () => {
  const { chain } = stand;
  const body = bodyOf(payer);
  const paid = await stand.sign(payer, body);
  await chain.client.setBalance({ address: chain.gasAddress, value: 0n });
  expect(await shortOf(await stand.send(body, paid.header))).toMatchObject(UNAVAILABLE);
  await expectKeysServed();
  await chain.client.setBalance({ address: chain.gasAddress, value: 10n ** 20n });
  expect((await stand.send(body, paid.header)).status).toBe(200);
});
