import type { DecisionRecord } from '../../core/decision/record.ts';
import type { Microcredits } from '../../core/money/credits.ts';
import type { Certificate } from '../../routing/certify.ts';

/** Why an answer that is not from a model has no certificate. */
export const ANSWERED_HERE = 'A step of the gateway answered this request, so no model was chosen.';

/**
 * A decision record with the certificate of its decision. The certificate is not stored: it is computed by deciding again from the record.
 */
export interface RecordedCertificate {
  readonly record: DecisionRecord;
  readonly certificate: Certificate | null;
  /** Why there is no certificate; null with a certificate. */
  readonly reason: string | null;
  /**
   * Whether the repeated decision has the same choice, fallbacks and last resorts, and each attempt the same
   * endpoint; null without a certificate.
   */
  readonly matches: boolean | null;
  /**
   * Whether each attempt at a model with `spread` gets the same endpoint again; null if no endpoint was chosen among several, or an earlier
   * version chose them all.
   */
  readonly repeatsEndpoints: boolean | null;
  /** The cost of the used tokens at other models; null without a certificate or usage. */
  readonly hindsight: Hindsight | null;
  /** The providers that were not set up at the time of the decision, each with its missing variables; null without a certificate. */
  readonly leftOut: readonly string[] | null;
}

/** The cost of the used tokens at other models. */
export interface Hindsight {
  /** The cost at the runner-up's first open endpoint; null without a runner-up. */
  readonly runnerUp: Microcredits | null;
  readonly baseline: Microcredits | null;
}

/** A recorded decision with its certificate and qualities. */
export interface Explanation extends RecordedCertificate {
  /** The quality of each model, by model ID. */
  readonly quality: Readonly<Record<string, number>>;
}
