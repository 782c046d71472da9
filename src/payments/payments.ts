import type { Microcredits } from '../core/credits.ts';
import type { PaymentPolicy } from '../core/payment-policy.ts';
import type { Write } from '../store/store.ts';
import type { PaymentCounts } from './counts.ts';
import type { NetworkStanding } from './networks.ts';
import type { Offer, Payment, PaymentState } from './payment.ts';
import type { Purpose, Quote, QuoteAsk } from './quote.ts';

/** What a payment may do at this moment. `T` is what the booking of a new one has made. */
export type Resolution<T> =
  /** It has just arrived, and was booked. */
  | { readonly state: 'captured'; readonly payment: Payment; readonly booked: T }
  /** It arrived before: what it brought is balance. */
  | { readonly state: 'known'; readonly payment: Payment }
  /** A mere proof of the wallet, which settles nothing. */
  | { readonly state: 'proved' };

/**
 * Books a payment that has arrived: its deposit, what that pays for, and the writes that it is given, in one commit.
 * Rejects with StoreError when it could not be written; then the chain's word is booked later.
 */
export type Book<T> = (payment: Payment, captured: readonly Write[]) => Promise<T>;

/** What a request says beside its payment. */
export interface Offered {
  readonly header: string;
  readonly purpose: Purpose;
  readonly requestHash: string;
  /** `agent_wallet`, in lower case; null for none. */
  readonly wallet: string | null;
}

/** What else is known of who pays. */
export interface Beside {
  /** What the payment is for; null where no request runs on it. */
  readonly decision: number | null;
  /** ID of the API key that came with it; null for none. */
  readonly keyId: string | null;
  /** Tells that whoever sent it has left; absent where nobody looks. */
  readonly signal?: AbortSignal | undefined;
}

/** Which payments are listed, newest first. */
export interface PaymentQuery {
  readonly state: PaymentState | null;
  readonly payer: string | null;
  readonly limit: number;
  /** Only those made before this one; null for all. */
  readonly before: number | null;
}

/** What has been done, and how things stand, from what is in memory: nobody is asked. */
export interface PaymentActivity {
  readonly counts: PaymentCounts;
  /** Of which it is not known what became of them, oldest first. */
  unsettled(): Iterable<Payment>;
  /** Of the policy in force, in its order. */
  networks(): readonly NetworkStanding[];
}

/** Takes payments by x402 and keeps what became of them. One for each server, there while payments are off, too. */
export interface Payments {
  /** Of the policy in force; null while payments are off. */
  readonly policy: PaymentPolicy | null;
  readonly activity: PaymentActivity;
  /**
   * Makes ready for another policy, and resolves with what puts it in force. Rejects with an Error of one sentence that
   * an operator can act on: a variable that is not set, a key that is none, a key of a public test on a network that is
   * not local.
   */
  prepare(policy: PaymentPolicy | null): Promise<() => void>;
  /** IDs of the networks that can be paid on now. */
  ready(): readonly string[];
  /** Offers every network that is ready. Throws SignalboxError `payment_unavailable` when none is. */
  quote(ask: QuoteAsk): Quote;
  /**
   * Reads a payment and judges all that can be judged without asking anybody else: form, version, seal of the quote,
   * purpose and hash of the request, the wallet that was named, the signature, whether it came with another quote
   * before. Throws SignalboxError: 400 for what is not of the form, 403 `agent_wallet_mismatch`, and PaymentRefused for
   * what a new quote can mend. Not whether the quote has expired.
   */
  read(offered: Offered): Promise<Offer>;
  /** What became of a payment that was offered before; null for one that is new. */
  known(offer: Offer): Promise<Payment | null>;
  /** An unsettled payment of this wallet for this very request: nobody may be asked to pay for it anew. Null for none. */
  unsettled(wallet: string, requestHash: string): Payment | null;
  /**
   * Has a payment settled, after it was looked at once more: whether the quote has expired, the time that is left, the
   * chain's view. A payment that was offered before is resolved by the chain instead. Its row is durable before
   * anything is sent. Rejects with PaymentRefused, or SignalboxError `payment_unavailable`, `payment_unsettled`.
   */
  settle<T>(offer: Offer, beside: Beside, book: Book<T>): Promise<Resolution<T>>;
  /**
   * For the commit that closes the reservation which a captured payment was for: charged so much, and the fee kept or
   * waived.
   */
  settled(payment: Payment, charged: Microcredits, fee: Microcredits): readonly Write[];
  get(id: number): Promise<Payment | null>;
  list(query: PaymentQuery): Promise<readonly Payment[]>;
  /**
   * Asks the chain what became of a payment, now. Null when there is none. Rejects with SignalboxError
   * `payment_unavailable`.
   */
  reconcile(id: number): Promise<Payment | null>;
  /** Whether the operator has shut a wallet out. */
  isBlocked(wallet: string): boolean;
  /** In one commit with `also`. Rejects with StoreError, and then nothing has changed. */
  block(wallet: string, note: string, also?: readonly Write[]): Promise<void>;
  unblock(wallet: string, also?: readonly Write[]): Promise<void>;
  /** Ends what runs for it. A settlement that is still under way is left to the next start: a shutdown waits first. */
  close(): void;
}

/** A payment that is refused for a reason that a new one can mend; nothing was charged. `reason` is a stable word. */
export class PaymentRefused extends Error {
  override readonly name = 'PaymentRefused';
  readonly reason: string;

  constructor(reason: string, message: string) {
    super(message);
    this.reason = reason;
  }
}
