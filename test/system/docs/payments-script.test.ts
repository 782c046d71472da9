import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Hex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { deeply } from '../../deep/deeply.ts';
import { rehearsed } from '../../policy/rehearsal.ts';
import { waitFor } from '../../support/answers.ts';
import { testPolicy } from '../../support/policies.ts';
import { runToEnd } from '../../support/signalbox.ts';
import { startChain, type TestChain } from '../support/chain/chain.ts';
import { type FacilitatorServer, startFacilitatorServer } from '../support/chain/facilitator-server.ts';
import { type Paid, startPaid } from '../support/paying.ts';

/** The programs for agents are run as they are printed; the policies for operators are loaded; each failure has its tests. */
const ROOT = join(import.meta.dir, '../../..');
const AGENTS = readFileSync(join(ROOT, 'docs/spend/payments.md'), 'utf8');
const OPERATORS = readFileSync(join(ROOT, 'docs/spend/accepting-payments.md'), 'utf8');
const programs = [...AGENTS.matchAll(/^```ts run\n([\s\S]*?)^```$/gm)].map(([, text = '']) => text);
const policies = [...OPERATORS.matchAll(/^```yaml policy(?: mainnet)?\n([\s\S]*?)^```$/gm)].map(
  ([, text = '']) => text,
);

describe('the programs of docs/spend/payments.md', () => {
  let chain: TestChain;
  let service: FacilitatorServer;
  let paid: Paid;

  beforeAll(async () => {
    chain = await startChain();
    service = await startFacilitatorServer(chain);
    paid = await startPaid({ chain, facilitator: `{ mode: http, url: "${service.url}", timeout_ms: 2000 }` });
    paid.upstream.behave({ text: ['Hello', ' from', ' a', ' wallet.'] });
  }, 60_000);
  afterAll(async () => {
    await paid.stop();
    await service.stop();
    await chain.stop();
  });

  /** Runs one with a new wallet that has so many atomic units. */
  async function run(
    at: number,
    atomic = 1_000_000n,
  ): Promise<{ code: number; out: string; err: string; address: string }> {
    const key = generatePrivateKey();
    const { address } = privateKeyToAccount(key);
    await chain.transfer(await chain.payer(atomic), address, atomic);
    const file = join(ROOT, 'node_modules', `.payments-${process.pid}-${at}.ts`);
    writeFileSync(file, programs[at] ?? '');
    const env: Record<string, string> & { WALLET_KEY: Hex } = {
      SIGNALBOX_URL: paid.box.url,
      WALLET_KEY: key,
      PAY_IN: chain.token,
    };
    try {
      return { ...(await runToEnd(['bun', file], env)), address };
    } finally {
      rmSync(file);
    }
  }

  const verifications = () => service.requests.filter(({ path }) => path === '/verify').length;

  test('are two, and the first has less than 30 lines', () => {
    expect(programs.length).toBe(2);
    expect(programs[0]?.trimEnd().split('\n').length).toBeLessThan(30);
  });

  test('pay for a streamed answer and print it', async () => {
    const { code, out, err, address } = await run(0);
    expect({ code, out, err }).toEqual({ code: 0, out: 'Hello from a wallet.', err: '' });
    expect(await chain.balanceOf(address)).toBeLessThan(1_000_000n);
  }, 30_000);

  test('say what is wrong where nothing is had, and end', async () => {
    for (const at of [0, 1]) {
      const { code, out, err } = await run(at, 1n);
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toContain('invalid_exact_evm_insufficient_balance');
    }
  }, 30_000);

  test('get the answer though the payment could not be settled at first', async () => {
    service.fail('status', '/verify');
    const before = verifications();
    const running = run(1);
    await waitFor(() => verifications() > before, 20_000);
    service.fail(null);
    const { code, out } = await running;
    expect({ code, out }).toEqual({ code: 0, out: 'Hello from a wallet.\n' });
  }, 30_000);

  deeply(
    'get the answer though it was not known whether they had paid, and pay once',
    async () => {
      service.fail('statusAfter', '/settle');
      const running = run(1);
      await waitFor(() => paid.payments().unknown === 1, 20_000);
      service.fail(null);
      const { code, out, err, address } = await running;
      expect({ code, out, err }).toEqual({ code: 0, out: 'Hello from a wallet.\n', err: '' });
      const { payments } = (await (await paid.box.get(`/admin/wallets/${address}`)).json()) as {
        payments: { amount_atomic: string }[];
      };
      expect(payments.length).toBe(1);
      expect(await chain.balanceOf(address)).toBe(1_000_000n - BigInt(payments[0]?.amount_atomic ?? 0));
    },
    60_000,
  );
});

