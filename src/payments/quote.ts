import type { PaymentRequired } from '@x402/core/types';
import type { Microcredits } from '../core/money/credits.ts';
import type { PaymentPurpose } from '../store/payments.ts';

/** The terms of a quote, in microcredits. The quote and the payment contain them in sealed form, because quotes are not stored. */
export interface QuoteTerms {
  /** The ID, such as `quo_0a4x1wm3zk0`. */
  readonly id: string;
  readonly purpose: PaymentPurpose;
  /** The hash from `requestHashOf`. */
  readonly requestHash: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** The maximum cost of the request. */
  readonly bound: Microcredits;
  /** The part of `bound` that the wallet's balance pays. */
  readonly credit: Microcredits;
  /** The settlement fee; 0 without a settlement. */
  readonly fee: Microcredits;
  /** The policy revision and the models for which the quote was made; empty if no model is called. */
  readonly revision: string;
  readonly models: readonly string[];
}

export interface QuoteRequest extends Omit<QuoteTerms, 'id' | 'expiresAt' | 'fee'> {
  /** URL of the resource, and a one-sentence description. */
  readonly url: string;
  readonly description: string;
  /** Whether a settlement adds its fee. A top-up has no fee. */
  readonly isFeeDue: boolean;
}

export interface Quote {
  readonly required: PaymentRequired;
  /** The price in microcredits including the fee; 0 if only a signature is needed. */
  readonly price: Microcredits;
}
