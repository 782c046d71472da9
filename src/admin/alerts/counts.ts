import { counter } from '../../host/telemetry/counts.ts';
import type { Family } from '../../host/telemetry/families.ts';

/** The end of a try: `retried` where another one follows. */
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

  /** Begins the series of webhooks, so that the first failure is an increase. */
  begin(webhooks: Iterable<{ readonly name: string }>): void {
    for (const { name } of webhooks) for (const outcome of OUTCOMES) this.#tries.at(name, outcome);
  }

  add(webhook: string, outcome: TryOutcome): void {
    this.#tries.at(webhook, outcome).value++;
  }
}
