import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import type { PaymentRequired } from '@x402/core/types';
import type { PrivateKeyAccount } from 'viem/accounts';
import { type ClientPayment, encoded, signed } from '../../payments/model/signed.ts';
import { UPSTREAM_ENV } from '../../support/policies.ts';
import { startSignalbox } from '../../support/signalbox.ts';
import { bookProblems } from '../payments/model/books.ts';
import { CHAT, chatBody, type Stand, shortOf, startStand } from '../payments/model/stand.ts';

/** A client that tries to pay less, to pay with the money of others, or not to pay. */
let stand: Stand;
let mine: PrivateKeyAccount;
let other: PrivateKeyAccount;
let requests = 0;

beforeAll(async () => {
  stand = await startStand();
  mine = await stand.chain.payer(100_000_000n);
  other = await stand.chain.payer(100_000_000n);
});
afterAll(() => stand.stop());

/** After each attack, the books and the chain agree, and nothing is in progress. */
afterEach(async () => {
  await stand.settled();
  expect(await bookProblems(stand)).toEqual([]);
});

interface Seen {
  readonly calls: number;
  readonly upstream: number;
  readonly payments: number;
}

const seen = (): Seen => ({
  calls: stand.proxy.count(),
  upstream: stand.upstream.requests.length,
  payments: stand.query<{ n: number }>('SELECT COUNT(*) AS n FROM payments')[0]!.n,
});

/** Checks that a payment is refused with a new quote before the server calls any node or provider. */
async function expectRefused(send: () => Promise<Response>, ...statuses: number[]): Promise<string> {
  const before = seen();
  const response = await send();
  const { status, code, quoted, details } = await shortOf(response);
  expect(statuses.length > 0 ? statuses : [402]).toContain(status);
  if (status === 402) expect([code, quoted]).toEqual(['payment_invalid', true]);
  expect(seen()).toEqual(before);
  return String(details?.reason ?? code);
}

type Changes = Readonly<Record<string, (offer: PaymentRequired['accepts'][number]) => object>>;

const TAMPERED: Changes = {
  'the scheme': () => ({ scheme: 'upto' }),
  'the network': () => ({ network: 'eip155:8453' }),
  'the amount, lower': () => ({ amount: '1' }),
  'the amount, zero': () => ({ amount: '0' }),
  'the amount, as another text of the same number': ({ amount }) => ({ amount: `0${amount}` }),
  'the asset': () => ({ asset: `0x${'1'.repeat(40)}` }),
  'the asset, in lower case': ({ asset }) => ({ asset: asset.toLowerCase() }),
  'the payee': () => ({ payTo: mine.address }),
  'the time': () => ({ maxTimeoutSeconds: 86_400 }),
  'the time, as a text': ({ maxTimeoutSeconds }) => ({ maxTimeoutSeconds: `${maxTimeoutSeconds}` }),
  'a member more': () => ({ discount: '1' }),
  'the name': ({ extra }) => ({ extra: { ...extra, name: 'USD Coin' } }),
  'the version': ({ extra }) => ({ extra: { ...extra, version: '1' } }),
  'the flow': ({ extra }) => ({ extra: { ...extra, paymentFlow: 'authorization' } }),
  'the quote’s ID': ({ extra }) => ({ extra: { ...extra, quote_id: 'quo_00000000000' } }),
  'the hash of the request': ({ extra }) => ({ extra: { ...extra, request_hash: '0'.repeat(64) } }),
  'the time of its end': ({ extra }) => ({ extra: { ...extra, expires_at: '2099-01-01T00:00:00.000Z' } }),
  'no terms': ({ extra }) => ({ extra: { ...extra, terms: undefined } }),
  'terms without a seal': ({ extra }) => ({ extra: { ...extra, terms: String(extra?.terms).split('.')[0] } }),
  'other terms under the seal': ({ extra }) => ({ extra: { ...extra, terms: reworded(String(extra?.terms)) } }),
  'a member more in extra': ({ extra }) => ({ extra: { ...extra, more: true } }),
  'extra of another kind': () => ({ extra: [] }),
  'a prototype': ({ extra }) => ({ extra: { ...extra, ['__proto__']: { x: 1 } } }),
};

/** Returns the same terms with all prices set to zero. */
function reworded(terms: string): string {
  const [body = '', seal = ''] = terms.split('.');
  const inner = JSON.parse(Buffer.from(body, 'base64url').toString()) as object;
  return `${Buffer.from(JSON.stringify({ ...inner, credit: 1_000_000_000, bound: 1 })).toString('base64url')}.${seal}`;
}

