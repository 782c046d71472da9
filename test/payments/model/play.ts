import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from 'viem/accounts';
import { SignalboxError } from '../../../src/core/errors.ts';
import { createIds } from '../../../src/core/id.ts';
import { holderCaller } from '../../../src/core/people/caller.ts';
import type { FundedHold, FundingRequest } from '../../../src/gateway/money/funding.ts';
import { HoldRefused } from '../../../src/gateway/money/funding.ts';
import { KeyFunding } from '../../../src/gateway/money/key-funding.ts';
import type { HoldRequest } from '../../../src/ledger/hold-request.ts';
import { PaymentFunding } from '../../../src/payments/funding/payment-funding.ts';
import { PaymentRefused } from '../../../src/payments/payments.ts';
import type { Quote } from '../../../src/payments/quote.ts';
import { randomFrom } from '../../deep/effort.ts';
import { line } from '../../ledger/support.ts';
import { chatRequest } from '../../support/model-request.ts';
import { scratchFolder } from './files.ts';
import { type Fault, ProcessKilled, ServerRun } from './house.ts';
import { finalProblems, standingProblems } from './laws.ts';
import { ScriptedChain, type Weather } from './scripted-chain.ts';
import { signed } from './signed.ts';

/** A signed request as its client remembers it. */
export interface SignedRequest {
  readonly n: number;
  readonly header: string;
  readonly wallet: string;
  readonly nonce: string;
  readonly requestHash: string;
  readonly bound: number;
  /** The last answer that the client received. */
  lastAnswer: 'nothing' | 'runs' | 'refused' | 'unsettled' | 'error';
}

interface Run {
  readonly funded: FundedHold;
  readonly one: SignedRequest | null;
}

const WEATHERS: readonly Weather[] = ['good', 'good', 'good', 'down', 'unmined', 'answer-lost', 'dropped'];
const ACTIONS = {
  pay: 10,
  again: 6,
  'at once': 3,
  'from balance': 4,
  finish: 8,
  weather: 5,
  mine: 2,
  cancel: 2,
  drain: 1,
  time: 2,
  reconcile: 4,
  kill: 3,
  'arm a kill': 4,
} as const;
export type Action = keyof typeof ACTIONS;
export type Counts = Record<Action | SignedRequest['lastAnswer'] | 'restarted', number>;

/** A request without any settings, because its content makes no difference here. */
const REQUEST: FundingRequest = {
  request: chatRequest({ messages: [] }),
  key: null,
  idempotencyKey: null,
  url: 'http://127.0.0.1/v1/chat/completions',
  headers: new Headers(),
  decide: () => Promise.reject(new Error('it is not decided here')),
};

const NOON = Date.UTC(2026, 10, 20, 12);
const HOUR_MS = 3_600_000;
/** The atomic units of a wallet. The units suffice for some of the wallet's payments, but not for all. */
const WALLET_FUNDS = 60_000n;

/** A chain that survives all crashes, and server runs that do not. */
export class Play {
  readonly trace: string[] = [];
  readonly counts = {} as Counts;
  readonly signed: SignedRequest[] = [];
  readonly chain: ScriptedChain;
  readonly wallets: readonly PrivateKeyAccount[];
  house!: ServerRun;
  readonly onCrash: 'charge' | 'release';
  readonly #random: () => number;
  readonly #nextId: () => number;
  readonly #folder: string;
  readonly #infection: Fault;
  #runs: Run[] = [];
  #now = NOON;
  #starts = 0;
  #requests = 0;

