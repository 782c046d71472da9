import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { PrivateKeyAccount } from 'viem/accounts';
import { randomFrom, seedOf } from '../../deep/effort.ts';
import { encoded, signed } from '../../payments/model/signed.ts';
import { waitFor } from '../../support/answers.ts';
import { UPSTREAM_ENV } from '../../support/policies.ts';
import { residentMiB } from '../../support/process.ts';
import { connect } from '../../support/raw-http.ts';
import { runHere } from '../../support/run-here.ts';
import { startSignalbox, temporaryFolder, writePolicy } from '../../support/signalbox.ts';
import { bookProblems } from '../payments/model/books.ts';
import { CHAT, chatBody, type Failure, type Stand, shortOf, startStand } from '../payments/model/stand.ts';

/** Requests to the routes that need no key. */
let stand: Stand;
let payer: PrivateKeyAccount;
let requests = 0;

beforeAll(async () => {
  stand = await startStand();
  payer = await stand.chain.payer(1_000_000_000n);
});
afterAll(() => stand.stop());

const JSON_TYPE = { 'content-type': 'application/json' };

/** Sends a request with exactly these bytes. */
async function raw(body: object, ...lines: readonly string[]) {
  const text = JSON.stringify(body);
  const head = ['host: localhost', 'content-type: application/json', `content-length: ${text.length}`, ...lines];
  const connection = await connect(stand.box.url);
  await connection.write(Buffer.from(`POST ${CHAT} HTTP/1.1\r\n${head.join('\r\n')}\r\n\r\n${text}`, 'latin1'));
  const response = await connection.response();
  connection.close();
  return response;
}

test('a header of 17 KB gets 431, and a header that is not a payment gets 400, whatever its bytes', async () => {
  const large = await fetch(stand.box.url + CHAT, {
    method: 'POST',
    headers: { ...JSON_TYPE, 'payment-signature': 'A'.repeat(17_000) },
    body: JSON.stringify(chatBody(++requests)),
  });
  expect(large.status).toBe(431);
  const paid = await stand.sign(payer, chatBody(requests));
  const garbage = [
    'x',
    '%%%%',
    'bm90IGpzb24=',
    encoded(null),
    encoded([]),
    encoded('text'),
    encoded({}),
    encoded({ ...paid.payload, payload: 1 }),
    encoded({ ...paid.payload, accepted: null }),
    encoded({ ...paid.payload, accepted: [paid.payload.accepted] }),
    encoded({ x402Version: 2, accepted: nested(400), payload: {} }),
    paid.header.slice(0, -40),
    `${paid.header}, ${paid.header}`,
    `"${paid.header}"`,
    `Bearer ${paid.header}`,
  ];
  for (const header of garbage) {
    const answer = await stand.send(chatBody(requests), header);
    const { status, code } = await shortOf(answer);
    expect([header.slice(0, 40), status, code]).toEqual([header.slice(0, 40), 400, 'invalid_value']);
  }
  for (const version of [encoded({ ...paid.payload, x402Version: 1 }), encoded({ x402Version: 1, network: 'base' })]) {
    expect(await shortOf(await stand.send(chatBody(requests), version))).toMatchObject({
      status: 400,
      code: 'unsupported_x402_version',
    });
  }
  const older = await stand.post(CHAT, chatBody(requests), { 'x-payment': paid.header });
  expect(await shortOf(older)).toMatchObject({ status: 400, code: 'unsupported_x402_version' });
});

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = { value };
  return value;
}

test('a request with two payments, or with non-ASCII bytes, gets 400 and no payment is taken', async () => {
  const body = chatBody(++requests);
  const first = await stand.sign(payer, body);
  const second = await stand.sign(payer, body);
  const upstream = stand.upstream.requests.length;
  const twice = await raw(body, `PAYMENT-SIGNATURE: ${first.header}`, `payment-signature: ${second.header}`);
  expect(twice.status).toBe(400);
  for (const odd of [`é${first.header}`, `${first.header}ÿ`, '\xf0\x9f\x92\xb8', `${first.header}\t\x7f`]) {
    const answer = await raw(body, `payment-signature: ${odd}`);
    expect([odd.slice(0, 4), answer.status]).toEqual([odd.slice(0, 4), 400]);
  }
  expect(stand.upstream.requests.length).toBe(upstream);
  expect(stand.query("SELECT id FROM payments WHERE state <> 'failed'")).toEqual([]);
});