test('the policies of docs/spend/accepting-payments.md are right, each for itself', () => {
  expect(policies.length).toBe(2);
  // Of the second, nobody's address can be pasted.
  expect(policies[1]).toContain('pay_to: "0x…"');
  for (const printed of policies) {
    const text = printed.replace('"0x…"', `"0x${'52'.repeat(20)}"`);
    const policy = testPolicy({ fake: 'http://127.0.0.1:1/v1' }, { best: { endpoints: ['fake'] } });
    const files = [
      { path: 'policy.yaml', text: policy },
      { path: 'payments.yaml', text },
    ];
    expect(rehearsed(files, () => 'set-for-the-test')).toBe('');
  }
});

test('docs/spend/payments.md names every reason for which a payment is refused', () => {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' }).filter((path) =>
    /^(payments|gateway\/x402)\/.*\.ts$/.test(path),
  );
  const reasons = sources.flatMap((path) =>
    [
      ...readFileSync(join(ROOT, 'src', path), 'utf8').matchAll(
        /\bPaymentRefused\(\s*'([a-z_]+)'|\breason: '([a-z_]+)' \}/g,
      ),
    ].map(([, refused, detail]) => refused ?? detail ?? ''),
  );
  expect(reasons.length).toBeGreaterThan(10);
  expect([...new Set(reasons)].filter((reason) => !AGENTS.includes(`\`${reason}\``))).toEqual([]);
});

/** The lines of the table of failures, as they begin, with the tests that show each on a chain: a file and words of the name. */
const FAILURES: Readonly<Record<string, readonly (readonly [file: string, words: string])[]>> = {
  'a wrong request, a full budget, a blocked wallet, payments off': [
    ['system/e2e/payments-refused', 'a body of another form'],
    ['system/e2e/payments-callers', 'a budget for each caller'],
    ['system/e2e/payments-callers', 'a wallet that is blocked'],
    ['system/e2e/payments-refused', 'is void once payments are turned off'],
  ],
  'a bad signature: expired, changed, of another request or wallet': [
    ['system/e2e/payments-refused', 'that has expired is refused'],
    ['system/e2e/payments-refused', 'over changed terms is refused'],
    ['system/e2e/payments-refused', 'pays for its own request'],
    ['system/e2e/payments-overheard', 'spends no balance, and tells of none'],
    ['system/e2e/payments-refused', 'must be the one that signs'],
    ['system/e2e/payments-refused', 'too short a time'],
  ],
  'a wallet or balance without enough money': [
    ['system/e2e/payments-refused', 'has not enough money'],
    ['system/e2e/payments-streams', 'no upstream is called when it fails'],
    ['system/e2e/payments', 'is used up only once'],
  ],
  'node, facilitator or gas missing before settlement': [
    ['system/e2e/payments-facilitator', 'asked to verify'],
    ['system/e2e/payments-facilitator', 'a service that does not answer'],
    ['system/payments/facilitator-local', 'that cannot pay is reported'],
  ],
  'an unknown outcome': [
    ['system/e2e/payments-facilitator', 'fails after it has debited'],
    ['system/payments/facilitator-faults', 'that is not mined is not known'],
  ],
  'a cancelled authorization': [['system/payments/chain-outcome', 'that the payer cancelled is cancelled']],
  'a provider that fails': [['system/e2e/payments-streams', 'what is not answered is balance']],
  'a provider that breaks off, an agent that leaves': [['system/e2e/payments-streams', 'when the provider breaks off']],
  'a lost answer': [
    ['system/e2e/payments-repeats', 'after success gets the same answer'],
    ['system/e2e/payments-again', 'too large to be kept'],
  ],
  'one signature many times at once': [['system/e2e/payments-repeats', 'ten times at once']],
  'two signatures for one `Idempotency-Key`': [['system/e2e/payments-repeats', 'an Idempotency-Key is bound']],
  'a crash after the payment': [['system/e2e/payments-repeats', 'a crash between payment and answer']],
  'an SDK that repeats by itself': [['system/clients/x402', 'signs no second payment by itself']],
};

describe('the table of failures in docs/spend/accepting-payments.md', () => {
  test('has tests for each line', () => {
    const [, table = ''] = OPERATORS.split('## When something fails');
    const [, , ...lines] = table.split('\n').filter((line) => line.startsWith('|'));
    expect(lines.map((line) => line.split('|')[1]?.trim() ?? '')).toEqual(Object.keys(FAILURES));
  });

  for (const [file, words] of Object.values(FAILURES).flat()) {
    test(`exists: ${words}`, () => {
      expect(readFileSync(join(ROOT, 'test', `${file}.test.ts`), 'utf8')).toContain(words);
    });
  }
});
