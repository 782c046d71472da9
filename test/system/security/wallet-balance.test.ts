import { afterAll, beforeAll, expect, test } from 'bun:test';
import { type Paid, startPaid } from '../support/paying.ts';

/** What a caller who knows only its address learns about a wallet's balance, as docs/operate/privacy.md describes it. */
let open: Paid;
let closed: Paid;
beforeAll(async () => {
  open = await startPaid();
  const { upstream, chain } = open;
  closed = await startPaid({ upstream, chain, x402: '    quote: { apply_balance: false }\n' });
});
afterAll(async () => {
  await closed.stop();
  await open.stop();
});

const RICH = `0x${'a1'.repeat(20)}`;
const POOR = `0x${'b2'.repeat(20)}`;

/** Returns the answer to a request without a key or a signature, without the members that differ for each quote. */
async function toldOf(at: Paid, wallet: string): Promise<{ readonly text: string; readonly balance: unknown }> {
  const body = { model: 'best', messages: [{ role: 'user', content: 'Say hello.' }], max_tokens: 100 };
  const response = await at.ask({ ...body, agent_wallet: wallet });
  expect(response.status).toBe(402);
  const { error, accepts } = (await response.json()) as {
    error: { message: string; details?: Record<string, unknown> };
    accepts: { amount: string }[];
  };
  const { balance_credits: balance, bound_credits: bound } = error.details ?? {};
  return { text: JSON.stringify([error.message, bound, balance, accepts.map(({ amount }) => amount)]), balance };
}

test('the quote of a named wallet reveals its balance only up to the price, and nothing if `apply_balance` is off', async () => {
  for (const at of [open, closed]) {
    const credited = await at.box.post(`/admin/wallets/${RICH}/credit`, { credits: 0.01, note: 'a gift' });
    expect(credited.status).toBe(200);
  }
  expect((await toldOf(open, RICH)).balance).toBe(0.01);
  expect((await toldOf(open, POOR)).balance).toBe(0);
  expect(await toldOf(closed, RICH)).toEqual(await toldOf(closed, POOR));
});
