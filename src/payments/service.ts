import type { Microcredits } from '../core/credits.ts';
import { idText } from '../core/id.ts';
import type { PaymentPolicy } from '../core/payment-policy.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Store, Write } from '../store/store.ts';
import type { Log } from '../telemetry/log.ts';
import { Blocklist } from './blocklist.ts';
import { PaymentCounts } from './counts.ts';
import type { OpenNetwork } from './facilitator/facilitator.ts';
import { openNetwork as openByPolicy } from './facilitator/network.ts';
import { Judge } from './judge.ts';
import { Networks } from './networks.ts';
import type { Offer, Payment } from './payment.ts';
import type { Beside, Book, Offered, PaymentActivity, PaymentQuery, Payments, Resolution } from './payments.ts';
import { storedSettlements } from './pending.ts';
import type { Quote, QuoteAsk } from './quote.ts';
import { quoteOn } from './quoting.ts';
import { readOffer } from './reading.ts';
import { Reconciler } from './reconciler.ts';
import { isPassing, unavailableError, written } from './refusals.ts';
import { Register } from './register.ts';
import { loadSeal, type Seal } from './seal.ts';
import { checkQuote, nameOf, Settlements } from './settlements.ts';
import { settlePayment } from './table.ts';

export interface PaymentsOptions {
  readonly store: Store;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Numbers that grow and never repeat, not those of decisions either. */
  readonly nextId: () => number;
  /** A variable of the environment. */
  readonly env: (name: string) => string | undefined;
  readonly deposit: Ledger['deposit'];
  readonly waiveFee: Ledger['waiveFee'];
  readonly log: Log;
  /** Absent: as `facilitator/network.ts` opens them. */
  readonly openNetwork?: OpenNetwork;
  /** How often the chain is asked about payments whose outcome is not known, ms. */
  readonly reconcileEveryMs?: number;
}

const RECONCILE_EVERY_MS = 5_000;

/**
 * Opens the payments of this one server, turned off until a policy is put in force. A payment whose request an earlier
 * run has left is balance by then, and its fee given back. Rejects with StoreError.
 */
export async function openPayments(options: PaymentsOptions): Promise<Payments> {
  const { store, now, log } = options;
  const { register, left } = await Register.load(store);
  for (const payment of left) await settleLeft(payment, options);
  if (left.length > 0) {
    const [first] = left;
    log.warn('payments whose requests an earlier run has left are balance now', {
      count: left.length,
      first: first && idText('pay_', first.id),
    });
  }
  return new StoredPayments(options, register, await loadSeal(store), await Blocklist.load(store, now));
}

/** Whoever got no answer to the end pays no fee. What was reserved, the ledger has given back. */
async function settleLeft({ id, payer, fee }: Payment, { store, now, waiveFee }: PaymentsOptions): Promise<void> {
  await store.commit([...waiveFee(payer, fee, idText('pay_', id)), settlePayment(id, 0, 0, now())]);
}

class StoredPayments implements Payments {
  readonly activity: PaymentActivity;
  readonly #options: PaymentsOptions;
  readonly #register: Register;
  readonly #seal: Seal;
  readonly #blocklist: Blocklist;
  readonly #networks: Networks;
  readonly #settlements: Settlements;
  readonly #reconciler: Reconciler;
  #policy: PaymentPolicy | null = null;

  constructor(options: PaymentsOptions, register: Register, seal: Seal, blocklist: Blocklist) {
    const { store, now, nextId, env, deposit, log, openNetwork = openByPolicy } = options;
    this.#options = options;
    this.#register = register;
    this.#seal = seal;
    this.#blocklist = blocklist;
    const means = { env, pending: storedSettlements(store, now), now };
    const networks = new Networks({ open: openNetwork, means, log });
    const counts = new PaymentCounts();
    const judge = new Judge({ register, now, deposit, counts, log });
    const policy = () => this.#policy;
    const mark = (requestHash: string) => seal.mark(requestHash);
    const settlements = new Settlements({
      register,
      networks,
      judge,
      blocklist,
      policy,
      now,
      nextId,
      mark,
      counts,
      log,
    });
    const everyMs = options.reconcileEveryMs ?? RECONCILE_EVERY_MS;
    this.activity = { counts, unsettled: () => register.unsettled(), networks: () => networks.standings() };
    this.#networks = networks;
    this.#settlements = settlements;
    this.#reconciler = new Reconciler({ register, networks, settlements, now, log, everyMs });
  }

  get policy(): PaymentPolicy | null {
    return this.#policy;
  }

  async prepare(policy: PaymentPolicy | null): Promise<() => void> {
    const apply = await this.#networks.prepare(policy?.networks ?? []);
    return () => {
      apply();
      this.#policy = policy;
      this.activity.counts.expect(this.activity.networks().map(({ id }) => id));
      this.#reconciler.start();
    };
  }

  ready(): readonly string[] {
    return this.#networks.ready().map(({ policy }) => policy.id);
  }

  quote(ask: QuoteAsk): Quote {
    const places = this.#networks.ready();
    if (!this.#policy || places.length === 0) throw unavailableError();
    const { nextId, now } = this.#options;
    const quote = quoteOn(places, ask, this.#policy, { id: nextId(), now: now(), seal: this.#seal });
    this.activity.counts.quoted(ask.purpose);
    return quote;
  }

  async read(offered: Offered): Promise<Offer> {
    const offer = await readOffer(offered, this.#seal, this.#options.now());
    // Before anything is told of the wallet: this signature alone proves nothing.
    checkQuote(await written(() => this.known(offer)), offer);
    return offer;
  }

  known(offer: Offer): Promise<Payment | null> {
    return this.#register.find(nameOf(offer));
  }

  unsettled(wallet: string, requestHash: string): Payment | null {
    return this.#settlements.unsettled(wallet, requestHash);
  }

  settle<T>(offer: Offer, beside: Beside, book: Book<T>): Promise<Resolution<T>> {
    return this.#settlements.settle(offer, beside, book);
  }

  settled({ id }: Payment, charged: Microcredits, fee: Microcredits): readonly Write[] {
    return [settlePayment(id, charged, fee, this.#options.now())];
  }

  get(id: number): Promise<Payment | null> {
    return this.#register.get(id);
  }

  list(query: PaymentQuery): Promise<readonly Payment[]> {
    return this.#register.list(query);
  }

  async reconcile(id: number): Promise<Payment | null> {
    const payment = await this.#register.get(id);
    if (!payment || payment.state === 'captured' || payment.state === 'settled') return payment;
    return this.#networks.use(payment.network, async (place) => {
      if (!place) throw unavailableError();
      try {
        return (await this.#settlements.look(payment, place)) ?? payment;
      } catch (cause) {
        throw isPassing(cause) ? unavailableError(cause) : cause;
      }
    });
  }

  isBlocked(wallet: string): boolean {
    return this.#blocklist.has(wallet);
  }

  block(wallet: string, note: string, also: readonly Write[] = []): Promise<void> {
    return this.#blocklist.add(wallet, note, also);
  }

  unblock(wallet: string, also: readonly Write[] = []): Promise<void> {
    return this.#blocklist.remove(wallet, also);
  }

  close(): void {
    this.#reconciler.stop();
    this.#networks.close();
  }
}
