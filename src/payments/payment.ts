import type { Microcredits } from '../core/credits.ts';
import type { Authorization } from './facilitator/facilitator.ts';
import type { Purpose, QuoteTerms } from './quote.ts';

/**
 * What became of a payment. Before these it is `required`, `verifying`, `rejected` or `held`, of which nothing is
 * stored, for nothing has moved.
 *
 * `settling`: written before anything is sent. `captured`: the money has arrived and is in the ledger; its request
 * runs. `settled`: all of it is charged or balance. `unknown`: it may have arrived; the chain will tell. `failed`: it
 * never will.
 */
export const PAYMENT_STATES = ['settling', 'captured', 'settled', 'unknown', 'failed'] as const;
export type PaymentState = (typeof PAYMENT_STATES)[number];

/** A payment as it is stored. Amounts are microcredits but for `amount`; times are ms since 1970. */
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
  /** Atomic units. */
  readonly amount: bigint;
  /** What these are worth. */
  readonly paid: Microcredits;
  /** What of that the operator keeps; 0 once it was waived. */
  readonly fee: Microcredits;
  /** The most that its request may cost. */
  readonly bound: Microcredits;
  /** What its request was charged, 0 where none ran; null before that is known, and where the chain was asked later. */
  readonly charged: Microcredits | null;
  /** Decision that it paid for; null for none. */
  readonly decision: number | null;
  /** ID of the API key that came beside it; null for none. */
  readonly keyId: string | null;
  /** ID of the quote that it paid: everybody reads the signature on the chain, and not what it was given for. */
  readonly quote: string;
  /** Of its request, under a secret: without that nobody can tell by it what was asked. */
  readonly requestMark: string;
  /** Seconds since 1970. */
  readonly validBefore: number;
  readonly transaction: string | null;
  /** Why it failed or is unknown; null otherwise. */
  readonly error: string | null;
  readonly created: number;
  readonly updated: number;
}

/** A payment that was offered: its form, its quote's seal and its signature are good. Nothing has moved. */
export interface Offer extends Authorization {
  readonly terms: QuoteTerms;
  readonly network: string;
  /** Atomic units; 0 for a mere proof that the signer holds the wallet. */
  readonly amount: bigint;
  /** Seconds since 1970. */
  readonly validBefore: number;
  /**
   * What kept answers are sealed with: the signature with the seal of its quote, for the chain shows every signature.
   */
  readonly secret: string;
}
