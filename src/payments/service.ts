import type { Microcredits } from '../core/credits.ts';
import type { PaymentPolicy } from '../core/payment-policy.ts';
import type { Timers } from '../core/timers.ts';
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
  /** Returns growing numbers that never repeat and are distinct from those of decisions. */
  readonly nextId: () => number;
  readonly env: (name: string) => string | undefined;
  readonly deposit: Ledger['deposit'];
  readonly log: Log;
  /** Whether payments of nobody are this instance's to check. Absent: it is alone. */
  readonly lead?: Lead;
  /** Default: `facilitator/network.ts`. */
  readonly openNetwork?: OpenNetwork;
  /** Between two rounds of reconciliation, ms; 5,000 by default. */
  readonly reconcileEveryMs?: number;
  /** Sets its regular work; the process's own unless stated. */
  readonly timers?: Timers;
}

/** Opens the payments of this server, off until a policy is in force. Throws StoreError. */
export async function openPayments(options: PaymentsOptions): Promise<Payments> {
  const { store, instance, now } = options;
  const [register, blocklist, seal] = [
    await loadRegister(store, instance),
    await loadBlocklist(store, now),
    await loadSeal(store),
  ];
  return paymentsOf(options, { register, blocklist, seal });
}

/** Takes x402 payments and stores their outcomes. One for each server, present while payments are off, too. */
export type Payments = ReturnType<typeof paymentsOf>;

function paymentsOf(options: PaymentsOptions, stored: Pick<PaymentParts, 'register' | 'blocklist' | 'seal'>) {
  const { store, instance, now, nextId, env, deposit, log } = options;
  const { openNetwork = openByPolicy, reconcileEveryMs = 5_000, timers = processTimers, lead = ALONE } = options;
  const { register, blocklist, seal } = stored;
  const { table } = register;
  /** The policy in force; null while payments are off. */
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
    /** Asks the chain about a payment now. Null for an unknown ID. Throws SignalboxError `payment_unavailable`. */
    reconcile: (id: number) => reconcile(id, parts, settlements),
    /**
     * Prepares another policy.
     * @returns a function that puts it in force.
     * @throws an Error of one sentence for the operator: a variable that is not set, a malformed key, a well-known test
     * key on a network that is not local.
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

    /** Makes a quote on every ready network. Throws SignalboxError `payment_unavailable` when none is. */
    quote(ask: QuoteRequest): Quote {
      const connections = networks.ready();
      const { policy } = inForce;
      if (!policy || connections.length === 0) throw unavailableError();
      const quote = quoteOn(connections, ask, policy, { id: nextId(), now: now(), seal });
      counts.quoted(ask.purpose);
      return quote;
    },

    /**
     * Decodes a payment and checks all that needs no chain or facilitator: form, version, quote seal, purpose and hash of
     * the request, named wallet, signature, and whether it paid another quote before. Does not check whether the quote
     * has expired.
     * @throws SignalboxError 400 for a malformed payment, 403 `agent_wallet_mismatch`, and PaymentRefused for an error
     * that a new quote can mend.
     */
    async read(submission: PaymentSubmission): Promise<SignedPayment> {
      const signed = await readPayment(submission, seal, now());
      // Before anything about the wallet is revealed: the signature alone proves nothing.
      checkQuote(await orNotSent(() => find(signed)), signed);
      return signed;
    },

    /** An unsettled payment of this wallet for the same request, or null. With one, do not ask for another. */
    unsettled: (wallet: string, requestHash: string) => settlements.unsettled(wallet, requestHash),

    /** As `Settlements.settle`. */
    settle: <T>(signed: SignedPayment, use: PaymentUse, book: Book<T>) => settlements.settle(signed, use, book),

    /**
     * Resolves the payments of instances that have ended, each once: captured ones, whose requests were abandoned, become
     * balance, and their fees are given back; others wait for the chain. Call it once the holds of those instances are closed.
     * Rejects with StoreError.
     */
    sweep: () => sweep(options),

    /** The writes that record charge and fee, for the commit that closes the hold of a captured payment. */
    settleWrites: ({ id }: Payment, charged: Microcredits, fee: Microcredits): readonly Write[] => [
      table.settle(id, charged, fee, now()),
    ],

    /** Stops the background work. A settlement in progress is left to the next start; a shutdown waits for it first. */
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
