import type { StoppedBilling } from '../core/money/abort-billing.ts';
import type { Microcredits } from '../core/money/credits.ts';
import type { Write } from './store.ts';

/** An endpoint, identified by names that the policy uses. */
export interface EndpointName {
  readonly provider: string;
  /** The provider's name for the model. */
  readonly upstream: string;
  readonly model: string;
}

/** A broken declaration: the policy declares what an endpoint bills after an abort, and the endpoint billed more. */
export interface BrokenDeclaration extends EndpointName, Pick<StoppedBilling, 'marginTokens' | 'marginMs'> {
  /** When the declaration was first broken, ms since 1970. */
  readonly since: number;
  /** The sum, in microcredits, that the provider billed beyond what was held. */
  readonly excess: Microcredits;
}

/** The broken declarations, at most one for each endpoint. Every write raises the news `endpoints`. State: broken declarations. */
export interface BrokenDeclarationTable {
  /** Returns all broken declarations, ordered by provider, upstream and model. */
  all(): Promise<readonly BrokenDeclaration[]>;
  /** Adds a broken declaration, or replaces the broken declaration of the same endpoint. */
  put(broken: BrokenDeclaration): Write;
  delete(endpoint: EndpointName): Write;
}
