import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import type { PrivateKeyAccount } from 'viem/accounts';
import { answerOf } from '../../support/answers.ts';
import { withKey } from '../../support/signalbox.ts';
import { amountOf, MICROCREDITS_PER_UNIT, type Paid, requiredOf, startPaid } from '../support/paying.ts';

/** Who pays for a request with a key, a signature, the name of a wallet, or several of them. */
let paid: Paid;
/** A server with the same policy, but without payments. */
let off: Paid;
/** A server whose policy requires agents to name their wallet. */
let strict: Paid;

/** The budget of a wallet, which is enough for two requests of these tests, not for three. */
const BUDGET = `budgets:
  - { name: each-wallet, each: key.id, match: 'key.id.startsWith("0x")', limit_credits: 1, window: month }
`;

beforeAll(async () => {
  paid = await startPaid();
  const { chain, upstream } = paid;
  off = await startPaid({ upstream, chain, takesPayments: false });
  strict = await startPaid({ upstream, chain, policy: BUDGET, x402: '    agent_wallet: { required: true }\n' });
});
afterEach(() => paid.upstream.behave({}));
afterAll(async () => {
  await off.stop();
  await strict.stop();
  await paid.stop();
});

const hello = [{ role: 'user', content: 'Say hello.' }];
const body = { model: 'best', messages: hello, max_tokens: 100 };
/** 0.09 Credits. */
const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };
const OTHER = '0x1d2c3b4a5f6e7d8c9b0a1f2e3d4c5b6a7f8e9d0c';

interface KeyShown {
  readonly id: string;
  readonly key: string;
}
async function makeKey(terms: object): Promise<KeyShown> {
  const response = await paid.box.post('/admin/keys', terms);
  expect(response.status).toBe(200);
  return (await response.json()) as KeyShown;
}
const grant = (id: string, credits: number) => paid.box.post(`/admin/keys/${id}/grant`, { credits });
async function balanceOfKey(id: string): Promise<unknown> {
  const { balance_credits, balance } = (await (await paid.box.get(`/admin/keys/${id}`)).json()) as {
    balance_credits?: unknown;
    balance?: unknown;
  };
  return balance_credits ?? balance;
}
async function walletKey(at: Paid, payer: PrivateKeyAccount): Promise<string> {
  const response = await at.pay(payer, { usd: 1 }, { path: '/v1/wallets/topup' });
  expect(response.status).toBe(201);
  return ((await response.json()) as { key: string }).key;
}
async function codeOf(response: Response): Promise<string> {
  return (await answerOf(response)).error?.code;
}

describe('without an API key', () => {
  test('a request gets the price, or 401 if wallets must be named', async () => {
    expect((await paid.ask(body)).status).toBe(402);
    const response = await strict.ask(body);
    expect(response.status).toBe(401);
    expect(await codeOf(response)).toBe('invalid_api_key');
    expect(response.headers.get('payment-required')).toBeNull();
  });

  test('a request that names a wallet gets the price', async () => {
    for (const at of [paid, strict]) expect((await at.ask({ ...body, agent_wallet: OTHER })).status).toBe(402);
  });

  test('with a named wallet and its signature, this wallet pays', async () => {
    const payer = await strict.payer();
    const response = await strict.pay(payer, { ...body, agent_wallet: payer.address });
    expect(response.status).toBe(200);
    expect((await answerOf(response)).platform.payment?.payer).toBe(payer.address.toLowerCase());
  });

  test('with only a signature, its wallet pays, unless wallets must be named', async () => {
    const payer = await paid.payer();
    const { required } = await paid.quote(body);
    const header = await paid.sign(payer, required);
    expect((await strict.send(header, body)).status).toBe(401);
    const response = await paid.send(header, body);
    expect(response.status).toBe(200);
    expect((await answerOf(response)).platform.payment?.payer).toBe(payer.address.toLowerCase());
  });

  test('while payments are off, a request gets 401, with or without a wallet or signature', async () => {
    const payer = await paid.payer();
    const header = await paid.sign(payer, (await paid.quote(body)).required);
    expect((await off.ask(body)).status).toBe(401);
    expect((await off.ask({ ...body, agent_wallet: payer.address })).status).toBe(401);
    expect((await off.send(header, body)).status).toBe(401);
    expect((await off.ask({ usd: 1 }, { path: '/v1/wallets/topup' })).status).toBe(401);
    expect((await fetch(`${off.box.url}/.well-known/x402`)).status).toBe(404);
  });

  test('all other routes return 401', async () => {
    for (const path of [
      '/v1/models',
      '/v1/usage',
      '/v1/wallets/me',
      '/v1/payments/pay_000000000000',
      '/admin/payments',
    ]) {
      expect((await fetch(paid.box.url + path)).status).toBe(401);
    }
    expect((await paid.ask({ task_type: 'coding' }, { path: '/v1/route' })).status).toBe(401);
  });
});

