import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ANSWERS } from '../support/answer-schemas.ts';
import { signQuote } from '../support/pay.ts';
import { expectForm, expectReply } from './wallet-expect.ts';
import {
  as,
  DOLLAR,
  KEYS,
  payer,
  requiredIn,
  richWallet,
  startWalletApp,
  TOPUP,
  type WalletApp,
} from './wallet-support.ts';

let app: WalletApp;
beforeAll(async () => {
  app = await startWalletApp();
});
afterAll(() => app.stop());

describe('an operator', () => {
  const admin = (path: string, body: object = {}) => app.send(path, body, as(app.admin));

  test('lists payments by state and wallet in pages, newest first', async () => {
    const { account, wallet } = await richWallet(app);
    for (let i = 0; i < 3; i++) await app.pay(account, TOPUP, DOLLAR);
    const all = await app.get(`/admin/payments?wallet=${account.address}`);
    expectForm(ANSWERS.PaymentList, all.body);
    const ids = all.body.data.map(({ id }) => id);
    expect(ids).toHaveLength(4);
    expect(ids).toEqual([...ids].sort().reverse());
    const first = await app.get(`/admin/payments?wallet=${wallet}&state=settled&limit=3`);
    const rest = await app.get(`/admin/payments?wallet=${wallet}&limit=3&before=${first.body.data.at(-1)?.id}`);
    expect([...first.body.data, ...rest.body.data].map(({ id }) => id)).toEqual(ids);
    expect((await app.get(`/admin/payments?wallet=${wallet}&state=failed`)).body.data).toEqual([]);
    for (const [query, param] of [
      ['state=paid', 'state'],
      ['wallet=0x1', 'wallet'],
      ['limit=0', 'limit'],
      ['limit=1001', 'limit'],
      ['before=dec_00000000000', 'before'],
    ]) {
      const reply = await app.get(`/admin/payments?${query}`);
      expect([reply.status, reply.body.error]).toMatchObject([400, { param }]);
    }
  });

  test('blocks a wallet, so that its keys and signatures get 403 at once, and unblocks it', async () => {
    const { account, wallet, key } = await richWallet(app);
    const header = { 'payment-signature': await signQuote(account, requiredIn(await app.send(TOPUP, DOLLAR))) };
    const proof = { 'payment-signature': await signQuote(account, requiredIn(await app.send(KEYS, {}))) };
    const blocked = await admin(`/admin/wallets/${account.address}/block`, { note: 'abuse' });
    expectForm(ANSWERS.WalletStatus, blocked.body);
    expect(blocked.body).toMatchObject({ wallet, is_blocked: true, balance_credits: 1_000 });
    expect(app.logged.join()).toContain('a wallet was blocked');
    const before = app.chain.settled.length;
    for (const reply of [
      await app.get('/v1/wallets/me', key),
      await app.get('/v1/models', key),
      await app.send(TOPUP, DOLLAR, header),
      await app.send(KEYS, {}, proof),
      await app.send(TOPUP, DOLLAR, { ...header, ...as(app.plain) }),
    ]) {
      await expectReply(reply, 'insufficient_permissions');
      expect(reply.body.error.message).toBe('The operator has blocked this wallet.');
    }
    expect(app.chain.settled.length).toBe(before);
    const open = await admin(`/admin/wallets/${wallet}/unblock`);
    expect(open.body.is_blocked).toBe(false);
    expect((await app.get('/v1/wallets/me', key)).status).toBe(200);
    expect((await app.send(TOPUP, DOLLAR, header)).status).toBe(201);
  });

  test('can block a wallet that it does not know', async () => {
    const address = payer().address;
    await expectReply(await app.get(`/admin/wallets/${address}`), 'not_found');
    expect((await admin(`/admin/wallets/${address}/block`)).body).toMatchObject({ is_blocked: true, keys: [] });
    expect((await app.get(`/admin/wallets/${address}`)).body.is_blocked).toBe(true);
    expect((await admin(`/admin/wallets/${address}/unblock`)).body.is_blocked).toBe(false);
  });

  test('adds Credits to a wallet and removes them, with an entry in the audit trail', async () => {
    const { wallet, key } = await richWallet(app);
    const more = await admin(`/admin/wallets/${wallet}/credit`, { credits: 25, note: 'goodwill' });
    expect([more.status, more.body.balance_credits]).toEqual([200, 1_025]);
    expect((await app.get('/v1/wallets/me', key)).body.balance_credits).toBe(1_025);
    const less = await admin(`/admin/wallets/${wallet}/credit`, { credits: -1_000.5 });
    expect(less.body.balance_credits).toBe(24.5);
    const trail = await app.keys.trail({ keyId: wallet, limit: 10 });
    expect(trail.map(({ action, details, actor }) => [action, details.credits, actor.kind])).toEqual([
      ['grant', -1_000.5, 'key'],
      ['grant', 25, 'key'],
    ]);
    // A wallet without a balance and without a key.
    const fresh = payer();
    expect((await admin(`/admin/wallets/${fresh.address}/credit`, { credits: 3 })).body.balance_credits).toBe(3);
    expect((await app.pay(fresh, KEYS, {})).status).toBe(201);
    for (const body of [{ credits: 0 }, { credits: 1e-7 }, { credits: 1, note: 'a\nb' }, {}, { credits: '1,5' }]) {
      expect((await admin(`/admin/wallets/${wallet}/credit`, body)).status).toBe(400);
    }
  });

  test('finds nothing for an invalid address or an unknown payment', async () => {
    for (const path of ['/admin/wallets/0x12/credit', '/admin/wallets/abc/block']) {
      await expectReply(await admin(path, path.endsWith('credit') ? { credits: 1 } : {}), 'not_found');
    }
    await expectReply(await admin('/admin/payments/pay_00000000000/reconcile'), 'not_found');
    await expectReply(await admin('/admin/payments/x/reconcile'), 'not_found');
  });
});
