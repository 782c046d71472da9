import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { decodePaymentResponseHeader, decodePaymentSignatureHeader } from '@x402/core/http';
import type { PaymentRequired } from '@x402/core/types';
import type { Address, Hex } from 'viem';
import { answerOf } from '../../support/answers.ts';
import { startChain, type TestChain } from '../support/chain/chain.ts';
import { type RpcProxy, startRpcProxy } from '../support/chain/rpc-proxy.ts';
import { TOKEN_ABI } from '../support/chain/token-abi.ts';
import { amountOf, type Mutable, type Paid, requiredOf, startPaid, tampered, untilReady } from '../support/paying.ts';

/** Refused payments on a real server with a real chain: the agent gets the right error, nothing is charged, and no provider is called. */
let chain: TestChain;
let proxy: RpcProxy;
let paid: Paid;
/** A server whose quotes last ten seconds. The server makes one quote before all other tests. */
let brief: Paid;
let early: PaymentRequired;

beforeAll(async () => {
  chain = await startChain();
  proxy = await startRpcProxy(chain.url);
  paid = await startPaid({ chain, rpcUrl: proxy.url });
  await untilReady(paid.box);
  const { upstream } = paid;
  brief = await startPaid({ chain, upstream, x402: '    quote: { ttl_seconds: 10 }\n    settle_margin_seconds: 6\n' });
  early = (await brief.quote(body)).required;
});
afterEach(() => paid.upstream.behave({}));
afterAll(async () => {
  await paid.stop();
  await brief.stop();
  await proxy.stop();
  await chain.stop();
});

const hello = [{ role: 'user', content: 'Say hello.' }];
const body = { model: 'best', messages: hello, max_tokens: 100 };
const USAGE = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };

/** Runs a function that must be free: no call of a provider, no money moved, no payment stored. */
async function forNothing<T>(run: () => Promise<T>): Promise<T> {
  const before = { calls: paid.upstream.requests.length, received: await chain.balanceOf(chain.payTo) };
  const stored = paid.payments();
  const result = await run();
  expect({ calls: paid.upstream.requests.length, received: await chain.balanceOf(chain.payTo) }).toEqual(before);
  expect(paid.payments()).toEqual(stored);
  return result;
}

/** Checks a refusal that a new payment can resolve: it contains a quote that can be paid. */
async function refusedFor(response: Response, reason: string): Promise<PaymentRequired> {
  const { error } = await answerOf(response);
  expect({ status: response.status, code: error?.code, reason: error?.details.reason }).toEqual({
    status: 402,
    code: 'payment_invalid',
    reason,
  });
  expect(response.headers.get('x-should-retry')).toBe('false');
  expect(response.headers.get('cache-control')).toBe('no-store');
  return requiredOf(response);
}

const isUsed = (address: string, nonce: Hex): Promise<boolean> =>
  chain.client.readContract({
    address: chain.token,
    abi: TOKEN_ABI,
    functionName: 'authorizationState',
    args: [address as Address, nonce],
  });
const nonceOf = (header: string): Hex =>
  (decodePaymentSignatureHeader(header).payload as { authorization: { nonce: Hex } }).authorization.nonce;

const set = (members: Record<string, unknown>, name: string, value: unknown): void => {
  members[name] = value;
};

/** Signs as the standard client does, valid for this many seconds. */
async function signedFor(seconds: number, account: Parameters<Paid['sign']>[0], required: PaymentRequired) {
  const [accepted] = required.accepts;
  const other = { ...required, accepts: [{ ...accepted!, maxTimeoutSeconds: seconds }] };
  return tampered(await paid.sign(account, other), (payload) => {
    payload.accepted.maxTimeoutSeconds = accepted!.maxTimeoutSeconds;
  });
}

