import { describe, expect, test } from 'bun:test';
import { type Answer, answerOf, eventsOf, waitFor } from '../../support/answers.ts';
import type { Behaviour } from '../../support/fake-upstream.ts';
import { amountOf, MICROCREDITS_PER_UNIT, requiredOf, usePaid } from '../support/paying.ts';

/**
 * The order of payment, provider call and answer, and the charge for an answer that breaks off, on a chain that makes a block only when the
 * test says so.
 */

const paid = usePaid();

const hello = [{ role: 'user', content: 'Say hello.' }];
const body = { model: 'best', messages: hello, max_tokens: 100 };
const FORMS = [
  ['one body', { ...body }],
  ['a stream', { ...body, stream: true }],
] as const;

/** Waits until a payment is closed. Returns the payment's last state. */
async function closedPayment(id: string | null): Promise<Record<string, unknown>> {
  return waitFor(async () => {
    const payment = (await (await paid.box.get(`/v1/payments/${id}`)).json()) as Record<string, unknown>;
    return payment.state === 'settled' ? payment : null;
  });
}

/** Checks that the whole payment is balance, because no answer was delivered for it. */
async function allIsBalance(response: Response, wallet: string): Promise<void> {
  const id = response.headers.get('x-payment-id');
  const payment = await closedPayment(id);
  expect(payment).toMatchObject({ state: 'settled', charged_credits: 0, fee_credits: 0 });
  expect(payment.balance_added_credits).toBe(payment.paid_credits as number);
  expect(await paid.balanceOf(wallet)).toBe(payment.paid_credits as number);
}

describe('a payment is settled before its provider is called', () => {
  for (const [form, asked] of FORMS) {
    test(`for ${form}`, async () => {
      const payer = await paid.payer();
      const { required } = await paid.quote(asked);
      const header = await paid.sign(payer, required);
      await paid.chain.automine(false);
      const calls = paid.upstream.requests.length;
      const answer = paid.send(header, asked);
      // The transaction waits for a block.
      await waitFor(async () => (await paid.chain.client.getTxpoolStatus()).pending > 0);
      expect(paid.upstream.requests.length).toBe(calls);
      expect(paid.payments().settling).toBe(1);
      await paid.chain.automine(true);
      await paid.chain.mine();
      const response = await answer;
      expect(response.status).toBe(200);
      await response.text();
      expect(paid.upstream.requests.length).toBe(calls + 1);
    });

    test(`no upstream is called if the settlement fails, for ${form}`, async () => {
      const payer = await paid.payer();
      const { required } = await paid.quote(asked);
      const header = await paid.sign(payer, required);
      await paid.chain.transfer(payer, paid.chain.token, await paid.chain.balanceOf(payer.address));
      const calls = paid.upstream.requests.length;
      const response = await paid.send(header, asked);
      expect(response.status).toBe(402);
      expect((await answerOf(response)).error.code).toBe('payment_invalid');
      expect(amountOf(requiredOf(response))).toBe(amountOf(required));
      expect(paid.upstream.requests.length).toBe(calls);
    });
  }

  test('the agent receives the first words of a stream while the provider still writes', async () => {
    const payer = await paid.payer();
    paid.upstream.behave({ text: ['One', ' two', ' three'], hang: 3 });
    const controller = new AbortController();
    const asked = { ...body, stream: true };
    const response = await paid.pay(payer, asked, { signal: controller.signal });
    expect(response.status).toBe(200);
    const text = await textUntil(response, 'One');
    // The provider never ends, so these words came before its end.
    expect(text).not.toContain('[DONE]');
    controller.abort();
    await closedPayment(response.headers.get('x-payment-id'));
  });
});

/** Reads a stream until it contains a word. */
async function textUntil(response: Response, word: string): Promise<string> {
  const decoder = new TextDecoder();
  // The reader stays open, because closing it would disconnect.
  const reader = response.body!.getReader();
  let text = '';
  while (!text.includes(word)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`the stream ended: ${text}`);
    text += decoder.decode(value, { stream: true });
  }
  return text;
}

