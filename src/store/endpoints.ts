import type { StoppedBilling } from '../core/abort-billing.ts';
import type { Microcredits } from '../core/credits.ts';
import type { Write } from './store.ts';

/** An endpoint by the names of the policy. */
export interface EndpointName {
  readonly provider: string;
  /** The provider's name of the model. */
  readonly upstream: string;
  readonly model: string;
}

/** A declaration of what an endpoint bills after an abort, which it has not kept. */
export interface BrokenDeclaration extends EndpointName, Pick<StoppedBilling, 'marginTokens' | 'marginMs'> {
  /** When it was first broken, ms since 1970. */
  readonly since: number;
  /** The sum billed beyond what was held. */
  readonly excess: Microcredits;
}

/**
 * The declarations that endpoints have broken, at most one of each endpoint. Every write raises the news `endpoints`.
 * State: broken declarations.
 */
export interface BrokenDeclarationTable {
  /** By provider, upstream and model. */
  all(): Promise<readonly BrokenDeclaration[]>;
  /** Replaces that of the endpoint. */
  put(broken: BrokenDeclaration): Write;
  delete(endpoint: EndpointName): Write;
}
