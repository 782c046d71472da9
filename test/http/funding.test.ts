import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { voucherFunding } from './voucher-funding.ts';
import { as, startWalletApp, type WalletApp } from './wallet-support.ts';

const CHAT = '/v1/chat/completions';
const BODY = { model: 'best', messages: [{ role: 'user', content: 'Hello' }], max_tokens: 20 };
let upstream: FakeUpstream;
let app: WalletApp;
beforeAll(async () => {
  upstream = await startFakeUpstream({ behaviour: { text: 'Good morning.' } });
  app = await startWalletApp({ upstream: upstream.url, fundingOf: voucherFunding });
});
afterAll(async () => {
  await app.stop();
  await upstream.stop();
});

const errorOf = ({ status, headers, body }: Awaited<ReturnType<WalletApp['send']>>) => ({
  status,
  code: body.error.code,
  message: body.error.message,
  voucher: headers.get('x-voucher') ?? headers.get('x-voucher-used'),
});

/** The Credits that are still held after a request has ended. */
const held = async () => (await app.gateway.ledger.status()).held;

test('the error of an unpaid request says how to pay with the active funding, and no provider is called', async () => {
  const asked = upstream.requests.length;
  expect(errorOf(await app.send(CHAT, BODY))).toEqual({
    status: 402,
    code: 'payment_required',
    message: 'Send a voucher.',
    voucher: 'needed',
  });
  expect(upstream.requests.length).toBe(asked);
});

test('a voucher pays for an answer that names the voucher; a repeat with the same voucher gets the same answer and pays nothing', async () => {
  const first = await app.send(CHAT, BODY, { 'x-voucher': 'one' });
  expect([first.status, first.headers.get('x-voucher-used')]).toEqual([200, 'one']);
  const { charged } = await app.gateway.ledger.status();
  expect(charged).toBeGreaterThan(0);
  const asked = upstream.requests.length;
  const again = await app.send(CHAT, BODY, { 'x-voucher': 'one' });
  expect(again.text).toBe(first.text);
  expect([again.headers.get('x-signalbox-replayed'), again.headers.get('x-voucher-used')]).toEqual(['true', 'one']);
  expect(upstream.requests.length).toBe(asked);
  expect((await app.gateway.ledger.status()).charged).toBe(charged);
  expect(await held()).toBe(0);
});

test('an error about its money contains the funding’s text and headers, and the hold is released', async () => {
  upstream.next({ status: 500 });
  const { status, message, voucher } = errorOf(await app.send(CHAT, BODY, { 'x-voucher': 'two' }));
  expect({ status, voucher, isTold: message.endsWith('The voucher is good still.') }).toEqual({
    status: 502,
    voucher: 'two',
    isTold: true,
  });
  expect(await held()).toBe(0);
});

test('a request that is too expensive for its terms gets the error that the funding creates', async () => {
  const long = { ...BODY, messages: [{ role: 'user', content: 'word '.repeat(1_800) }] };
  expect(errorOf(await app.send(CHAT, long, { 'x-voucher': 'three' }))).toEqual({
    status: 402,
    code: 'payment_invalid',
    message: 'A voucher is worth 5 Credits.',
    voucher: 'larger',
  });
  expect(await held()).toBe(0);
});

test('admission follows the funding’s rules: invalid forms, blocked payers, large bodies, and advice for invalid keys', async () => {
  const codes = [
    await app.send(CHAT, BODY, { 'x-coupon': 'none' }),
    await app.send(CHAT, BODY, { 'x-voucher': 'stolen' }),
    await app.send(CHAT, { ...BODY, user: 'x'.repeat(10_000) }, { 'x-voucher': 'four' }),
  ].map(({ body }) => body.error.code);
  expect(codes).toEqual(['invalid_value', 'insufficient_permissions', 'request_too_large']);
  const { message } = errorOf(await app.send(CHAT, BODY, as('sb_live_none')));
  expect(message).toContain('To pay by voucher, omit the header Authorization.');
});

test('keys still pay from their funds', async () => {
  const reply = await app.send(CHAT, BODY, as(app.plain));
  expect([reply.status, reply.headers.get('x-voucher-used')]).toEqual([200, null]);
});
