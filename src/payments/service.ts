import type { Microcredits } from '../core/money/credits.ts';
import type { PaymentPolicy } from '../core/policy/payments.ts';
import type { Timers } from '../core/time/timers.ts';
import type { Log } from '../host/telemetry/log.ts';
import { processTimers } from '../host/telemetry/process-timers.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { ALONE, type Lead } from '../store/leaders.ts';
import type { News } from '../store/news.ts';
import type { Payment } from '../store/payments.ts';
import type { Repositories } from '../store/repositories.ts';
import type { Store, Write } from '../store/store.ts';
import { loadBlocklist } from './blocklist.ts';
import { PaymentCounts } from './counts.ts';
import type { OpenNetwork } from './facilitator/facilitator.ts';
import { openNetwork as openByPolicy } from './facilitator/network.ts';
import { storedNonces } from './gas-nonces.ts';
import { quoteOn } from './make-quote.ts';
import { Networks } from './networks.ts';
import type { PaymentParts } from './parts.ts';
import type { Book, PaymentActivity, PaymentSubmission, PaymentUse } from './payments.ts';
import { storedSettlements } from './pending-settlements.ts';
import type { Quote, QuoteRequest } from './quote.ts';
import { readPayment, type SignedPayment } from './read-payment.ts';
import { Reconciler } from './reconciler.ts';
import { isTransient, orNotSent, unavailableError } from './refusals.ts';
import { loadRegister } from './register.ts';
import { loadSeal } from './seal.ts';
import { authorizationIdOf, checkQuote, Settlements } from './settlements.ts';
import { sweep } from './sweep.ts';

type PaymentRepositories = Pick<
  Repositories,
  'payments' | 'blocklist' | 'pendingSettlements' | 'gasNonces' | 'quoteSecret'
>;

interface PaymentsOptions {
  readonly store: Pick<Store, 'commit' | 'append' | 'written'> & PaymentRepositories & { readonly news: News };
  readonly instance: PaymentParts['instance'];
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** Returns growing numbers that never repeat and are distinct from the IDs of decisions. */
  readonly nextId: () => number;
  readonly env: (name: string) => string | undefined;
  readonly deposit: Ledger['deposit'];
  readonly log: Log;
  /** Whether this server checks payments without an owner. `lead` is absent if this server is the only server. */
  readonly lead?: Lead;
  /** Default: `facilitator/network.ts`. */
  readonly openNetwork?: OpenNetwork;
  /** The time between two rounds of reconciliation, ms; 5,000 by default. */
  readonly reconcileEveryMs?: number;
  /** The timers of the server's regular work; by default the timers of the process. */
  readonly timers?: Timers;
}

/**
 * Opens the payments of this server. Payments are off until a policy is active.
 * @throws StoreError, by rejecting
 */
export async function openPayments(options: PaymentsOptions): Promise<Payments> {
  const { store, instance, now } = options;
  const [register, blocklist, seal] = [
    await loadRegister(store, instance),
    await loadBlocklist(store, now),
    await loadSeal(store),
  ];
  return paymentsOf(options, { register, blocklist, seal });
}

/** Accepts x402 payments and stores their outcomes. Each server has a `Payments` object, even while payments are off. */
export type Payments = ReturnType<typeof paymentsOf>;

