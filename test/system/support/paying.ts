import { Database } from 'bun:sqlite';
import { afterEach } from 'bun:test';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { x402Client } from '@x402/core/client';
import {
  decodePaymentRequiredHeader,
  decodePaymentSignatureHeader,
  encodePaymentSignatureHeader,
} from '@x402/core/http';
import type { PaymentPayload, PaymentRequired } from '@x402/core/types';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { wrapFetchWithPayment } from '@x402/fetch';
import type { PrivateKeyAccount } from 'viem/accounts';
import { waitFor } from '../../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../../support/fake-upstream.ts';
import { type ModelOptions, testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../support/policies.ts';
import { runHere } from '../../support/run-here.ts';
import { type Signalbox, type StartOptions, startSignalbox, writePolicy } from '../../support/signalbox.ts';
import { useStarted } from '../../support/use.ts';
import { type ChainOptions, startChain, type TestChain } from './chain/chain.ts';

/** Microcredits in an atomic unit: a Credit is 0.001 USD, and the token has six decimals. */
export const MICROCREDITS_PER_UNIT = 1_000;
/** The fee that a settlement adds by default, atomic units. */
export const FEE = 1_000n;

const MODELS: Readonly<Record<string, ModelOptions>> = {
  best: { endpoints: ['fake'], price: { input: 1, output: 4 }, quality: 0.9 },
  plain: { endpoints: ['fake'], price: { input: 0.1, output: 0.4 }, quality: 0.5 },
};
/** All requests of a test come from one address. */
const GATEWAY = 'gateway: { retries_max: 0, keyless_per_minute: 1000000, failed_auth_per_minute: 1000000 }\n';

export interface PaidOptions extends Pick<ChainOptions, 'blockTimeMs'> {
  /** A chain that `stop` leaves running; a new one by default. */
  readonly chain?: TestChain;
  /** An upstream that `stop` leaves running; a new one by default. */
  readonly upstream?: FakeUpstream;
  /** The adapter of the upstream; `openai-compatible` by default. */
  readonly adapter?: string;
  /** More sections of the policy; a `gateway` section replaces the test's own. */
  readonly policy?: string;
  readonly models?: Readonly<Record<string, ModelOptions>>;
  /** Lines inside `payments.x402`, indented by four spaces, in addition to `enabled` and `networks`. */
  readonly x402?: string;
  /** False: the policy has no payments. */
  readonly takesPayments?: boolean;
  /** A facilitator in place of a local one with the chain's gas key. */
  readonly facilitator?: string;
  /** The address of the chain's node; the chain's own address by default. */
  readonly rpcUrl?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly data?: string;
  readonly args?: StartOptions['args'];
  readonly isProcess?: boolean;
}

/** A quote that a wallet received. */
export interface Quoted {
  readonly response: Response;
  readonly required: PaymentRequired;
}

/** Sums of the journal, in microcredits, with the results of the audit and figures of the chain. */
export interface Books {
  readonly findings: readonly object[];
  /** The number of open holds. */
  readonly open: number;
  readonly deposits: number;
  /** Fees that were kept, less refunds. */
  readonly fees: number;
  readonly charged: number;
  /** Atomic units at the operator's address. */
  readonly received: bigint;
  /** The number of payments in each state. */
  readonly payments: Readonly<Record<string, number>>;
}

export interface Paid {
  readonly box: Signalbox;
  readonly chain: TestChain;
  readonly upstream: FakeUpstream;
  /** The policy of the server at its start. */
  readonly policy: string;
  /** Activates another policy. Throws if the server refuses it. */
  reload(policy: string): Promise<void>;
  /** A wallet with this many new atomic units; by default enough to pay for anything. */
  payer(atomic?: bigint): Promise<PrivateKeyAccount>;
  /** Sends a request, pays the requested amount, and sends it again, as the standard client does. */
  pay(account: PrivateKeyAccount, body: object, init?: Ask): Promise<Response>;
  /** Sends a request without a key. */
  ask(body: object, init?: Ask): Promise<Response>;
  /** Returns the quote for a request. Throws if the answer is anything but a price. */
  quote(body: object, init?: Ask): Promise<Quoted>;
  /** Returns the standard client's value of `PAYMENT-SIGNATURE`. */
  sign(account: PrivateKeyAccount, required: PaymentRequired): Promise<string>;
  /** Sends a request again with a payment. */
  send(header: string, body: object, init?: Ask): Promise<Response>;
  /** Returns the balance of a wallet in Credits, as operators see it. */
  balanceOf(wallet: string): Promise<number>;
  /** Returns the number of stored payments in each state. */
  payments(): Readonly<Record<string, number>>;
  books(): Promise<Books>;
  stop(): Promise<void>;
}

export interface Ask {
  /** `/v1/chat/completions` by default. */
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** The standard client with its defaults, except for the asset, which is the test's own. */
export function stockClient(account: PrivateKeyAccount, asset: string, network = 'eip155:84532' as const): x402Client {
  return new x402Client()
    .register(network, new ExactEvmScheme(account))
    .setSpendControls({ allowedAssets: [{ network, asset }] });
}

/** Returns a `fetch` that pays. */
export const payingFetch = (account: PrivateKeyAccount, { token }: TestChain): typeof fetch =>
  Object.assign(wrapFetchWithPayment(fetch, stockClient(account, token)), { preconnect: fetch.preconnect });

/** Changes what a client would send, as a hostile client does. */
export function tampered(header: string, change: (payload: Mutable) => void): string {
  // Every member may be changed into anything.
  const payload = structuredClone(decodePaymentSignatureHeader(header)) as unknown as Mutable;
  change(payload);
  return encodePaymentSignatureHeader(payload as unknown as PaymentPayload);
}
export interface Mutable {
  x402Version: unknown;
  accepted: Record<string, unknown> & { extra: Record<string, unknown> };
  payload: { signature: unknown; authorization: Record<string, unknown> };
}

export const requiredOf = (response: Response): PaymentRequired =>
  decodePaymentRequiredHeader(response.headers.get('payment-required') ?? '');

/** Returns the amount of the first offer, in atomic units. */
export const amountOf = ({ accepts }: PaymentRequired): bigint => BigInt(accepts[0]?.amount ?? -1);

/** Returns the section `payments` for a chain. */
export function paymentsSection(
  { token, payTo, url, chainId }: TestChain,
  { x402 = '', facilitator, rpcUrl = url }: Pick<PaidOptions, 'x402' | 'facilitator' | 'rpcUrl'> = {},
): string {
  const local = '{ mode: local, private_key_env: TEST_GAS_KEY, confirmation_timeout_ms: 10000 }';
  return `payments:
  x402:
    enabled: true
    networks:
      - id: eip155:${chainId}
        asset: { address: "${token}", name: USDC }
        pay_to: "${payTo}"
        rpc_urls: ["${rpcUrl}"]
        facilitator: ${facilitator ?? local}
${x402}`;
}

/** Options for several servers that take payments on one chain. */
export const paidServers = (chain: TestChain, upstream: Pick<FakeUpstream, 'url'>) => ({
  policy: testPolicy({ fake: upstream.url }, { best: { endpoints: ['fake'] } }, GATEWAY + paymentsSection(chain)),
  env: { ...UPSTREAM_ENV, TEST_GAS_KEY: chain.gasKey },
});

/** Starts a payee for all tests of a file. After each test, the payee's provider and chain return to their usual behaviour. */
export function usePaid(options: PaidOptions = {}): Paid {
  const paid = useStarted(() => startPaid(options));
  afterEach(async () => {
    paid.upstream.behave({});
    await paid.chain.automine(true);
  });
  return paid;
}

/** Starts a chain, a provider, and a server that takes payments on that chain. */
export async function startPaid(options: PaidOptions = {}): Promise<Paid> {
  const {
    policy: more = '',
    models = MODELS,
    takesPayments = true,
    env,
    blockTimeMs,
    data,
    args = [],
    isProcess = false,
    adapter = 'openai-compatible',
  } = options;
  const chain = options.chain ?? (await startChain(blockTimeMs === undefined ? {} : { blockTimeMs }));
  const upstream = options.upstream ?? startFakeUpstream({ key: UPSTREAM_KEY });
  const gateway = /^gateway:/m.test(more) ? '' : GATEWAY;
  const payments = takesPayments ? paymentsSection(chain, options) : '';
  const policy = testPolicy({ fake: { url: upstream.url, adapter } }, models, `${more}\n${gateway}${payments}`);
  const folder = writePolicy(policy);
  const box = await startSignalbox({
    env: { ...UPSTREAM_ENV, TEST_GAS_KEY: chain.gasKey, ...env },
    ...(data !== undefined && { data }),
    args: ['--policies', folder, ...args],
    isProcess,
  });
  if (takesPayments && options.rpcUrl === undefined) await untilReady(box);

  const ask: Paid['ask'] = (body, { path = '/v1/chat/completions', headers, signal } = {}) =>
    fetch(box.url + path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json', ...headers },
      ...(signal && { signal }),
    });
  const sign: Paid['sign'] = async (account, required) =>
    encodePaymentSignatureHeader(await stockClient(account, chain.token).createPaymentPayload(required));
  return {
    box,
    chain,
    upstream,
    policy,
    async reload(next) {
      writeFileSync(join(folder, 'policy.yaml'), next);
      const response = await box.post('/admin/policy/reload', {});
      const { result } = (await response.json()) as { result?: string };
      // The server may have noticed the file before this reload.
      if (result !== 'applied' && result !== 'unchanged') throw new Error(`${response.status}: not applied`);
    },
    payer: (atomic = 10_000_000n) => chain.payer(atomic),
    pay: (account, body, { path = '/v1/chat/completions', headers, signal } = {}) =>
      payingFetch(account, chain)(box.url + path, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
        ...(signal && { signal }),
      }),
    ask,
    async quote(body, init) {
      const response = await ask(body, init);
      if (response.status !== 402) throw new Error(`no price but ${response.status}: ${await response.text()}`);
      return { response, required: requiredOf(response) };
    },
    sign,
    send: (header, body, init = {}) =>
      ask(body, { ...init, headers: { ...init.headers, 'payment-signature': header } }),
    async balanceOf(wallet) {
      const response = await box.get(`/admin/wallets/${wallet}`);
      const { balance_credits } = (await response.json()) as { balance_credits: number };
      return balance_credits;
    },
    payments: () => withDatabase(box, paymentsIn),
    books: () => booksOf(box, chain),
    async stop() {
      await box.stop();
      rmSync(folder, { recursive: true, force: true });
      if (!options.upstream) await upstream.stop();
      if (!options.chain) await chain.stop();
    },
  };
}

