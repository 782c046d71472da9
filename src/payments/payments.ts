import type { Payment, PaymentPurpose } from '../store/payments.ts';
import type { Write } from '../store/store.ts';
import type { PaymentCounts } from './counts.ts';
import type { NetworkStatus } from './networks.ts';

/** The state of a payment after `settle`. `T` is the result of booking a new one. */
export type Resolution<T> =
  /** The payment has just arrived and was booked. */
  | { readonly state: 'captured'; readonly payment: Payment; readonly booked: T }
  /** The payment arrived before, and its value is balance. */
  | { readonly state: 'known'; readonly payment: Payment }
  /** A proof of the wallet, without a settlement. */
  | { readonly state: 'proved' };

/**
 * Commits the deposit of a payment that has arrived, the hold that it pays for, and the given writes, all at
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

/** A payment refused for a reason that a new one can mend. Nothing was charged. `reason` is a stable code. */
export class PaymentRefused extends Error {
  override readonly name = 'PaymentRefused';
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}
