import { copyFileSync, existsSync } from 'node:fs';
import type { Budget } from '../../../src/core/money/budget.ts';
import type { PaymentPolicy } from '../../../src/core/policy/payments.ts';
import type { X402Gateway } from '../../../src/http/x402/services.ts';
import { type Ledger, openLedger } from '../../../src/ledger/ledger.ts';
import type { NetworkClients } from '../../../src/payments/facilitator/facilitator.ts';
import { openPayments, type Payments } from '../../../src/payments/service.ts';
import { write } from '../../../src/store/sql/statement.ts';
import { openSqliteBooks } from '../../../src/store/sqlite/books/books.ts';
import { ledgerMigrations } from '../../../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../../../src/store/sqlite/database.ts';
import { sqliteNews } from '../../../src/store/sqlite/news.ts';
import { paymentMigrations } from '../../../src/store/sqlite/payments.ts';
import { sqliteRepositories } from '../../../src/store/sqlite/repositories.ts';
import type { SqlStore } from '../../../src/store/sqlite/statement.ts';
import { NO_TERMS } from '../../ledger/support.ts';
import { loneInstance } from '../../store/memory/instance.ts';
import { waitFor } from '../../support/answers.ts';

export const PAY_TO = `0x${'b'.repeat(40)}`;
export const ASSET = `0x${'c'.repeat(40)}`;
export const NETWORK = 'eip155:84532';
/** The fee of every settlement of a request, in microcredits. */
export const FEE = 1_000_000;
/** How long an authorization must still be valid, ms. */
export const MARGIN_MS = 60_000;

const POLICY: PaymentPolicy = {
  networks: [
    {
      id: NETWORK,
      chainId: 84_532,
      asset: { address: ASSET, name: 'USDC', version: '2', decimals: 6 },
      payTo: PAY_TO,
      rpcUrls: ['http://127.0.0.1:1'],
      rpcUrlsEnv: null,
      facilitator: { mode: 'local', privateKeyEnv: 'GAS', confirmationTimeoutMs: 1_000, gasAlarmWei: 0n },
      rate: { microcredits: 1_000n, atomic: 1n },
    },
  ],
  quoteTtlMs: 120_000,
  quoteMax: 1_000_000_000,
  chargeMin: 1_000_000,
  settleFee: FEE,
  settleMarginMs: MARGIN_MS,
  walletRequired: false,
  quotesBalance: true,
  prepaid: { min: 1_000_000, max: 100_000_000 },
  bodyBytesMax: 65_536,
  publicUrl: null,
};

/** Parts of a server run that a mutant replaces. */
export interface Fault {
  readonly store?: (store: SqlStore) => SqlStore;
  readonly network?: (network: NetworkClients) => NetworkClients;
  readonly payments?: (payments: Payments) => Payments;
  /** SQL that is run on the tables first. */
  readonly sql?: string;
}

export interface HouseOptions {
  readonly file: string;
  readonly now: () => number;
  readonly nextId: () => number;
  readonly onCrash: 'charge' | 'release';
  readonly network: (pass: (step: string) => Promise<void>) => NetworkClients;
  readonly infection: Fault;
  /** The budgets; none by default. */
  readonly budgets?: readonly Budget[];
}

/** Counts the runs, because each run is an instance of its own. */
let epoch = 0;

/** A run of the server, reduced to money: the real ledger and payments on a real file. The test can kill the run at any step. */
export class ServerRun {
  readonly file: string;
  readonly ledger: Ledger;
  readonly payments: Payments;
  /** The gateway that `Funding.reserve` needs. */
  readonly gateway: X402Gateway;
  readonly #life: Life;
  readonly #store: SqlStore;

  private constructor(
    file: string,
    life: Life,
    store: SqlStore,
    parts: Pick<X402Gateway, 'ledger' | 'payments' | 'now'>,
  ) {
    this.file = file;
    this.#life = life;
    this.#store = store;
    this.ledger = parts.ledger;
    this.payments = parts.payments;
    // `Funding.reserve` uses only these parts of a gateway.
    this.gateway = { ...parts, log: SILENT } as unknown as X402Gateway;
  }

