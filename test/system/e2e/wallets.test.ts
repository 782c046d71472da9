import { describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { decodePaymentResponseHeader } from '@x402/core/http';
import type { PrivateKeyAccount } from 'viem/accounts';
import { answerOf, waitFor } from '../../support/answers.ts';
import { expectError } from '../../support/error-contract.ts';
import { startSignalbox, temporaryFolder } from '../../support/signalbox.ts';
import { amountOf, MICROCREDITS_PER_UNIT, startPaid, usePaid } from '../support/paying.ts';

/** Payments in advance over HTTP, with the standard client on a real chain. */
const TOPUP = { path: '/v1/wallets/topup' };
const KEYS = { path: '/v1/wallets/keys' };

const paid = usePaid();

interface Told {
  readonly wallet: string;
  readonly key: string;
  readonly balance_credits: number;
  readonly payments: readonly { readonly id: string; readonly state: string }[];
  readonly keys: readonly object[];
}
const told = async (response: Response): Promise<Told> => (await response.json()) as Told;
const as = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const chat = (key: string) =>
  paid.box.post(
    '/v1/chat/completions',
    { model: 'best', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 },
    as(key),
  );

/** Makes a wallet that has paid in one dollar. */
async function toppedUp(): Promise<{ account: PrivateKeyAccount; key: string }> {
  const account = await paid.payer();
  const response = await paid.pay(account, { usd: 1 }, TOPUP);
  expect(response.status).toBe(201);
  return { account, key: (await told(response)).key };
}

describe('a top-up', () => {
  test('moves the quoted amount on the chain, and the wallet’s key spends it without the chain', async () => {
    const account = await paid.payer(1_500_000n);
    const before = await paid.chain.balanceOf(paid.chain.payTo);
    const response = await paid.pay(account, { usd: 1, name: 'agent' }, TOPUP);
    expect(response.status).toBe(201);
    expect(decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')).toMatchObject({
      success: true,
      network: 'eip155:84532',
      amount: '1000000',
      transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    });
    const { key, wallet, balance_credits: balance } = await told(response);
    expect([wallet, balance]).toEqual([account.address.toLowerCase(), 1_000]);
    expect(await paid.chain.balanceOf(account.address)).toBe(500_000n);
    expect(await paid.chain.balanceOf(paid.chain.payTo)).toBe(before + 1_000_000n);

    paid.upstream.behave({ usage: { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 } });
    const answer = await chat(key);
    paid.upstream.behave({});
    expect(answer.status).toBe(200);
    expect(answer.headers.get('payment-response')).toBeNull();
    const { platform } = await answerOf(answer);
    expect(platform.credits_consumed).toBe(0.09);
    expect(platform.payment).toMatchObject({ source: 'wallet_credits', payer: wallet, balance_added_credits: -0.09 });
    const me = await told(await paid.box.get('/v1/wallets/me', as(key)));
    expect(me.balance_credits).toBe(999.91);
    expect(await paid.chain.balanceOf(account.address)).toBe(500_000n);
    const books = await paid.books();
    expect(books.findings).toEqual([]);
    expect(books.deposits).toBe(Number(books.received) * MICROCREDITS_PER_UNIT);
  });

  test('is refused with a new quote if the wallet cannot pay, and nothing moves', async () => {
    const account = await paid.payer(999_999n);
    const { required } = await paid.quote({ usd: 1 }, TOPUP);
    const response = await paid.send(await paid.sign(account, required), { usd: 1 }, TOPUP);
    expect(response.status).toBe(402);
    expect(response.headers.get('payment-required')).not.toBeNull();
    expect(await paid.chain.balanceOf(account.address)).toBe(999_999n);
    expect((await paid.box.get(`/admin/wallets/${account.address}`)).status).toBe(404);
  });

  test('gets 431 if a header is too large', async () => {
    const response = await paid.send('A'.repeat(17_000), { usd: 1 }, TOPUP);
    expect(response.status).toBe(431);
  });
});

