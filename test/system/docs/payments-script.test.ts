import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
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

/** The test runs the programs for agents as the page prints them, and loads the policies for operators. */
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
  });
  afterAll(async () => {
    await paid.stop();
    await service.stop();
    await chain.stop();
  });

  /** Runs a program with a new wallet that has this many atomic units. */
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

  test('pay for a streamed answer and print it', async () => {
    const { code, out, err, address } = await run(0);
    expect({ code, out, err }).toEqual({ code: 0, out: 'Hello from a wallet.', err: '' });
    expect(await chain.balanceOf(address)).toBeLessThan(1_000_000n);
  });

  test('report the problem if they receive no answer, and end', async () => {
    for (const at of [0, 1]) {
      const { code, out, err } = await run(at, 1n);
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toContain('invalid_exact_evm_insufficient_balance');
    }
  });

  test('receive the answer although the payment could not be settled at first', async () => {
    service.fail('status', '/verify');
    const before = verifications();
    const running = run(1);
    await waitFor(() => verifications() > before, 20_000);
    service.fail(null);
    const { code, out } = await running;
    expect({ code, out }).toEqual({ code: 0, out: 'Hello from a wallet.\n' });
  });

  deeply('get the answer though it was not known whether they had paid, and pay once', async () => {
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
  });
});

test('each policy of docs/spend/accepting-payments.md is valid', async () => {
  expect(policies.length).toBeGreaterThan(1);
  for (const printed of policies) {
    const text = printed.replace('"0x…"', `"0x${'52'.repeat(20)}"`);
    const policy = testPolicy({ fake: 'http://127.0.0.1:1/v1' }, { best: { endpoints: ['fake'] } });
    const files = [
      { path: 'policy.yaml', text: policy },
      { path: 'payments.yaml', text },
    ];
    expect(await rehearsed(files, () => 'set-for-the-test')).toBe('');
  }
});