describe('the named wallet', () => {
  test('must be the wallet that signs: otherwise 403, the chain is not called, and the quote can still be paid', async () => {
    const [named, other] = [await paid.payer(), await paid.payer()];
    const asked = { ...body, agent_wallet: named.address };
    const { required } = await paid.quote(asked);
    const header = await paid.sign(other, required);
    const calls = proxy.count();
    const refused = await forNothing(() => paid.send(header, asked));
    expect(refused.status).toBe(403);
    expect((await answerOf(refused)).error.code).toBe('agent_wallet_mismatch');
    expect(refused.headers.get('payment-required')).toBeNull();
    expect(proxy.count()).toBe(calls);
    expect(await isUsed(other.address, nonceOf(header))).toBe(false);
    expect((await paid.send(await paid.sign(named, required), asked)).status).toBe(200);
  });

  test('must be an address if the request has no key', async () => {
    const response = await forNothing(() => paid.ask({ ...body, agent_wallet: 'agent-7' }));
    expect(response.status).toBe(400);
    expect((await answerOf(response)).error).toMatchObject({ code: 'invalid_value', param: 'agent_wallet' });
  });
});

describe('a signature', () => {
  test('pays for its own request and for no other', async () => {
    const payer = await paid.payer();
    const header = await paid.sign(payer, (await paid.quote(body)).required);
    for (const other of [
      { ...body, max_tokens: 101 },
      { ...body, model: 'plain' },
      { ...body, stream: true },
    ]) {
      const again = await refusedFor(await forNothing(() => paid.send(header, other)), 'other_request');
      // The new quote is for the request as it was sent.
      const { required } = await paid.quote(other);
      expect(amountOf(again)).toBe(amountOf(required));
    }
    // The order of members does not change a request.
    const { max_tokens, messages, model } = body;
    expect((await paid.send(header, { max_tokens, messages, model })).status).toBe(200);
  });

  test('a payment for a completion neither tops up a wallet nor proves its ownership', async () => {
    const payer = await paid.payer();
    const header = await paid.sign(payer, (await paid.quote(body)).required);
    for (const path of ['/v1/wallets/topup', '/v1/wallets/keys']) {
      const asked = path.endsWith('topup') ? { usd: 1 } : {};
      const response = await forNothing(() => paid.send(header, asked, { path }));
      expect(response.status).toBe(402);
      expect((await answerOf(response)).error.code).toBe('payment_invalid');
    }
  });

  const ADDRESS = '0x1d2c3b4a5f6e7d8c9b0a1f2e3d4c5b6a7f8e9d0c';
  const TERMS: Readonly<Record<string, unknown>> = {
    amount: '1',
    payTo: ADDRESS,
    asset: ADDRESS,
    network: 'eip155:8453',
    maxTimeoutSeconds: 600,
  };
  const EXTRA: Readonly<Record<string, unknown>> = {
    name: 'USD Coin',
    quote_id: 'quo_000000000000',
    request_hash: '0'.repeat(64),
    expires_at: '2099-01-01T00:00:00.000Z',
    terms: 'eyJib3VuZCI6MX0.AAAA',
  };
  const changes = [
    ...Object.entries(TERMS).map(
      ([name, value]) => [name, (payload: Mutable) => set(payload.accepted, name, value)] as const,
    ),
    ...Object.entries(EXTRA).map(
      ([name, value]) => [`extra.${name}`, (payload: Mutable) => set(payload.accepted.extra, name, value)] as const,
    ),
    [
      'extra.terms without its seal',
      ({ accepted: { extra } }: Mutable) => set(extra, 'terms', String(extra.terms).split('.')[0]),
    ] as const,
  ];
  for (const [member, change] of changes) {
    test(`a payment over changed terms is refused before any call: ${member}`, async () => {
      const payer = await paid.payer();
      const header = tampered(await paid.sign(payer, (await paid.quote(body)).required), change);
      const calls = proxy.count();
      const response = await forNothing(() => paid.send(header, body));
      await refusedFor(response, 'unknown_quote');
      expect(proxy.count()).toBe(calls);
    });
  }

  test('a payment signed by another wallet than it names is refused before any call', async () => {
    const [payer, thief] = [await paid.payer(), await paid.payer()];
    const header = tampered(await paid.sign(thief, (await paid.quote(body)).required), ({ payload }) => {
      payload.authorization.from = payer.address;
    });
    const calls = proxy.count();
    await refusedFor(await forNothing(() => paid.send(header, body)), 'invalid_signature');
    expect(proxy.count()).toBe(calls);
  });

  test('a payment with the malleable second form of its signature is refused before any call', async () => {
    const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
    const header = tampered(await paid.sign(await paid.payer(), (await paid.quote(body)).required), ({ payload }) => {
      const first = String(payload.signature);
      const s = (order - BigInt(`0x${first.slice(66, 130)}`)).toString(16).padStart(64, '0');
      payload.signature = `${first.slice(0, 66)}${s}${first.endsWith('1b') ? '1c' : '1b'}`;
    });
    await refusedFor(await forNothing(() => paid.send(header, body)), 'unsupported_signature');
  });

  test('a payment whose validity is too short to be settled is refused', async () => {
    const payer = await paid.payer();
    const header = await signedFor(30, payer, (await paid.quote(body)).required);
    await refusedFor(await forNothing(() => paid.send(header, body)), 'too_little_time');
    expect(await isUsed(payer.address, nonceOf(header))).toBe(false);
  });

  test('a payment whose validity is far too long is refused', async () => {
    const payer = await paid.payer();
    const header = await signedFor(10_000_000, payer, (await paid.quote(body)).required);
    await refusedFor(await forNothing(() => paid.send(header, body)), 'valid_too_long');
  });

  test('a payment of a wallet without enough money is refused with the x402 reason and a new quote', async () => {
    const payer = await paid.payer(100n);
    const header = await paid.sign(payer, (await paid.quote(body)).required);
    const response = await forNothing(() => paid.send(header, body));
    expect(decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')).toMatchObject({
      success: false,
      transaction: '',
      errorReason: 'invalid_exact_evm_insufficient_balance',
    });
    expect(((await response.clone().json()) as { error: { message: string } }).error.message).toEndWith(
      'Add funds to it.',
    );
    await refusedFor(response, 'invalid_exact_evm_insufficient_balance');
  });
});

