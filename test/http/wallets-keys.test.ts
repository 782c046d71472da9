import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { parseId } from '../../src/core/id.ts';
import { ANSWERS } from '../support/answer-schemas.ts';
import { signQuote } from '../support/pay.ts';
import { expectForm, expectReply } from './wallet-expect.ts';
import {
  as,
  KEYS,
  PAY_TO,
  payer,
  type Reply,
  requiredIn,
  richWallet,
  startWalletApp,
  type WalletApp,
} from './wallet-support.ts';

let app: WalletApp;
beforeAll(async () => {
  app = await startWalletApp();
});
afterAll(() => app.stop());

describe('POST /v1/wallets/keys', () => {
  test('requests a signature over an amount of 0, and returns a key of the wallet for it, without using the chain', async () => {
    const { account, wallet, key } = await richWallet(app);
    const before = app.chain.settled.length;
    const asked = await app.send(KEYS, { name: 'spare' });
    await expectReply(asked, 'payment_required');
    expect(requiredIn(asked).accepts[0]!.amount).toBe('0');
    const header = { 'payment-signature': await signQuote(account, requiredIn(asked)) };
    const given = await app.send(KEYS, { name: 'spare' }, header);
    expect(given.status).toBe(201);
    expectForm(ANSWERS.WalletKey, given.body);
    expect(given.body).toMatchObject({ object: 'wallet.key', wallet, name: 'spare', revoked: 0 });
    expect((await app.get('/v1/wallets/me', given.body.key)).body.balance_credits).toBe(1_000);
    expect((await app.get('/v1/wallets/me', key)).status).toBe(200);
    const again = await app.send(KEYS, { name: 'spare' }, header);
    expect(again.text).toBe(given.text);
    expect(await app.keys.ofHolder(wallet)).toHaveLength(2);
    expect(app.chain.settled.length).toBe(before);
  });

  test('can revoke all other keys at the same time', async () => {
    const { account, wallet, key } = await richWallet(app);
    const given = await app.pay(account, KEYS, { revoke_others: true });
    expect(given.body).toMatchObject({ revoked: 1 });
    expect((await app.get('/v1/wallets/me', key)).status).toBe(401);
    expect((await app.get('/v1/wallets/me', given.body.key)).status).toBe(200);
    expect((await app.keys.ofHolder(wallet)).map(({ id }) => id)).toEqual([given.body.id]);
  });

  test('does not accept a key of the wallet as a proof, so a leaked key cannot create others', async () => {
    const { key } = await richWallet(app);
    await expectReply(await app.send(KEYS, {}, as(key)), 'payment_required');
  });

  test('refuses a wallet that has never paid, and an expired proof', async () => {
    const stranger = await app.pay(payer(), KEYS, {});
    await expectReply(stranger, 'insufficient_permissions');
    expect(stranger.body.error.message).toContain('never paid');
    const { account } = await richWallet(app);
    const header = { 'payment-signature': await signQuote(account, requiredIn(await app.send(KEYS, {}))) };
    app.clock.ahead = 3_600_000;
    try {
      const late = await app.send(KEYS, {}, header);
      await expectReply(late, 'payment_invalid');
      expect(requiredIn(late).accepts[0]!.amount).toBe('0');
    } finally {
      app.clock.ahead = 0;
    }
  });

  test('refuses an expired authorization as a proof, whatever quote it is combined with', async () => {
    const { account, wallet } = await richWallet(app);
    const now = Math.floor(Date.now() / 1_000);
    for (const validBefore of [0, now - 86_400, now - 1].map(String)) {
      const fresh = requiredIn(await app.send(KEYS, {}));
      const header = await signQuote(account, fresh, { authorization: { validBefore } });
      const late = await app.send(KEYS, {}, { 'payment-signature': header });
      await expectReply(late, 'payment_invalid');
      expect(late.body.error.details.reason).toBe('too_little_time');
    }
    expect(await app.keys.ofHolder(wallet)).toHaveLength(1);
  });
});

describe('the visibility of payments and keys:', () => {
  test('a payment is shown to its payer’s keys and to operators; others get "not found"', async () => {
    const one = await richWallet(app);
    const other = await richWallet(app);
    const id = one.reply.headers.get('x-payment-id') ?? '';
    const own = await app.get(`/v1/payments/${id}`, one.key);
    expect(own.status).toBe(200);
    expectForm(ANSWERS.Payment, own.body);
    expect(own.body).toMatchObject({ object: 'payment', id, state: 'settled', purpose: 'topup', decision_id: null });
    expect((await app.get(`/v1/payments/${id}`)).body).toEqual(own.body);
    const unknown = await app.get('/v1/payments/pay_00000000000', other.key);
    for (const key of [other.key, app.plain]) {
      const reply = await app.get(`/v1/payments/${id}`, key);
      expect([reply.status, reply.body]).toEqual([404, unknown.body]);
    }
    for (const odd of ['x', 'dec_00000000000', id.slice(0, -1)]) {
      expect((await app.get(`/v1/payments/${odd}`, one.key)).status).toBe(404);
    }
    await expectReply(await app.get(`/v1/payments/${id}`, null), 'invalid_api_key');
  });

  test('an ordinary key has no wallet', async () => {
    const reply = await app.get('/v1/wallets/me', app.plain);
    await expectReply(reply, 'insufficient_permissions');
    expect(reply.body.error.message).toContain('/v1/wallets/topup');
  });
});

test('GET /.well-known/x402 shows the payment terms to any caller', async () => {
  const reply = await app.get('/.well-known/x402', null);
  expect(reply.status).toBe(200);
  expectForm(ANSWERS.PaymentTerms, reply.body);
  expect(reply.body).toMatchObject({
    x402Version: 2,
    schemes: ['exact'],
    payment_flow: 'upfront',
    networks: [
      { network: 'eip155:84532', asset: { name: 'USDC', version: '2', decimals: 6 }, pay_to: PAY_TO, ready: true },
    ],
    usd_per_credit: 0.001,
    quote: { ttl_seconds: 120, max_usd: 1, min_charge_usd: 0.001, settle_fee_usd: 0.001 },
    prepaid: { min_usd: 1, max_usd: 100 },
    agent_wallet_required: false,
  });
  try {
    await app.use('no-topups');
    const without = await app.get('/.well-known/x402', null);
    expect(without.body).toMatchObject({ prepaid: null });
    expect(without.text).not.toContain('/v1/wallets/topup');
    await app.use('two-networks');
    const { body } = await app.get('/.well-known/x402', null);
    expect(body).toMatchObject({ networks: [{ network: 'eip155:31337', ready: false }, { ready: true }] });
  } finally {
    await app.use('all');
  }
});

test('only the answer to the creation of a key contains the key, and the log never contains it', async () => {
  const { key, reply } = await richWallet(app);
  const secret = key.split('_').slice(3).join('_');
  expect(secret).toHaveLength(43);
  const seen: Reply[] = [
    await app.get('/v1/wallets/me', key),
    await app.get(`/admin/wallets/${reply.body.wallet}`),
    await app.get('/admin/payments?limit=1000'),
    await app.get('/admin/keys'),
  ];
  for (const one of seen) expect(one.text).not.toContain(secret);
  expect(app.logged.join('\n')).not.toContain(secret);
  expect(parseId('pay_', reply.headers.get('x-payment-id') ?? '')).not.toBeNull();
});