describe('keys of a wallet', () => {
  test('a free signature creates a new key after a loss, and revokes the others', async () => {
    const { account, key } = await toppedUp();
    const { required } = await paid.quote({ revoke_others: true }, KEYS);
    expect(amountOf(required)).toBe(0n);
    const before = await paid.chain.balanceOf(account.address);
    const response = await paid.send(await paid.sign(account, required), { revoke_others: true }, KEYS);
    expect(response.status).toBe(201);
    const { key: other } = await told(response);
    expect((await chat(key)).status).toBe(401);
    expect((await chat(other)).status).toBe(200);
    expect(await paid.chain.balanceOf(account.address)).toBe(before);
  });

  test('keys of a wallet spend no more than was paid in, and then the error says how to pay', async () => {
    const { key, account } = await toppedUp();
    await paid.box.post(`/admin/wallets/${account.address}/credit`, { credits: -999.9, note: 'test' });
    const response = await chat(key);
    expect(response.status).toBe(402);
    const error = await expectError(response, 'insufficient_quota');
    expect(error.details.balance).toBe(account.address.toLowerCase());
    expect(response.headers.get('payment-required')).not.toBeNull();
    // A grant to a wallet with no balance left makes it able to spend again.
    await paid.box.post(`/admin/wallets/${account.address}/credit`, { credits: 10 });
    expect((await chat(key)).status).toBe(200);
    expect((await paid.books()).findings).toEqual([]);
  });
});

describe('signalbox wallets', () => {
  const json = async (...args: string[]) => JSON.parse((await paid.box.run('wallets', ...args, '--json')).out);

  test('lists wallets that have paid in, and shows one with its keys and payments', async () => {
    const { account, key } = await toppedUp();
    const wallet = account.address.toLowerCase();
    const credits = { balance_credits: 1_000, held_credits: 0, granted_credits: 1_000 };
    const row = { wallet, ...credits, balance_usd: '1', held_usd: '0', granted_usd: '1', is_blocked: false };
    expect((await json('list')).data).toContainEqual(row);
    const shown = await json('show', account.address);
    expect(shown).toMatchObject({
      ...row,
      keys: [{ id: key.split('_')[2] }],
      payments: [{ state: 'settled', purpose: 'topup', network: 'eip155:84532', paid_credits: 1_000 }],
    });
    const { out } = await paid.box.run('wallets', 'show', account.address);
    expect(out).toContain(shown.payments[0].id);
    expect(out).toMatch(/^balance credits +1,000$/m);
    expect((await paid.box.run('wallets', 'list')).out).toMatch(new RegExp(`^${wallet} +1,000 +0 +1,000 +false$`, 'm'));
    await paid.box.post(`/admin/wallets/${wallet}/block`, { note: 'abuse' });
    const { data } = (await (await paid.box.get(`/admin/trail?key=${wallet}&limit=1`)).json()) as { data: object[] };
    expect(data).toMatchObject([
      { action: 'block', key_id: wallet, details: { note: 'abuse' }, actor: { kind: 'key' } },
    ]);
    expect((await json('show', wallet)).is_blocked).toBe(true);
    expect((await paid.box.run('wallets', 'list')).out).toMatch(new RegExp(`^${wallet} .* true$`, 'm'));
  });

  test('credits a wallet, which a running server sees, with an entry in the audit trail', async () => {
    const { account, key } = await toppedUp();
    const { out, code } = await paid.box.run('wallets', 'credit', account.address, '25.5', '--note', 'goodwill');
    expect([code, out]).toEqual([0, expect.stringMatching(/^granted credits +1,025.5$/m)]);
    await waitFor(
      async () => (await told(await paid.box.get('/v1/wallets/me', as(key)))).balance_credits === 1_025.5,
      4_000,
    );
    const back = await paid.box.run('wallets', 'credit', account.address, '-0.5');
    expect(back.out).toMatch(/^granted credits +1,025$/m);
    expect((await json('show', account.address)).balance_credits).toBe(1_025);
    const trail = await paid.box.run('keys', 'log', '--key', account.address);
    expect(trail.out).toContain('note=goodwill');
    expect((await paid.books()).findings).toEqual([]);
  });

  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [[], /commands of wallets are list, show, block, unblock or credit/],
    [['close', 'x'], /commands of wallets are list, show, block, unblock or credit/],
    [['show'], /wallets show needs an ID/],
    [['block', '0x12'], /0x and 40 hexadecimal digits/],
    [['show', '0x12'], /0x and 40 hexadecimal digits/],
    [['credit', `0x${'1'.repeat(40)}`], /AMOUNT|credits/],
    [['credit', `0x${'1'.repeat(40)}`, '0'], /AMOUNT must not be 0/],
    [
      ['credit', `0x${'1'.repeat(64)}`, '5'],
      /^signalbox: The address of a wallet must be 0x and 40 hexadecimal digits, .*\.$/m,
    ],
    [['credit', `0x${'1'.repeat(40)}`, '5', '--note', 'a\nb'], /one line/],
  ];
  for (const [args, message] of wrong) {
    test(`refuses ${JSON.stringify(args).slice(0, 40)} in one sentence`, async () => {
      const { code, err } = await paid.box.run('wallets', ...args);
      expect(code).toBe(1);
      expect(err).toMatch(message);
    });
  }
});

