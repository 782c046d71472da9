import { Database } from 'bun:sqlite';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { PaymentRequired } from '@x402/core/types';
import type { PrivateKeyAccount } from 'viem/accounts';
import { idText } from '../../../../src/core/id.ts';
import { type ClientPayment, type SignOptions, signed } from '../../../payments/model/signed.ts';
import { waitFor } from '../../../support/answers.ts';
import { type FakeUpstream, startFakeUpstream } from '../../../support/fake-upstream.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../../../support/policies.ts';
import { makeTestKey, type Signalbox, startSignalbox, temporaryFolder } from '../../../support/signalbox.ts';
import { startChain, type TestChain } from '../../support/chain/chain.ts';
import { type RpcProxy, startRpcProxy } from '../../support/chain/rpc-proxy.ts';

export interface StandOptions {
  /** The timeout of a transaction, ms. */
  readonly confirmationMs?: number;
  /** Makes the YAML of a remote facilitator. */
  readonly facilitator?: (chain: TestChain) => Promise<string>;
  /** A path appended to the node's address. The address is then in a variable. */
  readonly rpcPath?: string;
  /** Makes the YAML of further networks, for the address of the token. */
  readonly networks?: (token: string) => string;
  /** YAML inside `payments.x402`, each line indented by four spaces. */
  readonly x402?: string;
  /** Other sections. These sections replace a section that admits many requests without a key. */
  readonly more?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** The real server and a real chain, with a proxy between them that a test can stop. */
export interface Stand {
  readonly chain: TestChain;
  readonly proxy: RpcProxy;
  readonly upstream: FakeUpstream;
  readonly box: Signalbox;
  readonly data: string;
  readonly policy: string;
  post(
    path: string,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
    leaveAfterMs?: number,
  ): Promise<Response>;
  /** Posts a chat request with a payment; disconnects after `leaveAfterMs`. */
  send(body: unknown, header: string, leaveAfterMs?: number): Promise<Response>;
  quote(body: unknown, path?: string): Promise<PaymentRequired>;
  sign(account: PrivateKeyAccount, body: unknown, options?: SignOptions): Promise<ClientPayment>;
  pay(account: PrivateKeyAccount, body: unknown): Promise<Response>;
  query<Row>(sql: string, ...params: (string | number)[]): Row[];
  settled(): Promise<void>;
  start(env?: Readonly<Record<string, string>>): Promise<void>;
  stop(): Promise<void>;
}

const MANY = 'gateway: { retries_max: 0, keyless_per_minute: 1000000 }\n';
export const CHAT = '/v1/chat/completions';

export const chatBody = (n: number, more: object = {}) => ({
  model: 'best',
  max_tokens: 20,
  messages: [{ role: 'user', content: `This is request ${n}.` }],
  ...more,
});

export const quoteIn = (response: Response): PaymentRequired =>
  JSON.parse(Buffer.from(response.headers.get('payment-required') ?? '', 'base64').toString()) as PaymentRequired;

/** Starts everything. The server's data survives its restarts. */
export async function startStand(options: StandOptions = {}): Promise<Stand> {
  const chain = await startChain();
  const proxy = await startRpcProxy(chain.url);
  const upstream = startFakeUpstream({ key: UPSTREAM_KEY });
  const data = temporaryFolder();
  const key = makeTestKey();
  const policy = await policyFor(upstream.url, chain, proxy.url, options);
  let box: Signalbox | null = null;
  const url = () => box?.url ?? 'http://127.0.0.1:1';
  const post: Stand['post'] = (path, body, headers = {}, leaveAfterMs = 0) =>
    fetch(url() + path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
      ...(leaveAfterMs > 0 && { signal: AbortSignal.timeout(leaveAfterMs) }),
    });
  const stand: Stand = {
    chain,
    proxy,
    upstream,
    data,
    policy,
    get box() {
      if (!box) throw new Error('it does not run');
      return box;
    },
    post,
    send: (body, header, leaveAfterMs) => post(CHAT, body, { 'payment-signature': header }, leaveAfterMs),
    async quote(body, path = CHAT) {
      const response = await post(path, body);
      const text = await response.text();
      if (response.status !== 402) throw new Error(`no quote: ${response.status} ${text}`);
      return quoteIn(response);
    },
    sign: async (account, body, how) => signed(account, await stand.quote(body), how),
    pay: async (account, body) => stand.send(body, (await stand.sign(account, body)).header),
    query: (sql, ...params) => queried(data, sql, params),
    async settled() {
      const open = "SELECT id FROM payments WHERE state IN ('settling', 'unknown', 'captured')";
      await waitFor(async () => {
        const rows = queried<{ id: number }>(data, open, []);
        // Acts as an operator who does not wait for the reconciler.
        for (const { id } of rows) await stand.box.post(`/admin/payments/${idText('pay_', id)}/reconcile`, undefined);
        return rows.length === 0;
      }, 30_000);
    },
    async start(env = {}) {
      await box?.stop();
      const own = {
        SIGNALBOX_API_KEY: key,
        X402_GAS_KEY: chain.gasKey,
        STAND_RPC: `${proxy.url}${options.rpcPath ?? ''}`,
      };
      const variables = { ...UPSTREAM_ENV, ...own, ...options.env, ...env };
      box = await startSignalbox({ isProcess: 'BUN_OPTIONS' in env, policy, data, env: variables });
      await waitFor(async () => (await post(CHAT, chatBody(0))).status === 402);
    },
    async stop() {
      await box?.stop();
      await Promise.all([upstream.stop(), proxy.stop(), chain.stop()]);
      rmSync(data, { recursive: true, force: true });
    },
  };
  try {
    await stand.start();
  } catch (cause) {
    await stand.stop();
    throw cause;
  }
  return stand;
}

function queried<Row>(data: string, sql: string, params: (string | number)[]): Row[] {
  const db = new Database(join(data, 'signalbox.db'), { readonly: true });
  try {
    return db.query<Row, (string | number)[]>(sql).all(...params);
  } finally {
    db.close();
  }
}

async function policyFor(upstream: string, chain: TestChain, rpc: string, options: StandOptions): Promise<string> {
  const { confirmationMs = 4_000, x402 = '', more = MANY } = options;
  const facilitator =
    (await options.facilitator?.(chain)) ??
    `{ mode: local, private_key_env: X402_GAS_KEY, confirmation_timeout_ms: ${confirmationMs} }`;
  const text = `payments:
  x402:
    enabled: true
    networks:
      - id: eip155:${chain.chainId}
        asset: { address: "${chain.token}", name: USDC, version: "2", decimals: 6 }
        pay_to: "${chain.payTo}"
        ${options.rpcPath ? 'rpc_urls_env: STAND_RPC' : `rpc_urls: ["${rpc}"]`}
        facilitator: ${facilitator}
${options.networks?.(chain.token) ?? ''}${x402}${more}`;
  return testPolicy({ fake: upstream }, { best: { endpoints: ['fake'] } }, text);
}

export interface Failure {
  readonly error: { readonly code: string; readonly details?: Readonly<Record<string, unknown>> };
}

/** Summarizes an error answer. */
export async function shortOf(response: Response) {
  const { error } = (await response.json()) as Failure;
  return {
    status: response.status,
    code: error.code,
    quoted: response.headers.has('payment-required'),
    retry: response.headers.get('x-should-retry'),
    details: error.details,
  };
}