describe('a quote', () => {
  test('an expired quote is refused with a new one, which can be paid', async () => {
    const payer = await paid.payer();
    // A signature shortly before the end would still be valid after it.
    const expiresAt = Date.parse(String(early.accepts[0]?.extra.expires_at));
    await Bun.sleep(Math.max(0, expiresAt + 50 - Date.now()));
    const header = await paid.sign(payer, early);
    const calls = brief.upstream.requests.length;
    const again = await refusedFor(await brief.send(header, body), 'quote_expired');
    expect(brief.upstream.requests.length).toBe(calls);
    expect(await isUsed(payer.address, nonceOf(header))).toBe(false);
    expect((await brief.send(await paid.sign(payer, again), body)).status).toBe(200);
  });

  test('a quote from before a reload is accepted at its old price', async () => {
    const payer = await paid.payer();
    const { required } = await paid.quote(body);
    await paid.reload(paid.policy.replace('input: 1, output: 4, as_of', 'input: 2, output: 8, as_of'));
    try {
      const { required: dearer } = await paid.quote(body);
      expect(amountOf(dearer)).toBeGreaterThan(amountOf(required));
      paid.upstream.next({ usage: USAGE });
      const response = await paid.send(await paid.sign(payer, required), body);
      expect(response.status).toBe(200);
      const { platform } = await answerOf(response);
      expect(platform.credits_consumed).toBe(0.09);
      expect(platform.payment?.paid_atomic).toBe(String(amountOf(required)));
    } finally {
      await paid.reload(paid.policy);
    }
  });

  test('a quote from before a reload is paid to the address that it named', async () => {
    const payer = await paid.payer();
    const { required } = await paid.quote(body);
    const other = await paid.payer(0n);
    await paid.reload(paid.policy.replace(chain.payTo, other.address));
    await untilReady(paid.box);
    try {
      const before = await chain.balanceOf(chain.payTo);
      expect((await paid.send(await paid.sign(payer, required), body)).status).toBe(200);
      expect((await chain.balanceOf(chain.payTo)) - before).toBe(amountOf(required));
      const { required: next } = await paid.quote({ ...body, seed: 1 });
      expect(next.accepts[0]?.payTo).toBe(other.address);
    } finally {
      await paid.reload(paid.policy);
      await untilReady(paid.box);
    }
  });

  test('a quote is void once payments are turned off, and nothing is settled', async () => {
    const payer = await paid.payer();
    const header = await paid.sign(payer, (await paid.quote(body)).required);
    const topUp = await paid.pay(await paid.payer(), { usd: 1 }, { path: '/v1/wallets/topup' });
    const { key } = (await topUp.json()) as { key: string };
    await paid.reload(paid.policy.replace('enabled: true', 'enabled: false'));
    try {
      const response = await forNothing(() => paid.send(header, body));
      expect(response.status).toBe(401);
      const withKey = await paid.send(header, body, { headers: { authorization: `Bearer ${paid.box.key}` } });
      expect(withKey.status).toBe(400);
      expect((await answerOf(withKey)).error.code).toBe('unsupported_parameter');
      // Money that was paid earlier can still be spent.
      const spending = { headers: { authorization: `Bearer ${key}` } };
      expect((await paid.box.post('/v1/chat/completions', body, spending)).status).toBe(200);
    } finally {
      await paid.reload(paid.policy);
      await untilReady(paid.box);
    }
    // The payer can pay the same quote when payments are on again.
    expect((await paid.send(header, body)).status).toBe(200);
  });
});

