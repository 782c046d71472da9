import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { PaymentRequired } from '@x402/core/types';
import { type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import type { Keys } from '../../src/access/keys.ts';
import { openKeys } from '../../src/access/keys.ts';
import type { FundingSource } from '../../src/gateway/money/funding.ts';
import type { X402Gateway } from '../../src/http/x402/services.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import {
  type AuthorizationOutcome,
  type AuthorizationQuery,
  FacilitatorUnavailable,
  type NetworkClients,
  type SettleResult,
  type Verification,
} from '../../src/payments/facilitator/facilitator.ts';
import { x402Funding } from '../../src/payments/funding/funding.ts';
import type { X402Parts } from '../../src/payments/funding/gateway.ts';
import { openPayments } from '../../src/payments/service.ts';
import { openStore } from '../../src/store/open.ts';
import { StoreError } from '../../src/store/store.ts';
import { waitFor } from '../support/answers.ts';
import { openEdge, runtimeOf } from '../support/edge.ts';
import { overlaid } from '../support/overlaid.ts';
import { signQuote } from '../support/pay.ts';
import { temporaryFolder } from '../support/signalbox.ts';

export const WALLET = '0x4a3b2c1d0e9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b';
export const TOKEN = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
export const PAY_TO = '0x1d2c3b4a5f6e7d8c9b0a1f2e3d4c5b6a7f8e9d0c';

const SECTION = `payments:
  x402:
    enabled: true
    networks:
      - id: eip155:84532
        asset: { address: "${TOKEN}", name: USDC }
        pay_to: "${PAY_TO}"
        rpc_urls: ["http://127.0.0.1:1"]
        facilitator: { mode: local, private_key_env: TEST_GAS_KEY }
`;
/** A network that comes first and has no node that answers. */
const SILENT_ID = 'eip155:31337';
const SILENT = SECTION.slice(SECTION.indexOf('      - id')).replace('eip155:84532', SILENT_ID);
const PROXY = '    public_url: https://agents.example\n';
const PREPAID = '    prepaid: { enabled: true, min_usd: 1, max_usd: 100 }\n';

/** The owner of a new wallet, so that tests do not affect each other. */
export const payer = (): PrivateKeyAccount =>
  privateKeyToAccount(`0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('hex')}`);

/** A fake chain. The chain does what the test decides, and records the calls. */
export class FakeChain {
  verification: Verification = { valid: true };
  settlement: (transaction: string) => SettleResult | Promise<SettleResult> = (transaction) => ({
    state: 'captured',
    transaction,
  });
  fate: AuthorizationOutcome = { state: 'unused', expired: false };
  /** The nonces for which a settlement was requested. */
  readonly settled: string[] = [];
  readonly asked: AuthorizationQuery[] = [];

  network(isSilent = false): NetworkClients {
    return {
      facilitator: {
        verify: async () => this.verification,
        settle: async ({ nonce }) => {
          this.settled.push(nonce);
          return this.settlement(nonce);
        },
        close: () => {},
      },
      chain: {
        check: async () => {
          if (isSilent) throw new FacilitatorUnavailable('nobody answers');
        },
        outcome: async (trace) => {
          this.asked.push(trace);
          return this.fate;
        },
      },
    };
  }
}

/** The JSON of an answer, as far as tests read it. Absent members are undefined at run time. */
export interface Told {
  readonly object: string;
  readonly id: string;
  readonly wallet: string;
  readonly key: string | null;
  readonly key_id: string | null;
  readonly revoked: number;
  readonly state: string;
  readonly paid_credits: number;
  readonly balance_credits: number;
  readonly is_blocked: boolean;
  readonly keys: readonly { readonly id: string; readonly name: string }[];
  readonly payments: readonly Told[];
  readonly data: readonly Told[];
  readonly payment: Readonly<Record<string, unknown>>;
  readonly accepts: PaymentRequired['accepts'];
  readonly error: { readonly code: string; readonly message: string; readonly details: Record<string, unknown> };
}

export interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Told;
}

export const requiredIn = ({ headers }: Pick<Reply, 'headers'>): PaymentRequired =>
  headerJson(headers, 'payment-required');

export function headerJson<T>(headers: Headers, name: string): T {
  return JSON.parse(Buffer.from(headers.get(name) ?? '', 'base64').toString());
}

/** Policies: payments with top-ups; without top-ups; with a second network that does not answer; behind a proxy; no payments. */
type PolicyName = 'all' | 'no-topups' | 'two-networks' | 'behind-proxy' | 'nothing';

export interface WalletApp {
  readonly gateway: X402Gateway;
  readonly keys: Keys;
  readonly chain: FakeChain;
  /** A key with the scope `admin`, and a key without it. */
  readonly admin: string;
  readonly plain: string;
  /** The lines of the log. */
  readonly logged: string[];
  /** How far the wall clock is ahead, ms. */
  readonly clock: { ahead: number };
  /** Simulated faults: a key cannot be written; a shutdown has begun. */
  readonly faults: { noKeys: boolean; draining: boolean };
  /** Activates another policy. */
  use(name: PolicyName): Promise<void>;
  ask(request: Request): Promise<Reply>;
  send(path: string, body?: object, headers?: Record<string, string>): Promise<Reply>;
  get(path: string, key?: string | null): Promise<Reply>;
  /** Sends a request without a signature, signs the returned terms, and sends the request with the signature. */
  pay(account: PrivateKeyAccount, path: string, body: object, headers?: Record<string, string>): Promise<Reply>;
  stop(): Promise<void>;
}

