import type { Microcredits } from '../core/credits.ts';
import type { Authorization } from './facilitator/facilitator.ts';
import type { Purpose, QuoteTerms } from './quote.ts';

/**
 * The states of a stored payment. A payment that is still `required`, `verifying`, `rejected` or `held` has moved no
 * money and is not stored.
 * `settling`: stored before anything is sent. `captured`: the money has arrived and is in the ledger, and the request
 * runs. `settled`: all of it was charged or became balance. `unknown`: it may have arrived, and the chain will tell.
 * `failed`: it will never arrive.
 */
export const PAYMENT_STATES = ['settling', 'captured', 'settled', 'unknown', 'failed'] as const;
export type PaymentState = (typeof PAYMENT_STATES)[number];

/** A stored payment. Amounts are microcredits except `amount`; times are ms since 1970. */
export interface Payment {
  readonly id: number;
  readonly state: PaymentState;
  readonly purpose: Purpose;
  readonly network: string;
  readonly asset: string;
  readonly payTo: string;
  /** In lower case. */
  readonly payer: string;
  readonly nonce: string;
  /** Atomic units of the asset. */
  readonly amount: bigint;
  /** The value of `amount`. */
  readonly paid: Microcredits;
  /** The operator's part of `paid`; 0 once waived. */
  readonly fee: Microcredits;
  /** The most that the request may cost. */
  readonly bound: Microcredits;
  /** The charge of its request, 0 without one. Null until known, and for a payment that the chain resolved later. */
  readonly charged: Microcredits | null;
  /** The decision that it paid for; null for none. */
  readonly decision: number | null;
  /** ID of the API key sent with it; null for none. */
  readonly keyId: string | null;
  /** ID of the quote it paid. The chain shows every signature, but not its quote. */
  readonly quote: string;
  /** A keyed hash of its request, so that nobody without the secret can confirm a guess. */
  readonly requestMark: string;
  /** Seconds since 1970. */
  readonly validBefore: number;
  readonly transaction: string | null;
  /** The reason while it is failed or unknown; else null. */
  readonly error: string | null;
  readonly created: number;
  readonly updated: number;
}

/** A payment whose form, quote seal and signature were checked. No money has moved. */
export interface SignedPayment extends Authorization {
  readonly terms: QuoteTerms;
  readonly network: string;
  /** Atomic units; 0 for a mere proof that the signer holds the wallet. */
  readonly amount: bigint;
  /** Seconds since 1970. */
  readonly validBefore: number;
  /** Seals stored answers. It includes the quote's seal, because the chain shows every signature. */
  readonly secret: string;
}
