import type { Platform } from '../../core/decision/answer.ts';
import type { DecisionOutcome } from '../../core/decision/outcome.ts';
import type { Usage } from '../../core/money/usage.ts';

/** The end of an exchange, as the log, metrics and traces report it. */
export interface ExchangeResult {
  readonly outcome: DecisionOutcome;
  readonly platform: Platform;
}

/** Facts about the calls to providers. The exchange writes them, or the step that answers without a provider. */
export class ExchangeFacts {
  /** The time of the first upstream call, ms on the gateway's clock; NaN for none. */
  dispatchedAt = Number.NaN;
  /** The charged usage of failed attempts, as their providers reported it; null for none. */
  failedUsage: Usage[] | null = null;
  /** Whether a choice of the answer ended at the limit of its output, or for lack of money. */
  hasReachedCap = false;
  /** The end of the exchange; null until the exchange has ended. */
  result: ExchangeResult | null = null;

  /** Notes the charged usage of a failed attempt. */
  addFailedUsage(usage: Usage): void {
    this.failedUsage ??= [];
    this.failedUsage.push(usage);
  }

  /** Takes back the note of a usage, because the caller gets the answer after all. */
  removeFailedUsage(usage: Usage): void {
    const others = this.failedUsage?.filter((one) => one !== usage) ?? [];
    this.failedUsage = others.length > 0 ? others : null;
  }
}