/** Waits until the server has checked the chain and takes payments. */
export async function untilReady(box: Signalbox): Promise<void> {
  await waitFor(async () => {
    const terms = (await (await fetch(`${box.url}/.well-known/x402`)).json()) as { networks?: { ready: boolean }[] };
    return terms.networks?.every(({ ready }) => ready);
  }, 15_000);
}

async function booksOf({ data }: Signalbox, chain: TestChain): Promise<Books> {
  const { out, err } = await runHere(['ledger', 'audit', '--json', '--data', data]);
  if (out === '') throw new Error(err);
  const { findings, open } = JSON.parse(out) as Pick<Books, 'findings' | 'open'>;
  const [sums, payments] = withDatabase({ data }, (database): [Counts, Counts] => [
    countsOf(database, 'SELECT kind AS name, sum(amount) AS count FROM journal GROUP BY kind'),
    paymentsIn(database),
  ]);
  const charged = ['post', 'settle', 'expire', 'correct'].reduce((sum, kind) => sum + (sums[kind] ?? 0), 0);
  const { deposit = 0, fee = 0 } = sums;
  const received = await chain.balanceOf(chain.payTo);
  // A kept fee is a negative amount in the journal.
  return { findings, open, deposits: deposit, fees: 0 - fee, charged, received, payments };
}

function withDatabase<T>({ data }: Pick<Signalbox, 'data'>, read: (database: Database) => T): T {
  const database = new Database(join(data, 'signalbox.db'), { readonly: true });
  try {
    return read(database);
  } finally {
    database.close();
  }
}

type Counts = Readonly<Record<string, number>>;

const paymentsIn = (database: Database): Counts =>
  countsOf(database, 'SELECT state AS name, count(*) AS count FROM payments GROUP BY state');

function countsOf(database: Database, sql: string): Counts {
  const rows = database.query<{ name: string; count: number }, []>(sql).all();
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]));
}
