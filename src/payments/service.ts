import type { Microcredits } from '../core/credits.ts';
import { idText } from '../core/id.ts';
import type { PaymentPolicy } from '../core/payment-policy.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Payment, PaymentQuery } from '../store/payments.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store, Write } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';
import { Blocklist } from './blocklist.ts';
import { PaymentCounts } from './counts.ts';
import type { OpenNetwork } from './facilitator/facilitator.ts';
import { openNetwork as openByPolicy } from './facilitator/network.ts';
import { quoteOn } from './make-quote.ts';
import { Networks } from './networks.ts';
import type { Book, PaymentActivity, PaymentSubmission, PaymentUse, Resolution } from './payments.ts';
import { storedSettlements } from './pending-settlements.ts';
import type { Quote, QuoteRequest } from './quote.ts';
import type { SignedPayment } from './read-payment.ts';
import { readPayment } from './read-payment.ts';
import { Reconciler } from './reconciler.ts';
import { isTransient, orNotSent, unavailableError } from './refusals.ts';
import { PaymentRegister } from './register.ts';
import { loadSeal, type QuoteSeal } from './seal.ts';
import { authorizationIdOf, checkQuote, Settlements } from './settlements.ts';

type PaymentRepositories = Pick<Repositories, 'payments' | 'blocklist' | 'pendingSettlements' | 'quoteSecret'>;

export interface PaymentsOptions {
  readonly store: Pick<Store, 'commit' | 'append' | 'written'> & PaymentRepositories;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Returns growing numbers that never repeat and are distinct from those of decisions. */
  readonly nextId: () => number;
  readonly env: (name: string) => string | undefined;
  readonly deposit: Ledger['deposit'];
  readonly log: Log;
  /** Default: `facilitator/network.ts`. */
  readonly openNetwork?: OpenNetwork;
  /** Between two rounds of reconciliation, ms. */
  readonly reconcileEveryMs?: number;
}

const RECONCILE_EVERY_MS = 5_000;

/**
 * Opens the payments of this server, off until a policy is in force. Captured payments whose requests an earlier run
 * abandoned become balance, and their fees are given back. Throws StoreError.
 */
export async function openPayments(options: PaymentsOptions): Promise<Payments> {
  const { store, now, log } = options;
  const { register, abandoned } = await PaymentRegister.load(store);
  for (const payment of abandoned) await settleAbandoned(payment, options);
  if (abandoned.length > 0) {
    const [first] = abandoned;
    log.warn('payments for requests that an earlier run left open were added to balances', {
      count: abandoned.length,
      first: first && idText('pay_', first.id),
    });
  }
  return new Payments(options, register, await loadSeal(store), new Blocklist(store, now, await store.blocklist.all()));
}

/** A payer without a complete answer pays no fee. The ledger has released the hold. */
async function settleAbandoned({ id, payer, fee }: Payment, { store, now, deposit }: PaymentsOptions): Promise<void> {
  const writes = [store.payments.settle(id, 0, 0, now())];
  await deposit(payer, { paid: 0, fee: -fee, note: idText('pay_', id) }, writes);
}

/** Takes x402 payments and stores their outcomes. One for each server, present while payments are off, too. */
export class Payments {
  readonly activity: PaymentActivity;
  readonly blocklist: Blocklist;
  /** Of the policy in force; null while payments are off. */
  policy: PaymentPolicy | null = null;
  readonly #options: PaymentsOptions;
  readonly #register: PaymentRegister;
  readonly #seal: QuoteSeal;
  readonly #networks: Networks;
  readonly #settlements: Settlements;
  readonly #reconciler: Reconciler;

  constructor(options: PaymentsOptions, register: PaymentRegister, seal: QuoteSeal, blocklist: Blocklist) {
    const { store, now, nextId, env, deposit, log, openNetwork = openByPolicy } = options;
    this.#options = options;
    this.#register = register;
    this.#seal = seal;
    this.blocklist = blocklist;
    const host = { env, pending: storedSettlements(store, now), now };
    const networks = new Networks({ open: openNetwork, host, log });
    const counts = new PaymentCounts();
    const policy = () => this.policy;
    const parts = { register, networks, blocklist, seal, policy, now, nextId, deposit, counts, log };
    const settlements = new Settlements(parts);
    const everyMs = options.reconcileEveryMs ?? RECONCILE_EVERY_MS;
    this.activity = { counts, unsettled: () => register.unsettled(), networks: () => networks.statuses() };
    this.#networks = networks;
    this.#settlements = settlements;
    this.#reconciler = new Reconciler(parts, settlements, everyMs);
  }