describe('a request that could not run never gets a payment request', () => {
  const CASES: Readonly<Record<string, readonly [object, number, string]>> = {
    'a body of another form': [{ model: 'best' }, 400, 'missing_field'],
    'a wrong type': [{ ...body, max_tokens: 'many' }, 400, 'invalid_type'],
    'a model that does not exist': [{ ...body, model: 'no-such-model' }, 404, 'model_not_found'],
    'a budget_limit that nothing fits': [{ ...body, budget_limit: 0.001 }, 400, 'budget_limit_too_low'],
    'a prompt that fits no model': [
      { ...body, messages: [{ role: 'user', content: 'word '.repeat(45_000) }] },
      400,
      'context_length_exceeded',
    ],
    'constraints that leave nothing': [
      { ...body, model: 'auto', constraints: { max_cost_credits: 0.000001 } },
      422,
      'no_eligible_model',
    ],
  };
  for (const [what, [asked, status, code]] of Object.entries(CASES)) {
    test(`${what}: ${status} ${code}`, async () => {
      const response = await forNothing(() => paid.ask(asked));
      expect(response.status).toBe(status);
      expect((await answerOf(response)).error.code).toBe(code);
      expect(response.headers.get('payment-required')).toBeNull();
    });
  }
});

describe('at the door', () => {
  test('a body without a key that is too large is refused before it is parsed', async () => {
    const large = `{"not JSON`.padEnd(300_000, 'x');
    const post = (init: RequestInit) =>
      fetch(`${paid.box.url}/v1/chat/completions`, {
        method: 'POST',
        ...init,
        headers: { 'content-type': 'application/json', ...init.headers },
      });
    expect((await post({ body: large })).status).toBe(413);
    // A body of unknown length needs a key.
    const pieces = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(large));
        controller.close();
      },
    });
    expect((await post({ body: pieces })).status).toBe(411);
    // With a key, the server reads the large body, which is not valid JSON.
    expect((await post({ body: large, headers: { authorization: `Bearer ${paid.box.key}` } })).status).toBe(400);
  });

  test('a bad key is refused, whatever payment comes with it', async () => {
    const payer = await paid.payer();
    const header = await paid.sign(payer, (await paid.quote(body)).required);
    const response = await forNothing(() =>
      paid.send(header, body, { headers: { authorization: 'Bearer sb_live_test00000001_wrong' } }),
    );
    expect(response.status).toBe(401);
    expect(response.headers.get('payment-required')).toBeNull();
    expect(await isUsed(payer.address, nonceOf(header))).toBe(false);
  });

  test('too many requests without a key are stopped by their address; requests with a key are not', async () => {
    const { upstream } = paid;
    const few = 'gateway: { retries_max: 0, keyless_per_minute: 30 }\n';
    const strict = await startPaid({ chain, upstream, policy: few });
    try {
      const codes: number[] = [];
      for (let i = 0; i < 40; i++) codes.push((await strict.ask({ ...body, seed: i })).status);
      const stoppedAt = codes.indexOf(429);
      expect(stoppedAt).toBeGreaterThan(0);
      expect(stoppedAt).toBeLessThanOrEqual(30);
      expect(codes.slice(0, stoppedAt).every((code) => code === 402)).toBe(true);
      expect((await strict.box.post('/v1/chat/completions', body)).status).toBe(200);
    } finally {
      await strict.stop();
    }
  });
});