  static async open({
    file,
    now,
    nextId,
    onCrash,
    network,
    infection,
    budgets = [],
  }: HouseOptions): Promise<ServerRun> {
    const life = new Life();
    const whole = (store: SqlStore) => store;
    const inner = await openSqlite(file, [ledgerMigrations, paymentMigrations]);
    if (infection.sql) await inner.commit([write({ sql: infection.sql })]);
    const handle = (infection.store ?? whole)(mortal(inner, life));
    const store = Object.assign(handle, sqliteRepositories(handle), { news: sqliteNews(handle) });
    const terms = { ...NO_TERMS, budgets, ledger: { contentionWaitMs: 0, wholeHoldShare: 0.05, onCrash } };
    const ledger = await openLedger({ books: await openSqliteBooks({ store, now }), terms, now, onAlarm: () => {} });
    const payments = await openPayments({
      store,
      instance: loneInstance(now, { slot: 0, epoch: ++epoch }),
      now,
      nextId,
      env: () => undefined,
      deposit: (...asked) => ledger.deposit(...asked),
      log: SILENT,
      openNetwork: async () =>
        (infection.network ?? ((one: NetworkClients) => one))(network((step) => life.pass(step))),
      // The test starts reconciliation itself.
      reconcileEveryMs: 3_600_000,
    });
    await payments.sweep();
    (await payments.prepare(POLICY))();
    const seen = (infection.payments ?? ((one: Payments) => one))(payments);
    return new ServerRun(file, life, inner, { ledger, payments: seen, now });
  }

  async ready(): Promise<void> {
    await waitFor(() => {
      try {
        this.payments.quote({ ...NO_ASK });
        return true;
      } catch {
        return false;
      }
    });
  }

  /** Kills the run after this many steps. */
  dieAfter(steps: number): void {
    this.#life.left = steps;
  }

  get isDead(): boolean {
    return this.#life.isDead;
  }

  /** Rejects when the run dies, so that no test waits longer. */
  get death(): Promise<never> {
    return this.#life.death;
  }

  /** Kills the run, if it is alive, and copies its files to a new folder. */
  die(copy: string): void {
    this.#life.die();
    this.payments.close();
    for (const part of ['', '-wal']) if (existsSync(this.file + part)) copyFileSync(this.file + part, copy + part);
    // Releases the resources that the run held.
    void this.#store.close().catch(() => {});
  }

  /** Resolves when all appended writes are on the disk. */
  async quiet(): Promise<void> {
    await this.#store.flush();
  }

  async query<Row>(sql: string): Promise<Row[]> {
    await this.#store.flush();
    return this.#store.query<Row>({ sql });
  }

  async close(): Promise<void> {
    this.payments.close();
    await this.ledger.close();
    await this.#store.close();
  }
}

const SILENT = { info: () => {}, warn: () => {}, error: () => {} };
const NO_ASK = {
  purpose: 'chat' as const,
  requestHash: '0'.repeat(64),
  bound: 1,
  credit: 0,
  revision: 'model',
  models: ['m'],
  url: 'http://127.0.0.1/',
  description: 'A look.',
  isFeeDue: true,
};

/** The error with which waits for a dead run reject. */
export class ProcessKilled extends Error {
  override readonly name = 'Dead';
}

class Life {
  left = Number.POSITIVE_INFINITY;
  isDead = false;
  readonly #death = Promise.withResolvers<never>();

  constructor() {
    this.#death.promise.catch(() => {});
  }

  get death(): Promise<never> {
    return this.#death.promise;
  }

  /** Never resolves if the process is dead. */
  async pass(_step: string): Promise<void> {
    if (!this.isDead && --this.left <= 0) this.die();
    if (this.isDead) await new Promise<never>(() => {});
  }

  die(): void {
    this.isDead = true;
    this.#death.reject(new ProcessKilled('killed'));
  }
}

/** A store whose process may die before and after each commit. */
function mortal(inner: SqlStore, life: Life): SqlStore {
  return {
    async commit(writes) {
      await life.pass('commit');
      await inner.commit(writes);
      await life.pass('committed');
    },
    append(writes) {
      if (!life.isDead) inner.append(writes);
    },
    async query(statement, params) {
      if (life.isDead) await life.pass('query');
      return inner.query(statement, params);
    },
    written: () => inner.written(),
    flush: () => inner.flush(),
    close: () => inner.close(),
  };
}
