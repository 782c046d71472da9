import { expect, test } from 'bun:test';
import { decodePaymentSignatureHeader, encodePaymentSignatureHeader } from '@x402/core/http';
import { decodeFunctionData, type Hex, parseAbi } from 'viem';
import { answerOf } from '../../support/answers.ts';
import { type Ask, amountOf, usePaid } from '../support/paying.ts';

/** The members of answers that these tests read. */
interface Told {
  readonly key?: string;
  readonly platform?: { readonly payment: { readonly transaction: string } };
  readonly payment?: { readonly transaction: Hex };
  readonly error?: { readonly code: string; readonly details: Record<string, unknown> };
}

const ABI = parseAbi([
  'function transferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce,uint8 v,bytes32 r,bytes32 s)',
]);
const TOP_UP = { path: '/v1/wallets/topup' };

const paid = usePaid();

const told = async (response: Response): Promise<Told> => (await response.json()) as Told;

/** Reads what everyone can read on the chain about a payment: the authorization and its signature. */
async function overheard(transaction: string) {
  const { input } = await paid.chain.client.getTransaction({ hash: transaction as Hex });
  const { args } = decodeFunctionData({ abi: ABI, data: input });
  const [from, to, value, validAfter, validBefore, nonce, v, r, s] = args;
  const signature: Hex = `0x${r.slice(2)}${s.slice(2)}${v.toString(16).padStart(2, '0')}`;
  const times = { validAfter: String(validAfter), validBefore: String(validBefore) };
  return { signature, authorization: { from, to, value: String(value), ...times, nonce } };
}

/** Makes a payment as an attacker would, who has a quote of their own and only the wallet's data from the chain. */
async function forged(body: object, signed: Awaited<ReturnType<typeof overheard>>, ask: Ask = {}): Promise<string> {
  const { required } = await paid.quote(body, ask);
  expect(amountOf(required)).toBe(BigInt(signed.authorization.value));
  return encodePaymentSignatureHeader({ x402Version: 2, accepted: required.accepts[0]!, payload: signed });
}

test('a signature read from the chain does not create a key of its wallet', async () => {
  const victim = await paid.payer();
  const first = await told(await paid.pay(victim, { usd: 1 }, TOP_UP));
  expect(first.key).toStartWith('sb_live_');

  const header = await forged({ usd: 1 }, await overheard(first.payment!.transaction), TOP_UP);
  const stolen = await paid.send(header, { usd: 1 }, TOP_UP);

  const text = await stolen.text();
  expect(text).not.toContain('sb_live_');
  expect(stolen.status).toBe(402);
  expect((JSON.parse(text) as Told).error?.details.reason).toBe('other_quote');
});

test('a signature read from the chain cannot spend a balance or show it', async () => {
  const victim = await paid.payer();
  expect((await paid.pay(victim, { usd: 1 }, TOP_UP)).status).toBe(201);
  const body = (content: string) => ({ model: 'best', messages: [{ role: 'user', content }], max_tokens: 500 });
  const own = await told(await paid.pay(victim, body('mine')));
  const signed = await overheard(own.platform!.payment.transaction);
  const before = { balance: await paid.balanceOf(victim.address), calls: paid.upstream.requests.length };

  for (const headers of [{}, { 'idempotency-key': 'thief' }] as Record<string, string>[]) {
    const header = await forged(body('ours'), signed, { headers });
    const stolen = await paid.send(header, body('ours'), { headers });
    expect(stolen.status).toBe(402);
    const { error } = await told(stolen);
    expect(error?.details.reason).toBe('other_quote');
    expect(error?.details.balance_credits).toBe(0);
  }
  expect({ balance: await paid.balanceOf(victim.address), calls: paid.upstream.requests.length }).toEqual(before);
});

test('the wallet itself receives its answer again, whatever the order of its quote’s members', async () => {
  const victim = await paid.payer();
  const body = { model: 'best', messages: [{ role: 'user', content: 'again' }], max_tokens: 500 };
  const { required } = await paid.quote(body);
  const header = await paid.sign(victim, required);
  const first = await answerOf(await paid.send(header, body));
  const { accepted, ...rest } = decodePaymentSignatureHeader(header);
  const turned = Object.fromEntries(Object.entries(accepted).reverse()) as typeof accepted;

  const second = await paid.send(encodePaymentSignatureHeader({ ...rest, accepted: turned }), body);

  expect(second.headers.get('x-signalbox-replayed')).toBe('true');
  expect(await answerOf(second)).toEqual(first);
});