test('a free signature creates a key only for the wallet that has paid, not for another signer or a wallet without payments', async () => {
  const { chain } = stand;
  const stranger = await chain.payer(1_000_000_000n);
  const prove = async (account: PrivateKeyAccount, body: object, as = account) => {
    const quote = await stand.quote(body, '/v1/wallets/keys');
    expect(quote.accepts.map(({ amount }) => amount)).toEqual(['0']);
    const paid = await signed(as, quote, { authorize: { from: account.address } });
    return stand.post('/v1/wallets/keys', body, { 'payment-signature': paid.header });
  };
  expect((await stand.pay(payer, chatBody(++requests))).status).toBe(200);
  const before = await chain.balanceOf(payer.address);
  const nobody = await prove(stranger, {});
  expect(nobody.status).toBe(403);
  const forged = await prove(payer, {}, stranger);
  expect(await shortOf(forged)).toMatchObject({ status: 402, details: { reason: 'invalid_signature' } });
  expect(stand.query("SELECT id FROM keys WHERE id LIKE '0x%' OR wallet IS NOT NULL").length).toBe(0);
  const good = await prove(payer, {});
  expect(good.status).toBe(201);
  const { key, wallet } = (await good.json()) as { key: string; wallet: string };
  expect(wallet).toBe(payer.address.toLowerCase());
  const me = await fetch(`${stand.box.url}/v1/wallets/me`, { headers: { authorization: `Bearer ${key}` } });
  expect(await me.json()).toMatchObject({ object: 'wallet', wallet: payer.address.toLowerCase() });
  // A leaked key must not create further keys.
  const more = await stand.post('/v1/wallets/keys', {}, { authorization: `Bearer ${key}` });
  expect(more.status).not.toBe(201);
  expect(await chain.balanceOf(payer.address)).toBe(before);
});

test('a wallet’s key never spends more than the wallet has, even with many requests at once', async () => {
  const { chain } = stand;
  const account = await chain.payer(1_000_000_000n);
  const quote = await stand.quote({ credits: 1_000 }, '/v1/wallets/topup');
  const paid = await signed(account, quote);
  const topUp = await stand.post('/v1/wallets/topup', { credits: 1_000 }, { 'payment-signature': paid.header });
  expect(topUp.status).toBe(201);
  const { key } = (await topUp.json()) as { key: string };
  // Each request costs at most 500 Credits and about that much, so two fit.
  const body = chatBody(++requests, { max_tokens: 110 });
  stand.upstream.behave({ usage: { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 } });
  const answers = await Promise.all(
    Array.from({ length: 30 }, () => stand.post(CHAT, body, { authorization: `Bearer ${key}` })),
  );
  stand.upstream.behave({});
  const statuses = answers.map(({ status }) => status);
  expect(new Set(statuses).isSubsetOf(new Set([200, 402, 429, 503]))).toBe(true);
  const [row] = stand.query<{ charged: number }>(
    "SELECT SUM(amount) AS charged FROM entries WHERE key_id = ? AND kind IN ('settle', 'post')",
    account.address.toLowerCase(),
  );
  expect(row!.charged).toBeLessThanOrEqual(1_000_000_000);
  await stand.settled();
  expect(await bookProblems(stand)).toEqual([]);
});

test('a flood of requests for quotes is throttled, writes nothing, and uses no more memory', async () => {
  const { upstream, policy, chain } = stand;
  const throttled = policy.replace('keyless_per_minute: 1000000', 'keyless_per_minute: 200');
  const data = temporaryFolder();
  const box = await startSignalbox({
    isProcess: true,
    policy: throttled,
    data,
    env: { ...UPSTREAM_ENV, X402_GAS_KEY: chain.gasKey },
  });
  try {
    const ask = (n: number) =>
      fetch(box.url + CHAT, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(chatBody(n)) });
    const counts = new Map<number, number>();
    await waitFor(async () => (await ask(requests)).status === 402);
    const tables = tablesOf(data);
    let memory = 0;
    const calls = upstream.requests.length;
    for (let round = 0; round < 20; round++) {
      const answers = await Promise.all(Array.from({ length: 100 }, (_, at) => ask(round * 100 + at)));
      for (const answer of answers) {
        counts.set(answer.status, (counts.get(answer.status) ?? 0) + 1);
        await answer.arrayBuffer();
      }
      // At this point the server has made as many quotes as it ever will.
      if (round === 4) memory = residentMiB(box.pid);
    }
    expect(new Set(counts.keys()).isSubsetOf(new Set([402, 429, 503]))).toBe(true);
    expect(counts.get(402) ?? 0).toBeGreaterThan(100);
    expect(counts.get(402) ?? 0).toBeLessThanOrEqual(300);
    expect(counts.get(429) ?? 0).toBeGreaterThan(1_000);
    expect(upstream.requests.length).toBe(calls);
    expect(tablesOf(data)).toBe(tables);
    // The limit is far below a kilobyte for each request.
    expect(residentMiB(box.pid) - memory).toBeLessThan(60);
  } finally {
    await box.stop();
  }
});

