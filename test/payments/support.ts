import { expect, test } from 'bun:test';
import { x402Client } from '@x402/core/client';
import type { PaymentPayload, PaymentRequired } from '@x402/core/types';
import { ExactEvmScheme } from '@x402/evm/exact/client';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import type { Deposit } from '../../src/core/accounting/entry.ts';
import { SignalboxError } from '../../src/core/errors.ts';
import { createIds } from '../../src/core/id.ts';
import type { PaymentNetwork, PaymentPolicy } from '../../src/core/policy/payments.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { NetworkHost } from '../../src/payments/facilitator/facilitator.ts';
import { type Book, PaymentRefused } from '../../src/payments/payments.ts';
import type { QuoteRequest } from '../../src/payments/quote.ts';
import type { SignedPayment } from '../../src/payments/read-payment.ts';
import { openPayments, type Payments } from '../../src/payments/service.ts';
import type { Instance } from '../../src/store/instance.ts';
import type { Payment } from '../../src/store/payments.ts';
import { type SqlWrite, type Statement, write } from '../../src/store/sql/statement.ts';
import { ledgerMigrations } from '../../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { sqliteNews } from '../../src/store/sqlite/news.ts';
import { paymentMigrations } from '../../src/store/sqlite/payments.ts';
import { sqliteRepositories } from '../../src/store/sqlite/repositories.ts';
import type { Migrations, SqlStore } from '../../src/store/sqlite/statement.ts';
import { loneInstance } from '../store/memory/instance.ts';
import { tempFolder } from '../store/support.ts';
import { waitFor } from '../support/answers.ts';
import { FakeNetwork } from './fake-network.ts';

/** The token of Base Sepolia in lower case, which is valid in a policy. */
export const TOKEN = '0x036cbd53842c5426634e7929541ec2318f3dcf7e';
export const PAY_TO = '0x1d2c3b4a5f6e7d8c9b0a1f2e3d4c5b6a7f8e9d0c';
export const NETWORK = 'eip155:84532';

/** An atomic unit is 1,000 microcredits, as with USDC and a Credit of 0.001 USD. */
export const network = (over: Partial<PaymentNetwork> = {}): PaymentNetwork => ({
  id: NETWORK,
  chainId: 84_532,
  asset: { address: TOKEN, name: 'USDC', version: '2', decimals: 6 },
  payTo: PAY_TO,
  rpcUrls: ['http://127.0.0.1:1'],
  rpcUrlsEnv: null,
  facilitator: { mode: 'local', privateKeyEnv: 'GAS_KEY', confirmationTimeoutMs: 1_000, gasAlarmWei: 1n },
  rate: { microcredits: 1_000n, atomic: 1n },
  ...over,
});

export const policy = (over: Partial<PaymentPolicy> = {}): PaymentPolicy => ({
  networks: [network()],
  publicUrl: null,
  quoteTtlMs: 120_000,
  quoteMax: 1_000_000_000,
  chargeMin: 1_000_000,
  settleFee: 1_000_000,
  settleMarginMs: 60_000,
  walletRequired: false,
  quotesBalance: true,
  prepaid: null,
  bodyBytesMax: 262_144,
  ...over,
});

export const HASH = 'ab'.repeat(32);

export const ask = (over: Partial<QuoteRequest> = {}): QuoteRequest => ({
  purpose: 'chat',
  requestHash: HASH,
  bound: 5_000_000,
  credit: 0,
  revision: 'rev-1',
  models: ['small', 'large'],
  url: 'https://gateway.example/v1/chat/completions',
  description: 'A chat completion.',
  isFeeDue: true,
  ...over,
});

export const newAccount = (): PrivateKeyAccount => privateKeyToAccount(generatePrivateKey());

export function stockPayload(account: PrivateKeyAccount, required: PaymentRequired): Promise<PaymentPayload> {
  const client = new x402Client().setSpendControls(false);
  client.register('eip155:*', new ExactEvmScheme(account));
  return client.createPaymentPayload(required);
}

export const headerOf = (payload: unknown): string => Buffer.from(JSON.stringify(payload)).toString('base64');

export interface BookedEntry extends Deposit {
  readonly wallet: string;
}

const books: Migrations = {
  room: 'books',
  versions: {
    1: 'CREATE TABLE books (id INTEGER PRIMARY KEY, wallet TEXT NOT NULL, paid INTEGER NOT NULL, fee INTEGER NOT NULL, note TEXT NOT NULL) STRICT',
  },
};
const BOOK: Statement = { sql: 'INSERT INTO books (wallet, paid, fee, note) VALUES (?, ?, ?, ?)' };
const BOOKED: Statement = { sql: 'SELECT wallet, paid, fee, note FROM books ORDER BY id' };
const bookWrite = (wallet: string, { paid, fee, note }: Deposit): SqlWrite => write(BOOK, wallet, paid, fee, note);

