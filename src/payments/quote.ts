import type { PaymentRequired } from '@x402/core/types';
import type { Microcredits } from '../core/credits.ts';
import type { PaymentPurpose } from '../store/payments.ts';

/** The terms of a quote, in microcredits. They travel sealed with quote and payment: quotes are not stored. */
export interface QuoteTerms {
  /** Such as `quo_0a4x1wm3zk0`. */
  readonly id: string;
  readonly purpose: PaymentPurpose;
  /** As `requestHashOf` makes it. */
  readonly requestHash: string;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
  /** The limit on the request's cost. */
  readonly bound: Microcredits;
  /** The part of `bound` that the wallet's balance pays. */
  readonly credit: Microcredits;
  /** The settlement fee; 0 without a settlement. */
  readonly fee: Microcredits;
  /** The policy revision, and the models it was made for; empty where no model is called. */
  readonly revision: string;
  readonly models: readonly string[];
}

export interface QuoteRequest extends Omit<QuoteTerms, 'id' | 'expiresAt' | 'fee'> {
  /** URL of the resource, and a one-sentence description. */
  readonly url: string;
  readonly description: string;
  /** Whether a settlement adds its fee. A top-up's does not. */
  readonly isFeeDue: boolean;
}

export interface Quote {
  readonly required: PaymentRequired;
  /** Microcredits, fee included; 0 where only a signature is needed. */
  readonly price: Microcredits;
}