describe('a payment without an answer becomes balance of the wallet', () => {
  const FAILURES: Readonly<Record<string, readonly [Behaviour, number, string]>> = {
    'an error of the provider': [{ status: 500, error: 'down' }, 502, 'upstream_failed'],
    'a refusal by the provider': [{ status: 400, error: 'no' }, 400, 'upstream_rejected_request'],
  };
  for (const [what, [behaviour, status, code]] of Object.entries(FAILURES)) {
    for (const [form, asked] of FORMS) {
      test(`${what}, for ${form}`, async () => {
        const payer = await paid.payer();
        paid.upstream.behave(behaviour);
        const response = await paid.pay(payer, asked);
        expect(response.status).toBe(status);
        // A client that repeats the request automatically would sign another payment.
        expect(response.headers.get('x-should-retry')).toBe('false');
        expect(response.headers.get('payment-response')).not.toBeNull();
        const { error } = await answerOf(response);
        expect(error).toMatchObject({
          code,
          details: { payment_id: response.headers.get('x-payment-id') },
        });
        await allIsBalance(response, payer.address);
      });
    }
  }

  test('the same signature then runs its request from the balance', async () => {
    const payer = await paid.payer();
    const { required } = await paid.quote(body);
    const header = await paid.sign(payer, required);
    paid.upstream.behave({ status: 500, error: 'down' });
    expect((await paid.send(header, body)).status).toBe(502);
    const left = await paid.chain.balanceOf(payer.address);
    paid.upstream.behave({});
    const response = await paid.send(header, body);
    expect(response.status).toBe(200);
    expect((await answerOf(response)).platform.payment).toMatchObject({ source: 'wallet_credits' });
    expect(await paid.chain.balanceOf(payer.address)).toBe(left);
  });
});

describe('the words before an answer broke off are charged, and no more', () => {
  test('when the agent disconnects', async () => {
    const payer = await paid.payer();
    paid.upstream.behave({ text: ['One', ' two', ' three', ' four'], hang: 3 });
    const controller = new AbortController();
    const response = await paid.pay(payer, { ...body, stream: true }, { signal: controller.signal });
    await textUntil(response, 'two');
    controller.abort();
    const payment = await closedPayment(response.headers.get('x-payment-id'));
    const charged = payment.charged_credits as number;
    expect(charged).toBeGreaterThan(0);
    // The charge is less than the reserved 100 tokens.
    expect(charged).toBeLessThan(0.4);
    expect(payment.fee_credits).toBe(1);
    expect(payment.balance_added_credits).toBeCloseTo((payment.paid_credits as number) - 1 - charged, 6);
  });

  test('when the provider breaks off before the first word', async () => {
    const payer = await paid.payer();
    paid.upstream.behave({ cutAfter: 0 });
    const response = await paid.pay(payer, { ...body, stream: true });
    expect(response.status).toBe(502);
    expect(response.headers.get('x-should-retry')).toBe('false');
    // The provider has read the prompt and may bill it.
    const payment = await closedPayment(response.headers.get('x-payment-id'));
    expect(payment.charged_credits).toBe(Number(response.headers.get('x-signalbox-credits')));
    // On a slow machine, elapsed time counts as time in which the model wrote; 100 tokens were reserved, for 0.4 Credits.
    expect(payment.charged_credits).toBeLessThan(0.2);
  });

  test('when the provider breaks off', async () => {
    const payer = await paid.payer();
    paid.upstream.behave({ text: ['One', ' two', ' three', ' four'], cutAfter: 3 });
    const response = await paid.pay(payer, { ...body, stream: true });
    expect(response.status).toBe(200);
    const { chunks, done } = await eventsOf(response);
    expect(done).toBe(false);
    const last = chunks.at(-1) as Answer;
    expect(last.error.code).toBe('upstream_failed');
    expect(last.platform.payment).toMatchObject({ source: 'x402', fee_credits: 1 });
    const payment = await closedPayment(response.headers.get('x-payment-id'));
    expect(payment.charged_credits).toBe(last.platform.credits_consumed);
    expect(payment.balance_added_credits).toBe(last.platform.payment?.balance_added_credits as number);
  });
});

test('after all paid streams, the books are consistent and agree with the chain', async () => {
  const books = await paid.books();
  expect(books.findings).toEqual([]);
  expect(books.open).toBe(0);
  expect(books.deposits).toBe(Number(books.received) * MICROCREDITS_PER_UNIT);
});