  /**
   * Prepares another policy.
   * @returns a function that puts it in force.
   * @throws an Error of one sentence for the operator: a variable that is not set, a malformed key, a well-known test
   * key on a network that is not local.
   */
  async prepare(policy: PaymentPolicy | null): Promise<() => void> {
    const apply = await this.#networks.prepare(policy?.networks ?? []);
    return () => {
      apply();
      this.policy = policy;
      this.activity.counts.expect(this.activity.networks().map(({ id }) => id));
      this.#reconciler.start();
    };
  }

  /** IDs of the networks that are ready. */
  ready(): readonly string[] {
    return this.#networks.ready().map(({ policy }) => policy.id);
  }

  /** Makes a quote on every ready network. Throws SignalboxError `payment_unavailable` when none is. */
  quote(ask: QuoteRequest): Quote {
    const connections = this.#networks.ready();
    if (!this.policy || connections.length === 0) throw unavailableError();
    const { nextId, now } = this.#options;
    const quote = quoteOn(connections, ask, this.policy, { id: nextId(), now: now(), seal: this.#seal });
    this.activity.counts.quoted(ask.purpose);
    return quote;
  }

  /**
   * Decodes a payment and checks all that needs no chain or facilitator: form, version, quote seal, purpose and hash of
   * the request, named wallet, signature, and whether it paid another quote before. Does not check whether the quote
   * has expired.
   * @throws SignalboxError 400 for a malformed payment, 403 `agent_wallet_mismatch`, and PaymentRefused for an error
   * that a new quote can mend.
   */
  async read(submission: PaymentSubmission): Promise<SignedPayment> {
    const signed = await readPayment(submission, this.#seal, this.#options.now());
    // Before anything about the wallet is revealed: the signature alone proves nothing.
    checkQuote(await orNotSent(() => this.find(signed)), signed);
    return signed;
  }

  /** Returns the stored payment of this authorization; null if there is none. */
  find(signed: SignedPayment): Promise<Payment | null> {
    return this.#register.table.find(authorizationIdOf(signed));
  }

  /** An unsettled payment of this wallet for the same request, or null. With one, do not ask for another. */
  unsettled(wallet: string, requestHash: string): Payment | null {
    return this.#settlements.unsettled(wallet, requestHash);
  }

  /**
   * Settles a payment after a last check of quote expiry, remaining validity and the chain's view. A payment submitted
   * before is resolved by the chain instead. The row is durable before anything is sent.
   * @throws PaymentRefused, SignalboxError `payment_unavailable`, `payment_unsettled`.
   */
  settle<T>(signed: SignedPayment, context: PaymentUse, book: Book<T>): Promise<Resolution<T>> {
    return this.#settlements.settle(signed, context, book);
  }

  /** The writes that record charge and fee, for the commit that closes the hold of a captured payment. */
  settleWrites({ id }: Payment, charged: Microcredits, fee: Microcredits): readonly Write[] {
    return [this.#register.table.settle(id, charged, fee, this.#options.now())];
  }

  get(id: number): Promise<Payment | null> {
    return this.#register.table.get(id);
  }

  list(query: PaymentQuery): Promise<readonly Payment[]> {
    return this.#register.table.list(query);
  }

  /** Asks the chain about a payment now. Null for an unknown ID. Throws SignalboxError `payment_unavailable`. */
  async reconcile(id: number): Promise<Payment | null> {
    const payment = await this.#register.table.get(id);
    if (!payment || payment.state === 'captured' || payment.state === 'settled') return payment;
    return this.#networks.use(payment.network, async (connection) => {
      if (!connection) throw unavailableError();
      try {
        return (await this.#settlements.reconcile(payment, connection)) ?? payment;
      } catch (cause) {
        throw isTransient(cause) ? unavailableError(cause) : cause;
      }
    });
  }

  /** Stops the background work. A settlement in progress is left to the next start; a shutdown waits for it first. */
  close(): void {
    this.#reconciler.stop();
    this.#networks.close();
  }
}
