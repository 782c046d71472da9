import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { as, payer, startWalletApp, type WalletApp } from './wallet-support.ts';

const CHAT = '/v1/chat/completions';
const bodyOf = (content: string) => ({ model: 'best', messages: [{ role: 'user', content }], max_tokens: 20 });

/** How often the service of the guards was called. */
let calls = 0;
const service = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: () => {
    calls++;
    return new Response(null, { status: 403 });
  },
});
const SERVICE = `guard: webhook, service: { url: "http://127.0.0.1:${service.port}", allow_private_network: true }`;
const GUARDS = `guards:
  - { name: words, guard: words, settings: { deny: [falcon] }, on_match: block }
  - { name: outside, ${SERVICE}, on_match: block }
  - { name: answers, ${SERVICE}, on: [output], on_match: flag }
  - { name: elsewhere, ${SERVICE}, when: request.bytes > 100000, on_match: block }
`;

let upstream: FakeUpstream;
let app: WalletApp;
beforeAll(async () => {
  upstream = await startFakeUpstream();
  app = await startWalletApp({ upstream: upstream.url, more: GUARDS });
});
afterAll(async () => {
  await app.stop();
  await upstream.stop();
  await service.stop(true);
});

test('a quote calls no service and names the guards that apply and did not run; they refuse the paid request', async () => {
  calls = 0;
  const quoted = await app.send(CHAT, bodyOf('Hello.'));
  expect([quoted.status, quoted.body.error.code]).toEqual([402, 'payment_required']);
  expect(quoted.body.error.details.guards_not_run).toEqual(['outside', 'answers']);
  expect(calls).toBe(0);
  const paid = await app.pay(payer(), CHAT, bodyOf('Hello.'));
  expect([paid.status, paid.body.error.code]).toEqual([400, 'content_blocked']);
  expect(calls).toBe(1);
  expect(app.chain.settled).toEqual([]);
  expect(upstream.requests).toEqual([]);
});

test('a quote runs the guards that call no service, and a recommendation names the same guards as a quote', async () => {
  calls = 0;
  const blocked = await app.send(CHAT, bodyOf('A falcon.'));
  expect([blocked.status, blocked.body.error.code]).toEqual([400, 'content_blocked']);
  const advice = await app.send('/v1/route', bodyOf('Hello.'), as(app.plain));
  expect<object>(advice.body).toMatchObject({ guards_not_run: ['outside', 'answers'] });
  expect(calls).toBe(0);
});

test('without guards that call a service, a quote names none', async () => {
  await app.use('no-topups');
  const quoted = await app.send(CHAT, bodyOf('Hello.'));
  expect(quoted.status).toBe(402);
  expect(quoted.body.error.details).not.toHaveProperty('guards_not_run');
  await app.use('all');
});
