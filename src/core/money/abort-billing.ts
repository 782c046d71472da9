/**
 * The part of an answer that a service bills if the connection is closed before the end of the answer. `stops`: only the tokens that it wrote before it noticed,
 * within the stated margin. `whole`: the whole answer, as if it had been read to its end. `unknown`: the service may bill like `stops` or
 * like `whole`.
 */
export type AbortBilling = StoppedBilling | { readonly bills: 'whole' | 'unknown' };

/** A service that stops soon after an abort. The bill exceeds the part that the gateway has read by at most the sum of both margins. */
export interface StoppedBilling {
  readonly bills: 'stops';
  /** Output tokens that the service may have written but not yet sent. */
  readonly marginTokens: number;
  /**
   * When the service reports the usage of an answer. A hold may grow in steps only with `each` (a report with nearly each event): without
   * reports, each byte must count as a token, so an answer would use up its hold several times as fast as its real cost.
   */
  readonly reports: 'each' | 'end';
  /** Milliseconds until the service notices the abort and stops, including the network round trip. */
  readonly marginMs: number;
}

/** Returns what applies to an endpoint: its own entry in the policy if it has one, otherwise its provider's entry. */
export const abortBillingOf = (
  { afterAbort, provider }: { readonly afterAbort?: AbortBilling; readonly provider: string },
  providers: ReadonlyMap<string, { readonly afterAbort: AbortBilling }>,
): AbortBilling => afterAbort ?? providers.get(provider)!.afterAbort;

export const UNKNOWN_BILLING: AbortBilling = Object.freeze({ bills: 'unknown' });