test('an offer that was changed anywhere is refused, and neither node nor provider is called', async () => {
  const body = chatBody(++requests);
  const required = await stand.quote(body);
  for (const [what, change] of Object.entries(TAMPERED)) {
    const [offer] = required.accepts;
    const accepts = [{ ...offer!, ...change(offer!) }] as PaymentRequired['accepts'];
    // The client signs the changed offer.
    const paid = await signed(mine, { accepts }).catch(() => null);
    const honest = await signed(mine, required);
    const header = paid?.header ?? encoded({ ...honest.payload, accepted: accepts[0] });
    expect([what, await expectRefused(() => stand.send(body, header), 402, 400)]).toEqual([what, 'unknown_quote']);
  }
});

const AUTHORIZED: Readonly<Record<string, (paid: ClientPayment) => object>> = {
  'another payee': () => ({ to: other.address }),
  'a smaller amount': () => ({ value: '1' }),
  'a greater amount': () => ({ value: '99999999' }),
  'a huge amount': () => ({ value: '9'.repeat(79) }),
  'a negative amount': () => ({ value: '-1' }),
  'an amount with a point': () => ({ value: '1.5' }),
  'an amount in hexadecimal': () => ({ value: '0x10' }),
  'no amount': () => ({ value: '' }),
  'an amount that is a number': () => ({ value: 1_000 }),
  'a nonce that is too short': () => ({ nonce: '0x12' }),
  'a nonce that is too long': () => ({ nonce: `0x${'1'.repeat(66)}` }),
  'a nonce that is none': () => ({ nonce: `0x${'z'.repeat(64)}` }),
  'an end in the far future': () => ({ validBefore: '99999999999' }),
  'an end that no number holds': () => ({ validBefore: '9'.repeat(70) }),
  'a beginning in the future': () => ({ validAfter: String(Math.floor(Date.now() / 1_000) + 3_600) }),
  'another payer': () => ({ from: other.address }),
  'a payer that is none': () => ({ from: '0x' }),
};

test('an authorization of anything but the offer is refused, whether it is signed or changed after the signature', async () => {
  const body = chatBody(++requests);
  const required = await stand.quote(body);
  const honest = await signed(mine, required);
  for (const change of Object.values(AUTHORIZED)) {
    const changes = change(honest);
    const { signature, authorization } = honest.payload.payload;
    const behind = { ...honest.payload, payload: { signature, authorization: { ...authorization, ...changes } } };
    await expectRefused(() => stand.send(body, encoded(behind)), 402, 400);
    // Authorizations that cannot be signed are sent unsigned.
    const meant = await signed(mine, required, { authorize: changes }).catch(() => null);
    if (meant) await expectRefused(() => stand.send(body, meant.header), 402, 400);
  }
  const late = await signed(mine, required, { seconds: 3 });
  await expectRefused(() => stand.send(body, late.header));
});

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;

/** Returns texts that some programs would take for the same signature. */
function lookalikes(signature: string): Readonly<Record<string, string>> {
  const [r, s, v] = [signature.slice(2, 66), signature.slice(66, 130), Number.parseInt(signature.slice(130), 16)];
  const high = (ORDER - BigInt(`0x${s}`)).toString(16).padStart(64, '0');
  const byte = (value: number) => value.toString(16).padStart(2, '0');
  const compact = (BigInt(`0x${s}`) | (BigInt(v - 27) << 255n)).toString(16).padStart(64, '0');
  return {
    'with s on the upper half': `0x${r}${high}${byte(v === 27 ? 28 : 27)}`,
    'with v 0 or 1': `0x${r}${s}${byte(v - 27)}`,
    'with the other v': `0x${r}${s}${byte(v === 27 ? 28 : 27)}`,
    'in 64 bytes': `0x${r}${compact}`,
    'in capitals': `0x${signature.slice(2).toUpperCase()}`,
    'with a byte more': `${signature}00`,
    'of zeros': `0x${'0'.repeat(130)}`,
    'of a smart wallet': `0x${'6492'.repeat(16)}${signature.slice(2)}`,
    empty: '0x',
  };
}

test('of all forms of one signature, the server accepts at most one, and debits once', async () => {
  const body = chatBody(++requests);
  const paid = await stand.sign(mine, body);
  const { signature, authorization } = paid.payload.payload;
  const before = { calls: stand.upstream.requests.length, balance: await stand.chain.balanceOf(mine.address) };
  const headers = Object.values(lookalikes(signature)).map((text) =>
    encoded({ ...paid.payload, payload: { signature: text, authorization } }),
  );
  const answers = await Promise.all([...headers, paid.header, paid.header].map((header) => stand.send(body, header)));
  const told = await Promise.all(answers.map(async (answer) => [answer.status, await answer.text()] as const));
  for (const [status, text] of told) expect([200, 402, 409, 503], text).toContain(status);
  // The form that came first may have used up the nonce. A paid request is answered, or its payment is balance.
  await stand.settled();
  const debit = before.balance - (await stand.chain.balanceOf(mine.address));
  expect([0n, BigInt(paid.payload.accepted.amount)]).toContain(debit);
  expect(stand.upstream.requests.length - before.calls).toBeLessThanOrEqual(1);
});

