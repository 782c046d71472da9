import type { Payment, PaymentPurpose } from '../store/payments.ts';
import type { Write } from '../store/store.ts';
import type { PaymentCounts } from './counts.ts';
import type { NetworkStatus } from './networks.ts';

/** The state of a payment after `settle`. `T` is the result of booking a new payment. */
export type Resolution<T> =
  /** The payment has just arrived and was booked. */
  | { readonly state: 'captured'; readonly payment: Payment; readonly booked: T }
  /** The payment arrived earlier, and its value is balance. */
  | { readonly state: 'known'; readonly payment: Payment }
  /** The wallet was proved without a settlement. */
  | { readonly state: 'proved' };

/**
 * Commits the deposit of an arrived payment, the hold that it pays for, and the given writes together.
 * @throws StoreError if they could not be written; the payment is then booked later, when the chain is checked
 */
export type Book<T> = (payment: Payment, captured: readonly Write[]) => Promise<T>;

/** A payment header and the request that contains it. */
export interface PaymentSubmission {
  readonly header: string;
  readonly purpose: PaymentPurpose;
  readonly requestHash: string;
  /** `agent_wallet` in lower case; null for none. */
  readonly wallet: string | null;
}

/** The purpose of a payment: its request, and the key in that request. */
export interface PaymentUse {
  /** Null if no request runs on the payment. */
  readonly decision: number | null;
  /** ID of the API key in the request; null for none. */
  readonly keyId: string | null;
  /** Aborts when the payer disconnects; absent if nothing watches the connection. */
  readonly signal?: AbortSignal | undefined;
}

/** Counts and states of payments. All counts and states of payments are in memory. */
export interface PaymentActivity {
  readonly counts: PaymentCounts;
  /** Payments of unknown outcome, oldest first. */
  unsettled(): Iterable<Payment>;
  /** The networks in the order of the active policy. */
  networks(): readonly NetworkStatus[];
}

/** A payment was refused for a reason that a new payment can fix. Nothing was charged. `reason` is a stable code. */
export class PaymentRefused extends Error {
  override readonly name = 'PaymentRefused';
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}