const GATEWAY = `gateway: { retries_max: 0, keyless_per_minute: 1000000, failed_auth_per_minute: 1000000 }
rate_limits: [{ name: each, each: key, requests_per_minute: 1000 }]
`;

export interface WalletAppOptions {
  /** The base URL of the only provider; by default nothing listens there. */
  readonly upstream?: string;
  /** The funding; x402 by default. */
  readonly fundingOf?: (parts: X402Parts) => FundingSource;
  /** Further sections of the policy `all`. */
  readonly more?: string;
}

/** The server with real parts except for the chain. */
export async function startWalletApp({
  upstream = 'http://127.0.0.1:1/v1',
  fundingOf = x402Funding,
  more = '',
}: WalletAppOptions = {}): Promise<WalletApp> {
  const folder = temporaryFolder();
  const runtimes = {
    all: runtimeOf(upstream, GATEWAY + SECTION + PREPAID + more),
    'no-topups': runtimeOf(upstream, `${GATEWAY}${SECTION}    prepaid: { enabled: false }\n`),
    'two-networks': runtimeOf(upstream, GATEWAY + SECTION.replace('      - id', `${SILENT}      - id`) + PREPAID),
    'behind-proxy': runtimeOf(upstream, GATEWAY + SECTION + PREPAID + PROXY),
    nothing: runtimeOf(upstream, GATEWAY),
  };
  let inForce: PolicyName = 'all';
  const logged: string[] = [];
  const write = (message: string, fields?: object) => void logged.push(`${message} ${JSON.stringify(fields)}`);
  const log = { info: write, warn: write, error: write };
  const clock = { ahead: 0 };
  const now = () => Date.now() + clock.ahead;
  const store = await openStore(join(folder, 'signalbox.db'), { mode: 'serve', program: 'test', now });
  const chain = new FakeChain();
  const keys = await openKeys({ store, now });
  const ledger = await openLedger({
    books: await store.openBooks(now),
    terms: runtimes.all.snapshot,
    now,
    onAlarm: write,
  });
  const payments = await openPayments({
    ...{ store, now, log, instance: store.instance },
    nextId: () => store.instance.nextId(),
    env: () => undefined,
    deposit: ledger.deposit.bind(ledger),
    openNetwork: async ({ id }) => chain.network(id === SILENT_ID),
  });
  const use = async (name: PolicyName) => {
    const { payments: policy } = runtimes[name].snapshot;
    (await payments.prepare(policy))();
    inForce = name;
    // Networks are checked before they are offered.
    if (policy) await waitFor(async () => (await send(KEYS)).status === 402);
  };
  const lease = () => runtimes[inForce];
  const faults = { noKeys: false, draining: false };
  const createForHolder: Keys['createForHolder'] = (...args) =>
    faults.noKeys ? Promise.reject(new StoreError('the disk is full')) : keys.createForHolder(...args);
  const edge = await openEdge({
    ...{ store, ledger, payments, log, lease, fundingOf },
    keys: overlaid(keys, { createForHolder }),
    isDraining: () => faults.draining,
  });
  const ask = async (request: Request): Promise<Reply> => {
    const response = await edge.app.handle(request);
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
  };
  const send: WalletApp['send'] = (path, body = {}, headers = {}) =>
    ask(
      new Request(`http://gateway.example${path}`, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json', ...headers },
      }),
    );
  const app: WalletApp = {
    gateway: edge.gateway,
    keys,
    chain,
    logged,
    clock,
    faults,
    use,
    admin: (await keys.create({ name: 'admin', scopes: ['admin'] })).key,
    plain: (await keys.create({ name: 'plain', scopes: ['chat', 'route'] })).key,
    send,
    ask,
    get: (path, key = app.admin) =>
      ask(new Request(`http://gateway.example${path}`, { headers: key === null ? {} : as(key) })),
    async pay(account, path, body, headers = {}) {
      const asked = await send(path, body, headers);
      if (asked.status !== 402) throw new Error(`the request needed no payment: ${asked.text}`);
      return send(path, body, { ...headers, 'payment-signature': await signQuote(account, requiredIn(asked)) });
    },
    async stop() {
      await edge.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await use('all');
  return app;
}

export const as = (key: string): Record<string, string> => ({ authorization: `Bearer ${key}` });

export const TOPUP = '/v1/wallets/topup';
export const KEYS = '/v1/wallets/keys';
export const DOLLAR = { usd: 1 };

/** A wallet that has topped up one dollar, with its first key. */
export async function richWallet(app: WalletApp) {
  const account = payer();
  const reply = await app.pay(account, TOPUP, DOLLAR);
  if (reply.status !== 201) throw new Error(reply.text);
  return { account, wallet: account.address.toLowerCase(), key: reply.body.key ?? '', reply };
}