/** Returns the number of rows of each table. */
function tablesOf(data: string): string {
  const db = new Database(`${data}/signalbox.db`, { readonly: true });
  try {
    const names = db.query<{ name: string }, []>("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    const rows = names.map(({ name }) => [
      name,
      db.query<{ n: number }, []>(`SELECT COUNT(*) AS n FROM "${name}"`).get()!.n,
    ]);
    return JSON.stringify(rows);
  } finally {
    db.close();
  }
}

const ANVIL_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';

test('real money needs an explicit setting of the operator, and a publicly known key works only with a chain on this machine', async () => {
  const mainnet = stand.policy.replace('eip155:84532', 'eip155:8453');
  const policies = writePolicy(mainnet);
  const check = await runHere(['policy', 'check', policies], UPSTREAM_ENV);
  expect(check.code).not.toBe(0);
  expect(check.out + check.err).toContain('allow_mainnet');
  const start = (policy: string, key: string) =>
    startSignalbox({ policy, env: { ...UPSTREAM_ENV, X402_GAS_KEY: key } }).then(
      async (box) => {
        await box.stop();
        return 'it started';
      },
      (error: Error) => error.message,
    );
  expect(await start(mainnet, stand.chain.gasKey)).toContain('allow_mainnet');
  const remote = stand.policy.replace(stand.proxy.url, 'https://sepolia.example.org');
  const refused = await start(remote, ANVIL_KEY);
  expect(refused).toStartWith('the server ended');
  expect(refused).not.toContain(ANVIL_KEY.slice(2, 12));
  expect(await start(stand.policy, ANVIL_KEY)).toBe('it started');
  for (const bad of ['', 'secretsecretsecret', `0x${'0'.repeat(64)}`, `${ANVIL_KEY}00`]) {
    const told = await start(stand.policy, bad);
    expect(told).toStartWith('the server ended');
    if (bad !== '') expect(told).not.toContain(bad);
  }
});

test('no charge exceeds its payment, to the last microcredit, at any price and any usage', async () => {
  const { chain } = stand;
  const account = await chain.payer(1_000_000_000n);
  const seed = seedOf('usages that are paid for');
  const random = randomFrom(seed);
  const next = (most: number) => Math.floor(random() * most);
  for (let i = 0; i < 12; i++) {
    const most = 1 + next(40);
    const usage = { prompt_tokens: 1 + next(10), completion_tokens: 1 + next(most) };
    const total_tokens = usage.prompt_tokens + usage.completion_tokens;
    stand.upstream.next({ text: ['word'], usage: { ...usage, total_tokens } });
    const body = chatBody(++requests, { max_tokens: most, stream: next(2) === 0 });
    const paid = await stand.sign(account, body);
    const answer = await stand.send(body, paid.header);
    expect([seed, answer.status, await answer.text()]).toEqual([seed, 200, expect.any(String)]);
    await stand.settled();
    const [row] = stand.query<{ paid: number; fee: number; charged: number; bound: number }>(
      'SELECT paid, fee, charged, bound FROM payments WHERE nonce = ?',
      paid.nonce,
    );
    const cost = usage.prompt_tokens * 1_000 + usage.completion_tokens * 4_000;
    expect([seed, usage, row!.charged]).toEqual([seed, usage, Math.min(cost, row!.bound)]);
    expect(Object.values(row!).every(Number.isSafeInteger)).toBe(true);
    expect(BigInt(row!.paid)).toBe(BigInt(paid.payload.accepted.amount) * 1_000n);
  }
  expect(await bookProblems(stand)).toEqual([]);
});

test('a refusal has the format of every error, plus the members that x402 requires', async () => {
  const answer = await stand.post(CHAT, chatBody(++requests));
  expect(answer.status).toBe(402);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('x-should-retry')).toBe('false');
  const told = (await answer.json()) as Failure & { accepts: unknown; x402Version: number };
  expect(told.x402Version).toBe(2);
  expect(told.error.code).toBe('payment_required');
});
