import { afterAll, beforeAll, expect, test } from 'bun:test';
import { answerOf, waitFor } from '../../support/answers.ts';
import { type Paid, startPaid } from '../support/paying.ts';

/** A server that is stopped while payments wait for their block. */
let paid: Paid;

beforeAll(async () => {
  paid = await startPaid();
});
afterAll(() => paid.stop());

const body = { model: 'best', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 };

test('a stopping server settles payments in progress and answers their requests like all others', async () => {
  const [asking, saving] = [await paid.payer(), await paid.payer()];
  const path = '/v1/wallets/topup';
  const dollar = { usd: 1 };
  const asked = await paid.sign(asking, (await paid.quote(body)).required);
  const saved = await paid.sign(saving, (await paid.quote(dollar, { path })).required);
  await paid.chain.automine(false);
  const answers = Promise.all([paid.send(asked, body), paid.send(saved, dollar, { path })]);
  await waitFor(async () => (await paid.chain.client.getTxpoolStatus()).pending === 2);
  paid.box.signal('SIGTERM');
  await waitFor(() => paid.box.lines.some((line) => line.includes('"draining"')));
  await paid.chain.automine(true);
  await paid.chain.mine();
  const [answer, topUp] = await answers;
  expect([answer.status, topUp.status]).toEqual([200, 201]);
  expect((await answerOf(answer)).platform.payment).toMatchObject({ source: 'x402', state: 'captured' });
  expect(await paid.box.exited).toBe(0);
  expect(paid.payments()).toEqual({ settled: 2 });
});
