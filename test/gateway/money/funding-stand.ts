import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { createIds } from '../../../src/core/id.ts';
import { holderCaller } from '../../../src/core/people/caller.ts';
import type { Funding, FundingRequest } from '../../../src/gateway/money/funding.ts';
import { KeyFunding } from '../../../src/gateway/money/key-funding.ts';
import type { HoldRequest } from '../../../src/ledger/hold-request.ts';
import { PaymentFunding } from '../../../src/payments/funding/payment-funding.ts';
import { budget, caller, NOON, order } from '../../ledger/support.ts';
import { scratchFolder } from '../../payments/model/files.ts';
import { ServerRun } from '../../payments/model/house.ts';
import { ScriptedChain } from '../../payments/model/scripted-chain.ts';
import { signed } from '../../payments/model/signed.ts';
import { chatRequest } from '../../support/model-request.ts';

/** The microcredits that all callers together may spend. */
export const BUDGET = 20_000_000;
/** The microcredits on the balance of the wallet that pays from its balance. */
export const BALANCE = 12_000_000;

/** The kinds of payers: a key, a wallet that pays from its balance, or a wallet that pays for each request. */
export const PAYERS = ['a key', 'a balance', 'a payment'] as const;
export type PayerName = (typeof PAYERS)[number];

/** A request with its payer. The decision has this worst case. */
export interface FundedCase {
  readonly funding: Funding;
  readonly order: HoldRequest;
}

/** The real ledger and payments on a real file, with a scripted blockchain. */
export class FundingStand {
  readonly house: ServerRun;
  readonly chain: ScriptedChain;
  readonly #folder: string;
  readonly #nextId: () => number;
  readonly #wallet = privateKeyToAccount(generatePrivateKey());
  readonly #saver = `0x${'5'.repeat(40)}`;
  #requests = 0;

  private constructor(house: ServerRun, chain: ScriptedChain, folder: string, nextId: () => number) {
    this.house = house;
    this.chain = chain;
    this.#folder = folder;
    this.#nextId = nextId;
  }

  static async open(): Promise<FundingStand> {
    const folder = mkdtempSync(join(scratchFolder(), 'signalbox-'));
    const now = () => NOON;
    const nextId = createIds(now, 0);
    const chain = new ScriptedChain(now);
    const house = await ServerRun.open({
      file: join(folder, 'funding.db'),
      now,
      nextId,
      onCrash: 'charge',
      network: (pass) => chain.network(pass),
      infection: {},
      budgets: [budget(BUDGET)],
    });
    await house.ready();
    const stand = new FundingStand(house, chain, folder, nextId);
    chain.fund(stand.payer, 1_000_000n);
    await house.ledger.deposit(stand.#saver, { paid: BALANCE, fee: 0, note: 'a top-up' }, []);
    return stand;
  }

  /** The address of the wallet that pays for each request. */
  get payer(): string {
    return this.#wallet.address.toLowerCase();
  }

  async case(payer: PayerName, bound: number): Promise<FundedCase> {
    const { gateway } = this.house;
    if (payer === 'a payment') return this.#byPayment(bound);
    const key = payer === 'a key' ? caller('key') : holderCaller(this.#saver);
    return {
      funding: new KeyFunding(gateway, requestOf(), key),
      order: order(bound, { id: this.#nextId(), caller: key }),
    };
  }

  async #byPayment(bound: number): Promise<FundedCase> {
    const { payments, ledger, gateway } = this.house;
    const requestHash = String(++this.#requests).padStart(64, '0');
    const quote = payments.quote({
      purpose: 'chat',
      requestHash,
      bound,
      credit: Math.min(bound, Math.max(0, ledger.balanceOf(this.payer)?.free ?? 0)),
      revision: 'stand',
      models: ['m'],
      url: 'http://127.0.0.1/v1/chat/completions',
      description: 'A request.',
      isFeeDue: true,
    });
    const { header } = await signed(this.#wallet, quote.required, { now: NOON });
    const payment = await payments.read({ header, purpose: 'chat', requestHash, wallet: this.payer });
    return {
      funding: new PaymentFunding(gateway, requestOf(), payment),
      order: order(bound, { id: this.#nextId(), caller: holderCaller(this.payer) }),
    };
  }

  /** Returns the money that is set aside now, according to the sums of holds and according to their funds. */
  async setAside(): Promise<{ open: number; held: number; ofFunds: readonly number[] }> {
    const { open, held, funds } = await this.house.ledger.status();
    return { open, held, ofFunds: funds.map((fund) => fund.held).filter((amount) => amount > 0) };
  }

  async close(): Promise<void> {
    await this.house.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

const requestOf = (): FundingRequest => ({
  request: chatRequest({ messages: [] }),
  decide: () => Promise.reject(new Error('it is not decided here')),
  key: null,
  idempotencyKey: null,
  url: 'http://127.0.0.1/v1/chat/completions',
  headers: new Headers(),
});

export const NOTHING_SET_ASIDE = { open: 0, held: 0, ofFunds: [] };
