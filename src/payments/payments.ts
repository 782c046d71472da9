import type { Microcredits } from '../core/credits.ts';
import type { PaymentPolicy } from '../core/payment-policy.ts';
import type { Payment, PaymentPurpose, PaymentQuery } from '../store/payments.ts';
import type { Write } from '../store/store.ts';
import type { PaymentCounts } from './counts.ts';
import type { NetworkStatus } from './networks.ts';
import type { SignedPayment } from './payment.ts';
import type { Quote, QuoteRequest } from './quote.ts';

/** The state of a payment after `settle`. `T` is the result of booking a new one. */
export type Resolution<T> =
  /** The payment has just arrived and was booked. */
  | { readonly state: 'captured'; readonly payment: Payment; readonly booked: T }
  /** The payment arrived before, and its value is balance. */
  | { readonly state: 'known'; readonly payment: Payment }
  /** A proof of the wallet, without a settlement. */
  | { readonly state: 'proved' };

/**
 * Commits the deposit of a payment that has arrived, the reservation that it pays for, and the given writes, all at
 * once.
 * @throws StoreError when they could not be written; the payment is then booked later, by the chain.
 */
export type Book<T> = (payment: Payment, captured: readonly Write[]) => Promise<T>;

/** A payment header and the request that carries it. */
export interface PaymentSubmission {
  readonly header: string;
  readonly purpose: PaymentPurpose;
  readonly requestHash: string;
  /** `agent_wallet` in lower case; null for none. */
  readonly wallet: string | null;
}

/** The use of a payment: its request, and the key that came with it. */
export interface PaymentUse {
  /** Null where no request runs on it. */
  readonly decision: number | null;
  /** ID of the API key sent with it; null for none. */
  readonly keyId: string | null;
  /** Aborts when the payer disconnects; absent where that is not watched. */
  readonly signal?: AbortSignal | undefined;
}

/** Counts and states of payments, all read from memory. */
export interface PaymentActivity {
  readonly counts: PaymentCounts;
  /** Payments of unknown outcome, oldest first. */
  unsettled(): Iterable<Payment>;
  /** In the order of the policy in force. */
  networks(): readonly NetworkStatus[];
}

/** Takes x402 payments and stores their outcomes. One for each server, present while payments are off, too. */
export interface Payments {
  /** Of the policy in force; null while payments are off. */
  readonly policy: PaymentPolicy | null;
  readonly activity: PaymentActivity;
  /**
   * Prepares another policy.
   * @returns a function that puts it in force.
   * @throws an Error of one sentence for the operator: a variable that is not set, a malformed key, a well-known test
   * key on a network that is not local.
   */
  prepare(policy: PaymentPolicy | null): Promise<() => void>;
  /** IDs of the networks that are ready. */
  ready(): readonly string[];
  /** Makes a quote on every ready network. Throws SignalboxError `payment_unavailable` when none is. */
  quote(request: QuoteRequest): Quote;
  /**
   * Decodes a payment and checks all that needs no chain or facilitator: form, version, quote seal, purpose and hash of
   * the request, named wallet, signature, and whether it paid another quote before. Does not check whether the quote
   * has expired.
   * @throws SignalboxError 400 for a malformed payment, 403 `agent_wallet_mismatch`, and PaymentRefused for an error
   * that a new quote can mend.
   */
  read(submission: PaymentSubmission): Promise<SignedPayment>;
  /** Returns the stored payment of this authorization; null if there is none. */
  find(signed: SignedPayment): Promise<Payment | null>;
  /** An unsettled payment of this wallet for the same request, or null. With one, do not ask for another. */
  unsettled(wallet: string, requestHash: string): Payment | null;
  /**
   * Settles a payment after a last check of quote expiry, remaining validity and the chain's view. A payment submitted
   * before is resolved by the chain instead. The row is durable before anything is sent.
   * @throws PaymentRefused, SignalboxError `payment_unavailable`, `payment_unsettled`.
   */
  settle<T>(signed: SignedPayment, context: PaymentUse, book: Book<T>): Promise<Resolution<T>>;
  /** The writes that record charge and fee, for the commit that closes the reservation of a captured payment. */
  settleWrites(payment: Payment, charged: Microcredits, fee: Microcredits): readonly Write[];
  get(id: number): Promise<Payment | null>;
  list(query: PaymentQuery): Promise<readonly Payment[]>;
  /** Asks the chain about a payment now. Null for an unknown ID. Throws SignalboxError `payment_unavailable`. */
  reconcile(id: number): Promise<Payment | null>;
  isBlocked(wallet: string): boolean;
  /** Commits together with `also`. Throws StoreError and changes nothing. */
  block(wallet: string, note: string, also?: readonly Write[]): Promise<void>;
  unblock(wallet: string, also?: readonly Write[]): Promise<void>;
  /** Stops the background work. A settlement in progress is left to the next start; a shutdown waits for it first. */
  close(): void;
}

/** A payment refused for a reason that a new one can mend. Nothing was charged. `reason` is a stable code. */
export class PaymentRefused extends Error {
  override readonly name = 'PaymentRefused';
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}
