/**
 * A service's bill for an answer whose connection is closed before its end. `stops`: only what it wrote, and at most the
 * margin beyond what had been read by then. `whole`: the answer that it would have written. `unknown`: any of that.
 */
export type AbortBilling = StoppedBilling | { readonly bills: 'whole' | 'unknown' };

/** Both margins count: together they bound what is billed beyond what had been read. */
export interface StoppedBilling {
  readonly bills: 'stops';
  /** Output tokens that it may have written and not sent. */
  readonly marginTokens: number;
  /**
   * When it reports usage. Only `each`, with each event or nearly, lets a hold grow: until a report each byte must count as a
   * token, so that an answer would use up its hold several times as fast as it costs.
   */
  readonly reports: 'each' | 'end';
  /** Milliseconds until it notices and stops, with the way there and back. */
  readonly marginMs: number;
}

/** Returns what an endpoint declares: what its own entry states, else its provider. */
export const abortBillingOf = (
  { afterAbort, provider }: { readonly afterAbort?: AbortBilling; readonly provider: string },
  providers: ReadonlyMap<string, { readonly afterAbort: AbortBilling }>,
): AbortBilling => afterAbort ?? providers.get(provider)!.afterAbort;

export const UNKNOWN_BILLING: AbortBilling = Object.freeze({ bills: 'unknown' });