function paymentsOf(options: PaymentsOptions, stored: Pick<PaymentParts, 'register' | 'blocklist' | 'seal'>) {
  const { store, instance, now, nextId, env, deposit, log } = options;
  const { openNetwork = openByPolicy, reconcileEveryMs = 5_000, timers = processTimers, lead = ALONE } = options;
  const { register, blocklist, seal } = stored;
  const { table } = register;
  /** The active policy; null while payments are off. */
  const inForce: { policy: PaymentPolicy | null } = { policy: null };
  const gasNonces = storedNonces({ store, instance, now });
  const host = { env, pending: storedSettlements(store, now), gasNonces, now };
  const networks = new Networks({ open: openNetwork, host, log, timers });
  const counts = new PaymentCounts();
  const policy = () => inForce.policy;
  const parts: PaymentParts = {
    ...stored,
    networks,
    policy,
    now,
    timers,
    nextId,
    instance,
    lead,
    deposit,
    counts,
    log,
  };
  const settlements = new Settlements(parts);
  const reconciler = new Reconciler(parts, settlements, reconcileEveryMs);
  const activity: PaymentActivity = {
    counts,
    unsettled: () => register.unsettled(),
    networks: () => networks.statuses(),
  };
  const find = (signed: SignedPayment) => table.find(authorizationIdOf(signed));
  return Object.assign(inForce, {
    activity,
    blocklist,
    /** Returns the stored payment of this authorization; null if there is none. */
    find,
    get: table.get,
    list: table.list,
    /**
     * Asks the chain about a payment now. Returns null for an unknown ID.
     * @throws SignalboxError `payment_unavailable`
     */
    reconcile: (id: number) => reconcile(id, parts, settlements),
    /**
     * Prepares a new policy.
     * @returns a function that activates it
     * @throws an Error of one sentence for the operator: a missing variable, a malformed key, or a well-known test key on a network that is
     * not local
     */
    async prepare(policy: PaymentPolicy | null): Promise<() => void> {
      const apply = await networks.prepare(policy?.networks ?? []);
      return () => {
        apply();
        inForce.policy = policy;
        counts.expect(activity.networks().map(({ id }) => id));
        reconciler.start();
      };
    },

    /** IDs of the networks that are ready. */
    ready: (): readonly string[] => networks.ready().map(({ policy }) => policy.id),

    /**
     * Makes a quote for every ready network.
     * @throws SignalboxError `payment_unavailable` if no network is ready
     */
    quote(ask: QuoteRequest): Quote {
      const connections = networks.ready();
      const { policy } = inForce;
      if (!policy || connections.length === 0) throw unavailableError();
      const quote = quoteOn(connections, ask, policy, { id: nextId(), now: now(), seal });
      counts.quoted(ask.purpose);
      return quote;
    },

    /**
     * Decodes a payment and checks everything that needs no chain or facilitator: form, version, quote seal, purpose and hash of the
     * request, named wallet, signature, and whether it already paid another quote. `read` does not check whether the quote has expired.
     * @throws SignalboxError 400 for a malformed payment, 403 `agent_wallet_mismatch`, and PaymentRefused for an error that a new quote can
     * fix
     */
    async read(submission: PaymentSubmission): Promise<SignedPayment> {
      const signed = await readPayment(submission, seal, now());
      // The payment is checked before the server reveals anything about the wallet, because the signature alone proves nothing.
      checkQuote(await orNotSent(() => find(signed)), signed);
      return signed;
    },

    /**
     * An unsettled payment of this wallet for the same request, or null. If there is an unsettled payment, the caller must not be asked for
     * another payment.
     */
    unsettled: (wallet: string, requestHash: string) => settlements.unsettled(wallet, requestHash),

    /** See `Settlements.settle`. */
    settle: <T>(signed: SignedPayment, use: PaymentUse, book: Book<T>) => settlements.settle(signed, use, book),

    /**
     * Resolves the payments of servers that have ended, each payment once. Captured payments, whose requests were abandoned, become
     * balance, and their fees are refunded; other payments wait for the chain. The holds of the ended servers must be closed before the
     * sweep.
     * @throws StoreError, by rejecting
     */
    sweep: () => sweep(options),

    /** The writes that record charge and fee, for the commit that closes the hold of a captured payment. */
    settleWrites: ({ id }: Payment, charged: Microcredits, fee: Microcredits): readonly Write[] => [
      table.settle(id, charged, fee, now()),
    ],

    /** Stops the background work. The next start continues a settlement in progress; a shutdown waits for it first. */
    close(): void {
      reconciler.stop();
      blocklist.close();
      networks.close();
    },
  });
}

async function reconcile(id: number, { register, networks }: PaymentParts, settlements: Settlements) {
  const payment = await register.table.get(id);
  if (!payment || payment.state === 'captured' || payment.state === 'settled') return payment;
  return networks.use(payment.network, async (connection): Promise<Payment> => {
    if (!connection) throw unavailableError();
    try {
      return (await settlements.reconcile(payment, connection)) ?? payment;
    } catch (cause) {
      throw isTransient(cause) ? unavailableError(cause) : cause;
    }
  });
}