  constructor(seed: number, folder: string, infection: Fault) {
    this.#random = randomFrom(seed);
    this.#folder = folder;
    this.#infection = infection;
    this.onCrash = this.#yes(0.5) ? 'charge' : 'release';
    this.chain = new ScriptedChain(() => this.#now);
    // As in a server, IDs never repeat. The IDs name payments and holds.
    this.#nextId = createIds(() => this.#now, 0);
    this.wallets = Array.from({ length: 3 }, () => privateKeyToAccount(generatePrivateKey()));
    for (const { address } of this.wallets) this.chain.fund(address.toLowerCase(), WALLET_FUNDS);
  }

  async begin(): Promise<void> {
    await this.#open(this.#newFile());
  }

  async step(): Promise<void> {
    const action = this.#weighted();
    this.trace.push(action);
    this.#count(action);
    await this.#mortal(() => this.#act(action));
    if (this.house.isDead) await this.#restart();
    await this.#mortal(async () => {
      const problems = await standingProblems(this);
      if (problems.length > 0) throw brokenLaw(problems);
    });
    if (this.house.isDead) await this.#restart();
  }

  /** Ends all faults, mines, advances the clock and reconciles. The ledger must then be consistent. */
  async end(): Promise<readonly string[]> {
    this.house.dieAfter(Number.POSITIVE_INFINITY);
    while (this.#runs.length > 0) this.#finish();
    this.chain.weather = 'good';
    this.chain.mine();
    await this.#reconcile();
    this.#now += HOUR_MS;
    await this.#reconcile();
    await this.house.quiet();
    const problems = await finalProblems(this);
    await this.house.close();
    return problems;
  }

  get file(): string {
    return this.house.file;
  }

  /** Runs work, and ignores its errors if the server run has died. */
  async #mortal(work: () => Promise<void>): Promise<void> {
    try {
      await Promise.race([work(), this.house.death]);
    } catch (cause) {
      if (!(cause instanceof ProcessKilled)) throw cause;
    }
  }

  async #act(action: Action): Promise<void> {
    if (action === 'pay') await this.#pay();
    else if (action === 'again') await this.#again();
    else if (action === 'at once') await this.#atOnce();
    else if (action === 'from balance') await this.#fromBalance();
    else if (action === 'finish') this.#finish();
    else if (action === 'weather') {
      this.chain.weather = this.#one(WEATHERS);
      this.trace.push(`  ${this.chain.weather}`);
    } else if (action === 'mine') this.chain.mine();
    else if (action === 'cancel') this.#cancel();
    else if (action === 'drain') this.#drain();
    else if (action === 'time') this.#now += this.#one([1_000, 30_000, 100_000, 400_000]);
    else if (action === 'reconcile') await this.#reconcile();
    else if (action === 'kill') {
      // In half of the cases, appended writes reach the disk.
      if (this.#yes(0.5)) await this.house.quiet();
      this.house.die(this.#newFile());
    } else this.house.dieAfter(1 + Math.floor(this.#random() * 12));
  }

  async #open(file: string): Promise<void> {
    this.house = await ServerRun.open({
      file,
      now: () => this.#now,
      nextId: this.#nextId,
      onCrash: this.onCrash,
      network: (pass) => this.chain.network(pass),
      infection: this.#infection,
    });
    await this.house.ready();
  }

  async #restart(): Promise<void> {
    this.trace.push('  killed');
    this.#count('restarted');
    const copy = this.#newFile();
    this.house.die(copy);
    this.#runs = [];
    await this.#open(copy);
  }

  #newFile(): string {
    return join(this.#folder, `${++this.#starts}.db`);
  }

  /** Requests a quote and pays it, unless the client must wait. */
  async #pay(one = this.#one(this.wallets)): Promise<void> {
    const offer = await this.#sign(one, ++this.#requests);
    if (offer) await this.#send(offer);
  }

  async #sign(account: PrivateKeyAccount, n: number): Promise<SignedRequest | null> {
    const wallet = account.address.toLowerCase();
    const requestHash = String(n).padStart(64, '0');
    const { payments, ledger } = this.house;
    const bound = 1_000_000 * (1 + Math.floor(this.#random() * 12));
    const credit = Math.min(bound, Math.max(0, ledger.balanceOf(wallet)?.free ?? 0));
    let quote: Quote;
    try {
      quote = payments.quote({
        purpose: 'chat',
        requestHash,
        bound,
        credit,
        revision: 'model',
        models: ['m'],
        url: 'http://127.0.0.1/v1/chat/completions',
        description: 'A request of the model.',
        isFeeDue: true,
      });
    } catch (cause) {
      if (cause instanceof SignalboxError && cause.code === 'payment_unavailable') return null;
      throw cause;
    }
    const options = { now: this.#now, seconds: this.#yes(0.1) ? 30 : 180 };
    const { header, nonce } = await signed(account, quote.required, options);
    const one: SignedRequest = { n, header, wallet, nonce, requestHash, bound, lastAnswer: 'nothing' };
    this.signed.push(one);
    return one;
  }

  /** Repeats a signed request, like a client that received no answer. Forgets a refused request. */
  async #again(): Promise<void> {
    const open = this.signed.filter(({ lastAnswer: told }) => told !== 'refused');
    if (open.length > 0) await this.#send(this.#one(open.slice(-6)));
  }

  async #atOnce(): Promise<void> {
    const account = this.#one(this.wallets);
    const first = await this.#sign(account, ++this.#requests);
    const second = await this.#sign(this.#yes(0.5) ? account : this.#one(this.wallets), ++this.#requests);
    const all = [first, second, this.#yes(0.5) ? first : null].filter((one) => one !== null);
    await Promise.all(all.map((one) => this.#send(one)));
  }

  async #send(one: SignedRequest): Promise<void> {
    const { house } = this;
    const { wallet, requestHash, header, bound } = one;
    this.trace.push(`  request ${one.n}`);
    try {
      const payment = await house.payments.read({ header, purpose: 'chat', requestHash, wallet });
      const funded = await new PaymentFunding(house.gateway, REQUEST, payment).reserve(
        this.#order(wallet, bound),
        null,
      );
      // A dead run decides nothing.
      if (house.isDead) return;
      this.#runs.push({ funded, one });
      this.#tell(one, 'runs');
    } catch (cause) {
      if (house.isDead) return;
      if (cause instanceof PaymentRefused) {
        this.trace.push(`  refused: ${cause.reason}`);
        // Like the gateway, the play makes no quote for a payment in progress. All payments that arrived earlier are balance.
        const isOpen = (await house.payments.unsettled(wallet, requestHash)) !== null;
        this.#tell(one, isOpen ? 'unsettled' : (await this.#hasArrived(one)) ? 'error' : 'refused');
      } else if (cause instanceof SignalboxError) {
        this.trace.push(`  ${cause.code}`);
        this.#tell(one, cause.code === 'payment_unsettled' ? 'unsettled' : 'error');
      } else throw cause;
    }
  }

  async #hasArrived({ wallet, nonce }: SignedRequest): Promise<boolean> {
    const payments = await this.house.payments.list({ state: null, payer: wallet, limit: 1_000, before: null });
    return payments.some((payment) => payment.nonce === nonce && /^(captured|settled)$/.test(payment.state));
  }

  #tell(one: SignedRequest, told: SignedRequest['lastAnswer']): void {
    one.lastAnswer = told;
    this.#count(told);
  }

  #order(wallet: string, bound: number): HoldRequest {
    return {
      id: this.#nextId(),
      caller: holderCaller(wallet),
      selector: 'auto',
      agentWallet: null,
      holder: null,
      amounts: [bound],
      least: null,
      limit: null,
      waitMs: 0,
      expiresAt: Number.POSITIVE_INFINITY,
    };
  }

  async #fromBalance(): Promise<void> {
    const wallet = this.#one(this.wallets).address.toLowerCase();
    const { house } = this;
    try {
      const funding = new KeyFunding(house.gateway, REQUEST, holderCaller(wallet));
      const funded = await funding.reserve(this.#order(wallet, 1_000_000), null);
      if (!house.isDead) this.#runs.push({ funded, one: null });
    } catch (cause) {
      if (!house.isDead && !(cause instanceof HoldRefused)) throw cause;
    }
  }

  /** The provider answers, or fails before its first token. */
  #finish(): void {
    const [run] = this.#runs.splice(Math.floor(this.#random() * this.#runs.length), 1);
    if (!run) return;
    const { funded } = run;
    const { hold } = funded;
    const cost = this.#yes(0.3) ? null : line(Math.floor(this.#random() * hold.reserved));
    hold.settle(cost, ({ charged }) => funded.settlementWrites(charged));
  }

  #cancel(): void {
    const one = this.signed.at(-1 - Math.floor(this.#random() * 3));
    if (one) this.chain.cancel(one.wallet, one.nonce);
  }

  #drain(): void {
    const wallet = this.#one(this.wallets).address.toLowerCase();
    this.chain.drain(wallet);
    if (this.#yes(0.5)) this.chain.fund(wallet, WALLET_FUNDS);
  }

  async #reconcile(): Promise<void> {
    const { payments } = this.house;
    for (const state of ['settling', 'unknown'] as const) {
      for (const { id } of await payments.list({ state, payer: null, limit: 1_000, before: null })) {
        await payments.reconcile(id).catch((cause: unknown) => {
          if (!(cause instanceof SignalboxError)) throw cause;
        });
      }
    }
  }

  #count(name: keyof Counts): void {
    this.counts[name] = (this.counts[name] ?? 0) + 1;
  }
  #one<T>(list: readonly T[]): T {
    return list[Math.floor(this.#random() * list.length)]!;
  }
  #yes(share: number): boolean {
    return this.#random() < share;
  }
  #weighted(): Action {
    const names = Object.keys(ACTIONS) as Action[];
    let at = this.#random() * names.reduce((sum, name) => sum + ACTIONS[name], 0);
    for (const name of names) {
      at -= ACTIONS[name];
      if (at < 0) return name;
    }
    return 'pay';
  }
}

const brokenLaw = (problems: readonly string[]): Error => new Error(`broken: ${problems.join('\n')}`);

/**
 * Plays random steps.
 * @throws the first error, with the seed and the steps
 */
export async function play(seed: number, steps: number, infection: Fault = {}): Promise<Counts> {
  const folder = mkdtempSync(join(scratchFolder(), 'signalbox-'));
  const game = new Play(seed, folder, infection);
  let step = 0;
  try {
    await game.begin();
    for (; step < steps; step++) await game.step();
    const problems = await game.end();
    if (problems.length > 0) throw brokenLaw(problems);
    return game.counts;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`seed ${seed}, step ${step}: ${why}\n${game.trace.slice(-60).join('\n')}`, { cause });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
