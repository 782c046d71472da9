import { describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { answerOf, eventsOf, waitFor } from '../../support/answers.ts';
import { temporaryFolder } from '../../support/signalbox.ts';
import { amountOf, MICROCREDITS_PER_UNIT, startPaid, tampered, usePaid } from '../support/paying.ts';

/** A signature is a single payment with a single answer, however often and on whatever route it is sent. */

const paid = usePaid();

const hello = [{ role: 'user', content: 'Say hello.' }];
const body = { model: 'best', messages: hello, max_tokens: 100 };
const FORMS = [
  ['one body', { ...body }],
  ['a stream', { ...body, stream: true }],
] as const;

/** Returns an answer without the members that differ for each sending. */
async function saidIn(response: Response, asked: object): Promise<string> {
  if (!('stream' in asked)) return (await answerOf(response)).choices[0]?.message.content ?? '';
  const { chunks, done } = await eventsOf(response);
  expect(done).toBe(true);
  return chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
}

test('a signature receives its answer again even if its last byte counts from 0', async () => {
  const asked = { model: 'best', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 };
  const header = await paid.sign(await paid.payer(), (await paid.quote(asked)).required);
  const first = await paid.send(header, asked);
  expect(first.status).toBe(200);
  await first.text();
  const other = tampered(header, ({ payload }) => {
    payload.signature = String(payload.signature).replace(/1b$/, '00').replace(/1c$/, '01');
  });
  const again = await paid.send(other, asked);
  expect(again.status).toBe(200);
  expect(again.headers.get('x-signalbox-replayed')).toBe('true');
});

describe.each(FORMS)('the same signature, for %s', (_form, asked) => {
  test('ten times at once: one payment, one call, and the others get in_flight', async () => {
    const payer = await paid.payer();
    const { required } = await paid.quote(asked);
    const header = await paid.sign(payer, required);
    const calls = paid.upstream.requests.length;
    const before = await paid.chain.balanceOf(payer.address);
    // The settlement waits for a block, so all other requests come while it runs.
    await paid.chain.automine(false);
    let refused = 0;
    const sending = Array.from({ length: 10 }, async () => {
      const response = await paid.send(header, asked);
      if (response.status === 409) refused++;
      return response;
    });
    await waitFor(() => refused === 9);
    await paid.chain.automine(true);
    await paid.chain.mine();
    const responses = await Promise.all(sending);
    const served = responses.filter(({ status }) => status === 200);
    const waiting = responses.filter(({ status }) => status === 409);
    expect(served.length).toBe(1);
    expect(waiting.length).toBe(9);
    for (const response of waiting) {
      expect((await answerOf(response)).error.code).toBe('in_flight');
      expect(response.headers.get('retry-after')).not.toBeNull();
      expect(response.headers.get('x-should-retry')).toBe('false');
      expect(response.headers.get('payment-required')).toBeNull();
    }
    await saidIn(served[0]!, asked);
    expect(paid.upstream.requests.length).toBe(calls + 1);
    expect(before - (await paid.chain.balanceOf(payer.address))).toBe(amountOf(required));
  });

  test('after success it receives the same answer with the same headers for free', async () => {
    const payer = await paid.payer();
    const { required } = await paid.quote(asked);
    const header = await paid.sign(payer, required);
    paid.upstream.next({ text: 'Hello once.' });
    const first = await paid.send(header, asked);
    const said = await saidIn(first, asked);
    const calls = paid.upstream.requests.length;
    const left = [await paid.chain.balanceOf(payer.address), await paid.balanceOf(payer.address)];
    const again = await paid.send(header, asked);
    expect(again.status).toBe(200);
    expect(again.headers.get('x-signalbox-replayed')).toBe('true');
    for (const name of ['payment-response', 'x-payment-id', 'content-type', 'x-signalbox-decision-id']) {
      expect(again.headers.get(name)).toBe(first.headers.get(name));
    }
    expect(await saidIn(again, asked)).toBe(said);
    expect(said).toBe('Hello once.');
    expect(paid.upstream.requests.length).toBe(calls);
    expect([await paid.chain.balanceOf(payer.address), await paid.balanceOf(payer.address)]).toEqual(left);
  });
});

test('a server repeats a paid answer after a restart; no other server repeats the answer', async () => {
  const data = temporaryFolder();
  const { upstream } = paid;
  const before = await startPaid({ upstream, data });
  const { chain } = before;
  try {
    const payer = await before.payer();
    const header = await before.sign(payer, (await before.quote(body)).required);
    upstream.next({ text: 'Hello once.' });
    expect(await saidIn(await before.send(header, body), body)).toBe('Hello once.');
    const left = await chain.balanceOf(payer.address);
    await before.box.stop();

    const after = await startPaid({ upstream, data, chain, env: { SIGNALBOX_API_KEY: before.box.key } });
    const calls = upstream.requests.length;
    const again = await after.send(header, body);
    expect(again.headers.get('x-signalbox-replayed')).toBe('true');
    expect(await saidIn(again, body)).toBe('Hello once.');
    // A server with another database has not made this quote.
    const elsewhere = await paid.send(header, body);
    expect(elsewhere.status).toBe(402);
    expect((await answerOf(elsewhere)).error.details.reason).toBe('unknown_quote');
    expect(await chain.balanceOf(payer.address)).toBe(left);
    expect(upstream.requests.length).toBe(calls);
    await after.stop();
  } finally {
    await before.stop();
    rmSync(data, { recursive: true, force: true });
  }
});

test('a crash between payment and answer costs the wallet nothing, and the same signature receives its answer', async () => {
  const data = temporaryFolder();
  const before = await startPaid({ isProcess: true, data });
  const { chain, upstream } = before;
  try {
    const payer = await before.payer();
    const { required } = await before.quote(body);
    const header = await before.sign(payer, required);
    upstream.behave({ hang: 'headers' });
    const lost = before.send(header, body).catch(() => null);
    await waitFor(() => upstream.requests.length === 1);
    before.box.signal('SIGKILL');
    await lost;
    upstream.behave({});

    const after = await startPaid({ upstream, data, chain, env: { SIGNALBOX_API_KEY: before.box.key } });
    expect(await after.balanceOf(payer.address)).toBe(Number(amountOf(required)) / 1_000);
    const response = await after.send(header, body);
    expect(response.status).toBe(200);
    expect((await answerOf(response)).platform.payment).toMatchObject({ source: 'wallet_credits' });
    const { findings, deposits, fees, received } = await after.books();
    expect({ findings, fees }).toEqual({ findings: [], fees: 0 });
    expect(received).toBe(amountOf(required));
    expect(deposits).toBe(Number(received) * MICROCREDITS_PER_UNIT);
    await after.stop();
  } finally {
    await before.stop();
    rmSync(data, { recursive: true, force: true });
  }
});

test('with `repeats_in_flight: wait`, a repeated payment with an Idempotency-Key waits, and a repeated payment without a key gets in_flight', async () => {
  const { upstream } = paid;
  const section = 'gateway: { retries_max: 0, keyless_per_minute: 1000000, repeats_in_flight: wait }\n';
  const waiting = await startPaid({ upstream, policy: section });
  try {
    const payer = await waiting.payer();
    for (const [headers, status] of [
      [{ 'idempotency-key': 'task-1' }, 200],
      [{}, 409],
    ] as const) {
      const signed = await waiting.sign(payer, (await waiting.quote(body, { headers })).required);
      const calls = upstream.requests.length;
      upstream.next({ text: 'Hello once.', headersAfterMs: 600 });
      const first = waiting.send(signed, body, { headers });
      await waitFor(() => upstream.requests.length === calls + 1);
      const repeat = await waiting.send(signed, body, { headers });
      expect(repeat.status).toBe(status);
      const told = await answerOf(repeat);
      expect(await saidIn(await first, body)).toBe('Hello once.');
      if (status === 409) expect(told.error.code).toBe('in_flight');
      else expect(told.choices[0]?.message.content).toBe('Hello once.');
      expect(upstream.requests.length).toBe(calls + 1);
    }
  } finally {
    await waiting.stop();
  }
});

test('an Idempotency-Key belongs to its payment: another signature pays nothing and receives nothing', async () => {
  const payer = await paid.payer();
  const headers = { 'idempotency-key': 'task-1' };
  const first = await paid.sign(payer, (await paid.quote(body, { headers })).required);
  const second = await paid.sign(payer, (await paid.quote(body, { headers })).required);
  paid.upstream.next({ text: 'Hello once.' });
  expect(await saidIn(await paid.send(first, body, { headers }), body)).toBe('Hello once.');
  const left = await paid.chain.balanceOf(payer.address);
  const calls = paid.upstream.requests.length;
  const response = await paid.send(second, body, { headers });
  expect(response.status).toBe(422);
  expect(await paid.chain.balanceOf(payer.address)).toBe(left);
  expect(paid.upstream.requests.length).toBe(calls);
  expect(await saidIn(await paid.send(first, body, { headers }), body)).toBe('Hello once.');
});

test('a payment belongs to the request of its Idempotency-Key: with another key or no key, the payment pays for nothing more', async () => {
  const payer = await paid.payer();
  const asked = { ...body, agent_wallet: payer.address };
  for (const named of [null, 'task-2']) {
    const headers: Record<string, string> = named === null ? {} : { 'idempotency-key': named };
    const signature = await paid.sign(payer, (await paid.quote(asked, { headers })).required);
    expect((await paid.send(signature, asked, { headers })).status).toBe(200);
    const before = { balance: await paid.balanceOf(payer.address), calls: paid.upstream.requests.length };
    for (const other of [{ 'idempotency-key': 'task-3' }, ...(named === null ? [] : [{}])] as Record<
      string,
      string
    >[]) {
      const response = await paid.send(signature, asked, { headers: other });
      expect(response.status).toBe(402);
      expect((await answerOf(response)).error.details).toMatchObject({ reason: 'other_request' });
    }
    expect({ balance: await paid.balanceOf(payer.address), calls: paid.upstream.requests.length }).toEqual(before);
  }
});

test('a top-up with the same signature is booked once, and returns the same key', async () => {
  const payer = await paid.payer();
  const path = '/v1/wallets/topup';
  const header = await paid.sign(payer, (await paid.quote({ usd: 1 }, { path })).required);
  const told = (await (await paid.send(header, { usd: 1 }, { path })).json()) as { key: string };
  expect(told.key).toStartWith('sb_live_');
  const again = await paid.send(header, { usd: 1 }, { path });
  expect(again.status).toBe(201);
  expect(await again.json()).toEqual(told);
  expect(await paid.balanceOf(payer.address)).toBe(1_000);
});

test('after all repeated payments, the books are consistent and agree with the chain', async () => {
  const books = await paid.books();
  expect(books.findings).toEqual([]);
  expect(books.open).toBe(0);
  expect(books.deposits).toBe(Number(books.received) * MICROCREDITS_PER_UNIT);
});