test('a restart keeps a wallet’s answer, key, balance and block', async () => {
  const data = temporaryFolder();
  const { chain, upstream } = paid;
  const first = await startPaid({ isProcess: true, chain, upstream, data });
  const account = await chain.payer(5_000_000n);
  const { required } = await first.quote({ usd: 2 }, TOPUP);
  const header = await first.sign(account, required);
  const answer = await (await first.send(header, { usd: 2 }, TOPUP)).text();
  const shut = await chain.payer(1n);
  expect((await first.box.post(`/admin/wallets/${shut.address}/block`, { note: 'abuse' })).status).toBe(200);
  first.box.signal('SIGKILL');
  await first.box.exited;

  const second = await startPaid({ chain, upstream, data, env: { SIGNALBOX_API_KEY: first.box.key } });
  try {
    const again = await second.send(header, { usd: 2 }, TOPUP);
    expect([again.status, await again.text()]).toEqual([201, answer]);
    expect(await chain.balanceOf(account.address)).toBe(3_000_000n);
    const { key } = JSON.parse(answer) as Told;
    const me = await told(await second.box.get('/v1/wallets/me', as(key)));
    expect(me).toMatchObject({ balance_credits: 2_000, payments: [{ state: 'settled' }] });
    expect(me.keys).toHaveLength(1);
    const refused = await second.send(await second.sign(shut, required), { usd: 2 }, TOPUP);
    await expectError(refused, 'insufficient_permissions');
  } finally {
    await second.stop();
    await first.stop();
    rmSync(data, { recursive: true, force: true });
  }
});

test('while payments are off, every wallet route requires a key like all other routes', async () => {
  const plain = await startSignalbox();
  try {
    for (const path of [TOPUP.path, KEYS.path, '/v1/chat/completions']) {
      const response = await fetch(plain.url + path, {
        method: 'POST',
        body: '{"usd":1}',
        headers: { 'content-type': 'application/json' },
      });
      await expectError(response, 'invalid_api_key');
    }
    expect((await fetch(`${plain.url}/.well-known/x402`)).status).toBe(404);
    expect((await plain.post(TOPUP.path, { usd: 1 })).status).toBe(404);
    await expectError(await plain.get('/v1/wallets/me'), 'insufficient_permissions');
    expect((await plain.get('/admin/payments')).status).toBe(200);
  } finally {
    await plain.stop();
  }
});
