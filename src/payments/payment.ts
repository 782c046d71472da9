import type { Authorization } from './facilitator/facilitator.ts';
import type { QuoteTerms } from './quote.ts';

/** A payment whose form, quote seal and signature were checked. No money has moved. */
export interface SignedPayment extends Authorization {
  readonly terms: QuoteTerms;
  readonly network: string;
  /** Seals stored answers. It includes the quote's seal, because the chain shows every signature. */
  readonly secret: string;
}