describe('with an API key', () => {
  test('without a signature the key pays, and a named wallet is only a label', async () => {
    for (const at of [paid, off]) {
      for (const agent_wallet of [OTHER, null]) {
        const response = await at.box.post('/v1/chat/completions', { ...body, agent_wallet });
        expect(response.status).toBe(200);
        expect((await answerOf(response)).platform.payment).toBeUndefined();
      }
    }
  });

  test('a key with a list of wallets may name and sign only with these', async () => {
    const payer = await paid.payer();
    const { key } = await makeKey({ name: 'bound', wallets: [payer.address] });
    const post = (agent_wallet: string) =>
      paid.box.post('/v1/chat/completions', { ...body, agent_wallet }, withKey(key));
    expect((await post(payer.address)).status).toBe(200);
    const refused = await post(OTHER);
    expect(refused.status).toBe(403);
    expect(await codeOf(refused)).toBe('agent_wallet_mismatch');

    const route = (agent_wallet: string) => paid.box.post('/v1/route', { ...body, agent_wallet }, withKey(key));
    expect((await route(payer.address)).status).toBe(200);
    expect(await codeOf(await route(OTHER))).toBe('agent_wallet_mismatch');

    const stranger = await paid.payer();
    const header = await paid.sign(stranger, (await paid.quote(body)).required);
    const paying = await paid.send(header, body, withKey(key));
    expect(paying.status).toBe(403);
    expect(await codeOf(paying)).toBe('agent_wallet_mismatch');
    expect(await paid.chain.balanceOf(stranger.address)).toBe(10_000_000n);
  });

  test('with a signature the wallet pays, and the balance of the key is unchanged', async () => {
    const { key, id } = await makeKey({ name: 'prepaid' });
    expect((await grant(id, 5)).status).toBe(200);
    const before = await balanceOfKey(id);
    const payer = await paid.payer();
    const header = await paid.sign(payer, (await paid.quote(body)).required);
    const response = await paid.send(header, body, withKey(key));
    expect(response.status).toBe(200);
    expect((await answerOf(response)).platform.payment).toMatchObject({
      source: 'x402',
      payer: payer.address.toLowerCase(),
    });
    expect(await balanceOfKey(id)).toEqual(before);
    expect(before).not.toBeUndefined();
  });

  test('a signature does not extend what the key may do, and nothing is paid for a refused request', async () => {
    const { key } = await makeKey({ name: 'plain only', models: ['plain'] });
    const payer = await paid.payer();
    const header = await paid.sign(payer, (await paid.quote(body)).required);
    const calls = paid.upstream.requests.length;
    const response = await paid.send(header, body, withKey(key));
    expect(response.status).toBe(403);
    expect(await codeOf(response)).toBe('insufficient_permissions');
    expect(await paid.chain.balanceOf(payer.address)).toBe(10_000_000n);
    expect(paid.upstream.requests.length).toBe(calls);
  });

  test('if the balance of the key is too small, the request gets 402 with a quote for the whole price, which can be paid', async () => {
    const { key, id } = await makeKey({ name: 'spent' });
    await grant(id, 0.1);
    const { required } = await paid.quote(body);
    const response = await paid.box.post('/v1/chat/completions', body, withKey(key));
    expect(response.status).toBe(402);
    expect(amountOf(requiredOf(response))).toBe(amountOf(required));
    expect(await codeOf(response)).toBe('insufficient_quota');
    const payer = await paid.payer();
    const answered = await paid.pay(payer, body, withKey(key));
    expect(answered.status).toBe(200);
    expect((await answerOf(answered)).platform.payment?.source).toBe('x402');
  });
});