test('a quote for a wallet is useless for another wallet, and for a request in the name of another', async () => {
  const named = chatBody(++requests, { agent_wallet: mine.address });
  const quote = await stand.quote(named);
  const stolen = await signed(other, quote);
  expect(await expectRefused(() => stand.send(named, stolen.header), 403)).toBe('agent_wallet_mismatch');
  const renamed = { ...named, agent_wallet: other.address };
  expect(await expectRefused(() => stand.send(renamed, stolen.header))).toBe('other_request');
  const own = await signed(mine, quote);
  expect(await expectRefused(() => stand.send(renamed, own.header))).toBe('other_request');
  // None of these attempts used up the nonce.
  const answer = await stand.send({ ...named, agent_wallet: mine.address.toLowerCase() }, own.header);
  expect(answer.status).toBe(200);
});

test('a payment for one purpose pays for no other: chat, top-up and keys', async () => {
  const body = chatBody(++requests);
  const topUp = { usd: 1 };
  const forChat = await stand.sign(mine, body);
  const forTopUp = await signed(mine, await stand.quote(topUp, '/v1/wallets/topup'));
  const keys = await stand.quote({}, '/v1/wallets/keys');
  const forKeys = await signed(mine, keys);
  const at = (path: string, what: unknown, { header }: ClientPayment) =>
    stand.post(path, what, { 'payment-signature': header });
  for (const paid of [forTopUp, forKeys]) await expectRefused(() => at(CHAT, body, paid));
  for (const what of [topUp, { usd: 2 }]) {
    for (const paid of [forChat, forKeys]) await expectRefused(() => at('/v1/wallets/topup', what, paid));
  }
  for (const paid of [forChat, forTopUp]) await expectRefused(() => at('/v1/wallets/keys', {}, paid));
  await expectRefused(() => at('/v1/wallets/topup', { usd: 2 }, forTopUp));
  await expectRefused(() => at(CHAT, { ...body, max_tokens: 2_000 }, forChat));
});

test('a quote of another gateway is refused, even with the same policy, chain and payee', async () => {
  const { policy, chain } = stand;
  const elsewhere = await startSignalbox({ policy, env: { ...UPSTREAM_ENV, X402_GAS_KEY: chain.gasKey } });
  const body = chatBody(++requests);
  let paid: ClientPayment;
  try {
    const ask = () => fetch(elsewhere.url + CHAT, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(body) });
    let answer = await ask();
    for (let tries = 0; answer.status !== 402 && tries < 100; tries++, answer = await ask()) await Bun.sleep(50);
    const required = JSON.parse(Buffer.from(answer.headers.get('payment-required')!, 'base64').toString());
    paid = await signed(mine, required as PaymentRequired);
  } finally {
    // Stop the other server, because its calls to the chain would be counted.
    await elsewhere.stop();
  }
  expect(await expectRefused(() => stand.send(body, paid.header))).toBe('unknown_quote');
});
const JSON_TYPE = { 'content-type': 'application/json' };

test('a stream whose caller disconnects at any chunk is charged for what arrived, and the rest becomes balance', async () => {
  const words = ['one ', 'two ', 'three ', 'four ', 'five '];
  stand.upstream.behave({ text: words, betweenChunksMs: 15 });
  const before = await stand.chain.balanceOf(mine.address);
  let paidAtomic = 0n;
  for (let chunks = 0; chunks <= words.length; chunks++) {
    const body = chatBody(++requests, { stream: true, agent_wallet: other.address });
    const paid = await stand.sign(other, body);
    paidAtomic += BigInt(paid.payload.accepted.amount);
    const leaving = new AbortController();
    const response = await fetch(stand.box.url + CHAT, {
      method: 'POST',
      headers: { ...JSON_TYPE, 'payment-signature': paid.header },
      body: JSON.stringify(body),
      signal: leaving.signal,
    });
    expect(response.status).toBe(200);
    const reader = response.body!.getReader();
    for (let i = 0; i < chunks; i++) await reader.read();
    leaving.abort();
    await stand.settled();
  }
  stand.upstream.behave({});
  expect(await stand.chain.balanceOf(mine.address)).toBe(before);
  const rows = stand.query<{ paid: number; charged: number; bound: number }>(
    "SELECT paid, charged, bound FROM payments WHERE payer = ? AND state = 'settled'",
    other.address.toLowerCase(),
  );
  expect(rows.reduce((sum, { paid }) => sum + paid, 0)).toBe(Number(paidAtomic) * 1_000);
  for (const { charged, bound } of rows) expect(charged).toBeLessThanOrEqual(bound);
});
