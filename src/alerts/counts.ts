import { counter } from '../telemetry/counts.ts';
import type { Family } from '../telemetry/families.ts';

/** The end of a try: `retried` where another one follows. */
type TryOutcome = 'sent' | 'retried' | 'failed';

/** Counts tries to send alerts. */
export class AlertCounts {
  readonly #tries = counter({
    name: 'signalbox_alerts_total',
    help: 'Tries to send an alert, by webhook and outcome: `sent`, `retried`, or `failed` after the last.',
    labels: ['webhook', 'outcome'],
  });

  get families(): readonly Family[] {
    return [this.#tries.family];
  }

  add(webhook: string, outcome: TryOutcome): void {
    this.#tries.at(webhook, outcome).value++;
  }
}