describe('a key of a wallet', () => {
  test('a wallet’s key spends its balance, and may name only its own wallet', async () => {
    const payer = await paid.payer();
    const key = await walletKey(paid, payer);
    const post = (more: object) => paid.box.post('/v1/chat/completions', { ...body, ...more }, withKey(key));
    expect((await post({})).status).toBe(200);
    expect((await post({ agent_wallet: payer.address })).status).toBe(200);
    const refused = await post({ agent_wallet: OTHER });
    expect(refused.status).toBe(403);
    expect(await codeOf(refused)).toBe('agent_wallet_mismatch');
  });

  test('a wallet’s key cannot be combined with a signature of another wallet', async () => {
    const key = await walletKey(paid, await paid.payer());
    const other = await paid.payer();
    const header = await paid.sign(other, (await paid.quote(body)).required);
    expect((await paid.send(header, body, withKey(key))).status).toBe(403);
    expect(await paid.chain.balanceOf(other.address)).toBe(10_000_000n);
  });

  test('a wallet’s key may request advice, and sees only its own payments', async () => {
    const key = await walletKey(paid, await paid.payer());
    expect((await paid.box.post('/v1/route', { task_type: 'coding' }, withKey(key))).status).toBe(200);
    expect((await paid.box.get('/admin/payments', withKey(key))).status).toBe(403);
  });

  test('a free signature creates a new key of a wallet and revokes the old ones', async () => {
    const payer = await paid.payer();
    const lost = await walletKey(paid, payer);
    const before = await paid.chain.balanceOf(payer.address);
    const made = await paid.pay(payer, { revoke_others: true }, { path: '/v1/wallets/keys' });
    expect(made.status).toBe(201);
    const { key, revoked } = (await made.json()) as { key: string; revoked: number };
    expect(revoked).toBe(1);
    expect(await paid.chain.balanceOf(payer.address)).toBe(before);
    expect((await paid.box.post('/v1/chat/completions', body, withKey(key))).status).toBe(200);
    expect((await paid.box.post('/v1/chat/completions', body, withKey(lost))).status).toBe(401);
    const stranger = await paid.payer();
    expect((await paid.pay(stranger, {}, { path: '/v1/wallets/keys' })).status).toBe(403);
  });
});

describe('policies apply to wallets', () => {
  test('a budget for each caller limits a wallet by its address, before it pays', async () => {
    const payer = await strict.payer();
    // 80 tokens of output: two such requests leave too little of the wallet's budget for a third.
    strict.upstream.behave({ usage: { prompt_tokens: 10, completion_tokens: 80, total_tokens: 90 } });
    const asked = { ...body, agent_wallet: payer.address };
    for (const seed of [1, 2]) expect((await strict.pay(payer, { ...asked, seed })).status).toBe(200);
    const before = await strict.chain.balanceOf(payer.address);
    const response = await strict.ask({ ...asked, seed: 3 });
    expect(response.status).toBe(402);
    expect(response.headers.get('payment-required')).toBeNull();
    const { error } = await answerOf(response);
    expect(error).toMatchObject({ code: 'insufficient_quota', details: { budget: 'each-wallet' } });
    // A caller who knows only the address must not learn what its wallet has spent.
    expect(JSON.stringify(error)).not.toContain('_credits');
    expect(await strict.chain.balanceOf(payer.address)).toBe(before);
    // Another wallet has its own budget.
    const other = await strict.payer();
    expect((await strict.pay(other, { ...body, agent_wallet: other.address })).status).toBe(200);
  });

  test('a blocked wallet is refused on every route, and keeps its money', async () => {
    const payer = await paid.payer();
    const key = await walletKey(paid, payer);
    const asked = { ...body, agent_wallet: payer.address };
    const stranger = await paid.payer();
    const earlier = await paid.sign(stranger, (await paid.quote(body)).required);
    for (const { address } of [payer, stranger]) {
      expect((await paid.box.post(`/admin/wallets/${address}/block`, { note: 'abuse' })).status).toBe(200);
    }
    const calls = paid.upstream.requests.length;
    for (const response of [
      await paid.ask(asked),
      await paid.send(earlier, body),
      await paid.box.post('/v1/chat/completions', body, withKey(key)),
      await paid.box.get('/v1/wallets/me', withKey(key)),
    ]) {
      expect(response.status).toBe(403);
      expect(await codeOf(response)).toBe('insufficient_permissions');
    }
    expect(paid.upstream.requests.length).toBe(calls);
    expect(await paid.chain.balanceOf(stranger.address)).toBe(10_000_000n);
    expect(await paid.balanceOf(payer.address)).toBe(1_000);
    await paid.box.post(`/admin/wallets/${payer.address}/unblock`, {});
    expect((await paid.box.post('/v1/chat/completions', body, withKey(key))).status).toBe(200);
  });
});

test('after all payments by wallets and keys, the books agree with the chain', async () => {
  paid.upstream.next({ usage: USAGE });
  const [books, others] = [await paid.books(), await strict.books()];
  expect([...books.findings, ...others.findings]).toEqual([]);
  expect(books.open + others.open).toBe(0);
  expect(books.deposits + others.deposits).toBe(Number(books.received) * MICROCREDITS_PER_UNIT);
});
