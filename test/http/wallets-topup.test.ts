import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ANSWERS } from '../support/answer-schemas.ts';
import { signQuote } from '../support/pay.ts';
import { expectForm, expectReply } from './wallet-expect.ts';
import {
  as,
  DOLLAR,
  headerJson,
  KEYS,
  PAY_TO,
  payer,
  requiredIn,
  richWallet,
  startWalletApp,
  TOKEN,
  TOPUP,
  type WalletApp,
} from './wallet-support.ts';

let app: WalletApp;
beforeAll(async () => {
  app = await startWalletApp();
});
afterAll(() => app.stop());

/** The second valid signature of the same key: the curve has two for each message. */
function mirrored(header: string): string {
  const payment = JSON.parse(Buffer.from(header, 'base64').toString());
  const { signature } = payment.payload as { signature: string };
  const [r, s, v] = [signature.slice(2, 66), BigInt(`0x${signature.slice(66, 130)}`), signature.slice(130)];
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
  const other = (order - s).toString(16).padStart(64, '0');
  payment.payload.signature = `0x${r}${other}${v === '1b' ? '1c' : '1b'}`;
  return Buffer.from(JSON.stringify(payment)).toString('base64');
}

describe('POST /v1/wallets/topup', () => {
  test('without a signature returns the terms in the header and in the body, and caches may not store them', async () => {
    const reply = await app.send(TOPUP, DOLLAR);
    await expectReply(reply, 'payment_required');
    const required = requiredIn(reply);
    expect(required.x402Version).toBe(2);
    expect(required.resource.url).toBe(`http://gateway.example${TOPUP}`);
    expect(reply.body.accepts).toEqual(required.accepts);
    // A top-up has no fee: a dollar buys Credits for one dollar.
    expect(required.accepts).toMatchObject([
      { scheme: 'exact', network: 'eip155:84532', amount: '1000000', asset: TOKEN, extra: { paymentFlow: 'upfront' } },
    ]);
    expect(required.accepts[0]!.payTo.toLowerCase()).toBe(PAY_TO);
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(reply.body.error.details.quote).toMatchObject({ price_credits: 1_000 });
  });

  test('with the signature is settled: the whole amount becomes balance, and the first key can spend it', async () => {
    const { wallet, key, reply } = await richWallet(app);
    expectForm(ANSWERS.WalletTopUp, reply.body);
    expect(reply.body).toMatchObject({
      object: 'wallet.topup',
      wallet,
      paid_credits: 1_000,
      balance_credits: 1_000,
      payment: {
        state: 'settled',
        source: 'x402',
        fee_credits: 0,
        balance_added_credits: 1_000,
        paid_atomic: '1000000',
      },
    });
    expect(reply.headers.get('cache-control')).toBe('no-store');
    // The request was counted when the wallet had proved itself.
    expect(reply.headers.get('x-ratelimit-remaining-requests')).toBe('999');
    const id = reply.headers.get('x-payment-id') ?? '';
    expect(reply.body.payment.id).toBe(id);
    expect(headerJson<object>(reply.headers, 'payment-response')).toMatchObject({
      success: true,
      transaction: reply.body.payment.transaction,
      network: 'eip155:84532',
      payer: wallet,
      amount: '1000000',
    });
    const me = await app.get('/v1/wallets/me', key);
    expect(me.status).toBe(200);
    expectForm(ANSWERS.Wallet, me.body);
    expect(me.body).toMatchObject({ wallet, balance_credits: 1_000, held_credits: 0, granted_credits: 1_000 });
    expect(me.body.keys.map((one) => one.id)).toEqual([reply.body.key_id ?? '']);
    expect(me.body.payments.map((one) => [one.id, one.state])).toEqual([[id, 'settled']]);
  });

  test('repeated with the same signature gets the same answer including the key, and pays once', async () => {
    const account = payer();
    const header = { 'payment-signature': await signQuote(account, requiredIn(await app.send(TOPUP, DOLLAR))) };
    const before = app.chain.settled.length;
    const first = await app.send(TOPUP, DOLLAR, header);
    expect(first.status).toBe(201);
    expect(first.headers.get('x-signalbox-replayed')).toBeNull();
    const again = await app.send(TOPUP, DOLLAR, header);
    expect([again.status, again.text]).toEqual([201, first.text]);
    expect(again.headers.get('x-signalbox-replayed')).toBe('true');
    for (const name of ['payment-response', 'x-payment-id', 'cache-control', 'content-type']) {
      expect(again.headers.get(name)).toBe(first.headers.get(name));
    }
    expect(app.chain.settled.length).toBe(before + 1);
    expect((await app.get('/v1/wallets/me', first.body.key)).body.balance_credits).toBe(1_000);
    expect(await app.keys.ofHolder(account.address.toLowerCase())).toHaveLength(1);
  });

  test('sent many times at once with one signature pays once; the other errors say to wait and not to sign again', async () => {
    const account = payer();
    const header = { 'payment-signature': await signQuote(account, requiredIn(await app.send(TOPUP, DOLLAR))) };
    const before = app.chain.settled.length;
    const replies = await Promise.all(Array.from({ length: 8 }, () => app.send(TOPUP, DOLLAR, header)));
    const keys = new Set(replies.filter(({ status }) => status === 201).map(({ body }) => body.key));
    expect(keys.size).toBe(1);
    for (const reply of replies.filter(({ status }) => status !== 201)) await expectReply(reply, 'in_flight', false);
    expect(app.chain.settled.length).toBe(before + 1);
  });

  test('of a wallet with a key creates another key only on request; payments add up', async () => {
    const { account, key } = await richWallet(app);
    const second = await app.pay(account, TOPUP, { credits: 2_000 });
    expect(second.body).toMatchObject({ key: null, key_id: null, paid_credits: 2_000, balance_credits: 3_000 });
    const third = await app.pay(account, TOPUP, { usd: 1, new_key: true, name: 'third' });
    expect(third.body.key).toStartWith('sb_live_');
    const me = await app.get('/v1/wallets/me', key);
    expect(me.body).toMatchObject({ balance_credits: 4_000, granted_credits: 4_000 });
    expect(me.body.keys.map(({ name }) => name).sort()).toEqual(['', 'third']);
    expect(me.body.payments).toHaveLength(3);
  });

  test('with another body than the signed one, or for another purpose, gets a new quote and moves no money', async () => {
    const account = payer();
    const header = { 'payment-signature': await signQuote(account, requiredIn(await app.send(TOPUP, DOLLAR))) };
    const before = app.chain.settled.length;
    for (const [path, body] of [
      [TOPUP, { usd: 2 }],
      [TOPUP, { usd: 1, new_key: true }],
    ] as const) {
      const reply = await app.send(path, body, header);
      await expectReply(reply, 'payment_invalid');
      expect(requiredIn(reply).accepts[0]!.amount).toBe(body.usd === 2 ? '2000000' : '1000000');
    }
    const other = await app.send(KEYS, DOLLAR, header);
    expect(other.status).toBe(400);
    expect((await app.send(KEYS, {}, header)).body.error.code).toBe('payment_invalid');
    expect(app.chain.settled.length).toBe(before);
    expect((await app.send(TOPUP, DOLLAR, header)).status).toBe(201);
  });

  test('that the chain refuses gets a new quote; nothing is booked, and no key is created', async () => {
    const account = payer();
    app.chain.verification = { valid: false, reason: 'insufficient_funds' };
    try {
      const reply = await app.pay(account, TOPUP, DOLLAR);
      await expectReply(reply, 'payment_invalid');
      expect(reply.body.error.details.reason).toBe('insufficient_funds');
      expect(requiredIn(reply).accepts[0]!.amount).toBe('1000000');
    } finally {
      app.chain.verification = { valid: true };
    }
    expect(await app.keys.ofHolder(account.address.toLowerCase())).toHaveLength(0);
    expect((await app.get(`/admin/wallets/${account.address}`)).status).toBe(404);
  });

  test('with an unknown outcome is never requested again, and is credited in full when the chain has answered', async () => {
    const account = payer();
    const wallet = account.address.toLowerCase();
    const header = { 'payment-signature': await signQuote(account, requiredIn(await app.send(TOPUP, DOLLAR))) };
    app.chain.settlement = () => ({ state: 'unknown', reason: 'timeout', transaction: null });
    let id = '';
    try {
      const reply = await app.send(TOPUP, DOLLAR, header);
      await expectReply(reply, 'payment_unsettled');
      id = String(reply.body.error.details.payment_id);
      expect(reply.headers.get('x-payment-id')).toBe(id);
      // The caller has signed again by mistake, but the first payment may have arrived.
      const other = await signQuote(account, requiredIn(await app.send(TOPUP, DOLLAR)));
      const before = app.chain.settled.length;
      expect((await app.send(TOPUP, DOLLAR, { 'payment-signature': other })).body.error.code).toBe('payment_unsettled');
      expect(app.chain.settled.length).toBe(before);
    } finally {
      app.chain.settlement = (transaction) => ({ state: 'captured', transaction });
    }
    expect((await app.get(`/v1/payments/${id}`)).body).toMatchObject({ state: 'unknown', balance_added_credits: null });
    app.chain.fate = { state: 'used', transaction: `0x${'7'.repeat(64)}` };
    try {
      const told = await app.send(`/admin/payments/${id}/reconcile`, {}, as(app.admin));
      expect([told.status, told.body.state]).toEqual([200, 'settled']);
      const details = { before: { state: 'unknown' }, after: { state: 'settled' } };
      const [entry] = await app.keys.trail({ keyId: String(id), limit: 1 });
      expect(entry).toMatchObject({ action: 'reconcile', subject: { kind: 'payment' }, details });
    } finally {
      app.chain.fate = { state: 'unused', expired: false };
    }
    const late = await app.send(TOPUP, DOLLAR, header);
    expect(late.status).toBe(201);
    expect(late.body).toMatchObject({ wallet, balance_credits: 1_000 });
    expect(late.body.key).toStartWith('sb_live_');
  });

  test('with an unknown outcome is not requested again from the wallet’s key either', async () => {
    const { account, key } = await richWallet(app);
    app.chain.settlement = () => ({ state: 'unknown', reason: 'timeout', transaction: null });
    try {
      expect((await app.pay(account, TOPUP, { usd: 2 })).body.error.code).toBe('payment_unsettled');
    } finally {
      app.chain.settlement = (transaction) => ({ state: 'captured', transaction });
    }
    await expectReply(await app.send(TOPUP, { usd: 2 }, as(key)), 'payment_unsettled');
    // A top-up with another amount is a new request.
    await expectReply(await app.send(TOPUP, { usd: 3 }, as(key)), 'payment_required');
  });

  test('repeated when its answer is no longer stored creates no other key', async () => {
    const account = payer();
    const body = { usd: 1, new_key: true };
    const header = { 'payment-signature': await signQuote(account, requiredIn(await app.send(TOPUP, body))) };
    const first = await app.send(TOPUP, body, header);
    const before = app.chain.settled.length;
    app.clock.ahead = 25 * 3_600_000;
    try {
      const late = await app.send(TOPUP, body, header);
      expect([late.status, late.body.key, late.body.payment.id]).toEqual([201, null, first.body.payment.id]);
    } finally {
      app.clock.ahead = 0;
    }
    expect(app.chain.settled.length).toBe(before);
    expect(await app.keys.ofHolder(account.address.toLowerCase())).toHaveLength(1);
  });

  test('repeated long after all keys of the wallet were revoked creates no new key', async () => {
    const account = payer();
    const header = { 'payment-signature': await signQuote(account, requiredIn(await app.send(TOPUP, DOLLAR))) };
    expect((await app.send(TOPUP, DOLLAR, header)).body.key).toStartWith('sb_live_');
    await app.keys.revokeOfHolder(account.address.toLowerCase(), null);
    app.clock.ahead = 25 * 3_600_000;
    try {
      const late = await app.send(TOPUP, DOLLAR, header);
      expect([late.status, late.body.key, late.body.balance_credits]).toEqual([201, null, 1_000]);
    } finally {
      app.clock.ahead = 0;
    }
    expect(await app.keys.ofHolder(account.address.toLowerCase())).toEqual([]);
  });

  test('does not give its answer to another signature of the same authorization', async () => {
    const account = payer();
    const header = await signQuote(account, requiredIn(await app.send(TOPUP, DOLLAR)));
    const first = await app.send(TOPUP, DOLLAR, { 'payment-signature': header });
    expect(first.status).toBe(201);
    const other = await app.send(TOPUP, DOLLAR, { 'payment-signature': mirrored(header) });
    expect(other.status).toBeGreaterThanOrEqual(400);
    expect(other.text).not.toContain(first.body.key ?? '');
  });

  test('is quoted with the public name of this gateway from the policy', async () => {
    try {
      await app.use('behind-proxy');
      const { resource } = requiredIn(await app.send(TOPUP, DOLLAR));
      expect(resource.url).toBe(`https://agents.example${TOPUP}`);
    } finally {
      await app.use('all');
    }
  });

  test('whose key could not be stored has still paid: the same signature gets the key, and pays nothing more', async () => {
    const account = payer();
    const header = { 'payment-signature': await signQuote(account, requiredIn(await app.send(TOPUP, DOLLAR))) };
    const before = app.chain.settled.length;
    app.faults.noKeys = true;
    try {
      const reply = await app.send(TOPUP, DOLLAR, header);
      // A client that retries automatically would sign another payment.
      await expectReply(reply, 'overloaded', false);
      expect(reply.text).not.toContain('disk');
    } finally {
      app.faults.noKeys = false;
    }
    const again = await app.send(TOPUP, DOLLAR, header);
    expect([again.status, again.body.balance_credits]).toEqual([201, 1_000]);
    expect((await app.get('/v1/wallets/me', again.body.key)).status).toBe(200);
    expect(app.chain.settled.length).toBe(before + 1);
  });

  test('is not started while the gateway shuts down', async () => {
    const before = app.chain.settled.length;
    app.faults.draining = true;
    try {
      await expectReply(await app.pay(payer(), TOPUP, DOLLAR), 'overloaded');
    } finally {
      app.faults.draining = false;
    }
    expect(app.chain.settled.length).toBe(before);
  });

  test('accepts only amounts within the policy’s limits, only one of `usd` and `credits`, and only a printable name', async () => {
    const bad: readonly (readonly [object, string, string | null])[] = [
      [{ usd: 0.99 }, 'out_of_range', 'usd'],
      [{ usd: 100.01 }, 'out_of_range', 'usd'],
      [{ credits: 100_001 }, 'out_of_range', 'credits'],
      [{ credits: 0 }, 'out_of_range', 'credits'],
      [{}, 'missing_field', 'credits'],
      [{ usd: 1, credits: 1_000 }, 'invalid_value', 'credits'],
      [{ usd: 1.000_000_1 }, 'invalid_value', 'usd'],
      [{ usd: '1' }, 'invalid_type', 'usd'],
      [{ usd: 1, name: 'a\nb' }, 'invalid_value', 'name'],
      [{ usd: 1, wallet: 'x' }, 'unknown_field', 'wallet'],
    ];
    for (const [body, code, param] of bad) {
      const reply = await app.send(TOPUP, body);
      expect([body, reply.status, reply.body.error]).toMatchObject([body, 400, { code, param }]);
    }
  });

  test('with an API key and a signature belongs to the wallet, and the key may look up the payment', async () => {
    const account = payer();
    const reply = await app.pay(account, TOPUP, DOLLAR, as(app.plain));
    expect(reply.status).toBe(201);
    const path = `/v1/payments/${reply.headers.get('x-payment-id')}`;
    expect((await app.get(path, app.plain)).status).toBe(200);
    const { key } = await app.keys.create({ name: 'other', scopes: ['chat'] });
    expect((await app.get(path, key)).status).toBe(404);
    // A key of another wallet is not stored with the payment.
    const other = await richWallet(app);
    const beside = await app.pay(account, TOPUP, { usd: 2 }, as(other.key));
    expect(beside.body).toMatchObject({ wallet: account.address.toLowerCase(), balance_credits: 3_000 });
    expect((await app.get(`/v1/payments/${beside.headers.get('x-payment-id')}`, other.key)).status).toBe(404);
  });

  test('of a wallet with 20 keys creates no 21st key: the error comes before any payment', async () => {
    const { account, wallet } = await richWallet(app);
    for (let i = 1; i < 20; i++) await app.keys.createForHolder(wallet, `n${i}`);
    const before = app.chain.settled.length;
    const reply = await app.pay(account, TOPUP, { usd: 1, new_key: true });
    expect([reply.status, reply.body.error.code]).toEqual([400, 'invalid_value']);
    expect(reply.body.error.message).toContain('20');
    expect(app.chain.settled.length).toBe(before);
    const plain = await app.pay(account, TOPUP, DOLLAR);
    expect(plain.body).toMatchObject({ key: null, balance_credits: 2_000 });
  });

  test('is not found while the policy accepts no top-ups, and needs a key while it accepts no payments', async () => {
    try {
      await app.use('no-topups');
      await expectReply(await app.send(TOPUP, DOLLAR), 'not_found');
      await app.use('nothing');
      await expectReply(await app.send(TOPUP, DOLLAR), 'invalid_api_key');
      await expectReply(await app.send(TOPUP, DOLLAR, as(app.plain)), 'not_found');
      await expectReply(await app.send(KEYS, {}, as(app.plain)), 'not_found');
      await expectReply(await app.get('/.well-known/x402', null), 'not_found');
    } finally {
      await app.use('all');
    }
  });

  test('accepts only a small body, even if its length is not announced', async () => {
    const body = JSON.stringify({ ...DOLLAR, name: 'a'.repeat(300_000) });
    for (const [key, code] of [
      [null, 'request_too_large'],
      [app.plain, 'request_too_large'],
    ] as const) {
      const sent = new Request(`http://gateway.example${TOPUP}`, {
        method: 'POST',
        body: new Blob([body]).stream(),
        headers: { 'content-type': 'application/json', ...(key && as(key)) },
      });
      expect((await app.ask(sent)).body.error.code).toBe(code);
    }
  });

  test('with an invalid signature header gets an error that says what is wrong', async () => {
    for (const header of ['garbage!', 'e30=', Buffer.from('{"x402Version":1}').toString('base64')]) {
      const reply = await app.send(TOPUP, DOLLAR, { 'payment-signature': header });
      expect(reply.status).toBe(400);
    }
  });
});