export interface Logged {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Payments with a real store, a fake chain, and a fake ledger that writes in the same commits. */
export interface Bench {
  readonly payments: Payments;
  readonly store: SqlStore;
  readonly chain: FakeNetwork;
  readonly log: readonly Logged[];
  /** Milliseconds since 1970, which tests may change. */
  readonly clock: { now: number };
  readonly opened: readonly { readonly policy: PaymentNetwork; readonly host: NetworkHost }[];
  booked(): Promise<BookedEntry[]>;
  /** Books a payment like the gateway. */
  readonly book: Book<string>;
  /** Signs a quote with a standard client, and reads the payment. */
  signedPayment(account: PrivateKeyAccount, over?: Partial<QuoteRequest>): Promise<SignedPayment>;
  header(account: PrivateKeyAccount, over?: Partial<QuoteRequest>): Promise<string>;
  read(header: string, over?: Partial<Parameters<Payments['read']>[0]>): Promise<SignedPayment>;
  row(id: number): Promise<Payment>;
  close(): Promise<void>;
}

export interface BenchOptions {
  readonly chain?: FakeNetwork;
  readonly clock?: { now: number };
  readonly policy?: PaymentPolicy | null;
  readonly reconcileEveryMs?: number;
  /** The instance of the server; absent if it is the only running server. */
  readonly instance?: Pick<Instance, 'slot' | 'epoch' | 'lives'>;
  readonly wrap?: (store: SqlStore) => SqlStore;
  /** Replaces the fake ledger. */
  readonly ledger?: (store: SqlStore) => Promise<Pick<Ledger, 'deposit'>>;
  readonly open?: (policy: PaymentNetwork, chain: FakeNetwork) => FakeNetwork;
}

export const CONTEXT = { decision: 77, keyId: null };

/** A folder with a database, and payments that are opened on it one after the other. The end of the test closes everything. */
export function workshop(): { open(options?: BenchOptions): Promise<Bench>; readonly file: string } & AsyncDisposable {
  const folder = tempFolder();
  const made: Bench[] = [];
  return {
    file: folder.file,
    async open(options) {
      const bench = await openBench(folder.file, options);
      made.push(bench);
      return bench;
    },
    async [Symbol.asyncDispose]() {
      for (const bench of made) await bench.close();
      folder[Symbol.dispose]();
    },
  };
}

export type Workshop = ReturnType<typeof workshop>;

/** A test with a workshop of its own. */
export function shopTest(name: string, run: (shop: Workshop) => Promise<void>): void {
  test(name, async () => {
    await using shop = workshop();
    await run(shop);
  });
}

/** A test with payments that are opened with the defaults. */
export const benchTest = (name: string, run: (bench: Bench, shop: Workshop) => Promise<void>): void =>
  shopTest(name, async (shop) => run(await shop.open(), shop));

/** Counts the benches, because each is an instance of its own. */
let epoch = 0;

async function openBench(file: string, options: BenchOptions = {}): Promise<Bench> {
  const { clock = { now: Date.now() }, wrap = (store: SqlStore) => store, reconcileEveryMs = 3_600_000 } = options;
  const chain = options.chain ?? new FakeNetwork(clock);
  const handle = wrap(await openSqlite(file, [paymentMigrations, ledgerMigrations, books]));
  const store = Object.assign(handle, sqliteRepositories(handle), { news: sqliteNews(handle) });
  const ledger = (await options.ledger?.(store)) ?? {
    deposit: (wallet: string, deposit: Deposit, also: readonly SqlWrite[]) =>
      store.commit([bookWrite(wallet, deposit), ...also]),
  };
  const log: Logged[] = [];
  const logger =
    (level: Logged['level']) =>
    (message: string, fields: Logged['fields'] = {}) =>
      void log.push({ level, message, fields });
  const opened: { policy: PaymentNetwork; host: NetworkHost }[] = [];
  const payments = await openPayments({
    store,
    instance: options.instance ?? loneInstance(() => clock.now, { slot: 0, epoch: ++epoch }),
    now: () => clock.now,
    nextId: createIds(() => clock.now, 0),
    env: (name) => `the ${name}`,
    deposit: (wallet, deposit, also) => ledger.deposit(wallet, deposit, also),
    log: { info: logger('info'), warn: logger('warn'), error: logger('error') },
    openNetwork: async (network, host) => {
      opened.push({ policy: network, host });
      return options.open?.(network, chain) ?? chain;
    },
    reconcileEveryMs,
  });
  await payments.sweep();
  const given = options.policy === undefined ? policy() : options.policy;
  if (given) {
    (await payments.prepare(given))();
    if (chain.isUp) await waitFor(() => log.some(({ message }) => message === 'a payment network is ready'));
  }
  let isClosed = false;
  const bench: Bench = {
    payments,
    store,
    chain,
    log,
    clock,
    opened,
    booked: () => store.query<BookedEntry>(BOOKED),
    book: async (payment, captured) => {
      const deposit = { paid: payment.paid, fee: payment.fee, note: `pay ${payment.id}` };
      await store.commit([bookWrite(payment.payer, deposit), ...captured]);
      return 'booked';
    },
    signedPayment: async (account, over) => bench.read(await bench.header(account, over), { ...over }),
    header: async (account, over) => headerOf(await stockPayload(account, payments.quote(ask(over)).required)),
    read: (header, { purpose = 'chat', requestHash = HASH, wallet = null } = {}) =>
      payments.read({ header, purpose, requestHash, wallet }),
    row: async (id) => {
      const row = await payments.get(id);
      if (!row) throw new Error(`no payment ${id}`);
      return row;
    },
    close: async () => {
      if (isClosed) return;
      isClosed = true;
      payments.close();
      await store.close();
    },
  };
  return bench;
}

/** The reason of a promise's rejection. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (cause) {
    return cause;
  }
  throw new Error('the promise was not rejected');
}

/** The reason of a PaymentRefused. */
export async function refusal(promise: Promise<unknown>): Promise<string> {
  const cause = await rejection(promise);
  if (!(cause instanceof PaymentRefused)) throw cause;
  return cause.reason;
}

export async function failure(promise: Promise<unknown>): Promise<SignalboxError> {
  const cause = await rejection(promise);
  if (!(cause instanceof SignalboxError)) throw cause;
  return cause;
}

export const never = () => Promise.reject(new Error('nothing should be booked'));

export const all = ({ payments }: Bench) => payments.list({ state: null, payer: null, limit: 100, before: null });

export async function only(bench: Bench): Promise<Payment> {
  const rows = await all(bench);
  expect(rows.length).toBe(1);
  return rows[0]!;
}
