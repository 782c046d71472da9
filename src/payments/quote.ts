import type { PaymentRequired } from '@x402/core/types';
import type { Microcredits } from '../core/credits.ts';

/** What is paid for: a quote for one is of no use for another. */
export type Purpose = 'chat' | 'topup' | 'keys';

/**
 * What a quote has promised. It travels with the quote, sealed, and comes back with the payment: nothing is stored of a
 * quote, however many are asked for. Amounts are microcredits.
 */
export interface QuoteTerms {
  /** Such as `quo_0a4x1wm3zk0`. */
  readonly id: string;
  readonly purpose: Purpose;
  /** Of the request: its body, and its `Idempotency-Key` if it has one. As `requestHashOf` makes it. */
  readonly requestHash: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** The most that the request will cost: it is carried out within that. */
  readonly bound: Microcredits;
  /** What of it the wallet's balance pays. */
  readonly credit: Microcredits;
  /** What the settlement adds; 0 where nothing is to be settled. */
  readonly fee: Microcredits;
  /** The policy that it was made by, and the models that it was made for; empty where no model is called. */
  readonly revision: string;
  readonly models: readonly string[];
}

/** What is asked for. */
export interface QuoteAsk extends Omit<QuoteTerms, 'id' | 'expiresAt' | 'fee'> {
  /** URL of the resource, and what it is in one sentence. */
  readonly url: string;
  readonly description: string;
  /** Whether a settlement adds its fee: a top-up's does not. */
  readonly isFeeDue: boolean;
}

/** A quote as it goes out. */
export interface Quote {
  readonly required: PaymentRequired;
  /** What is to be paid, in microcredits, fee included; 0 for a mere signature. */
  readonly price: Microcredits;
}
