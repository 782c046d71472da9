import { counter } from '../../host/telemetry/counts.ts';
import type { Family } from '../../host/telemetry/families.ts';

/** How a try ended. After `retried`, another try follows. */
const OUTCOMES = ['sent', 'retried', 'failed'] as const;
type TryOutcome = (typeof OUTCOMES)[number];

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

  /** Creates the metric series of each webhook with 0, so that monitoring sees the first failure as an increase. */
  begin(webhooks: Iterable<{ readonly name: string }>): void {
    for (const { name } of webhooks) for (const outcome of OUTCOMES) this.#tries.at(name, outcome);
  }

  add(webhook: string, outcome: TryOutcome): void {
    this.#tries.at(webhook, outcome).value++;
  }
}
