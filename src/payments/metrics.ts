import { gaugeBy } from '../host/telemetry/counts.ts';
import type { Family } from '../host/telemetry/families.ts';
import type { Payments } from './service.ts';

export function paymentFamilies({ activity }: Pick<Payments, 'activity'>): readonly Family[] {
  return [
    ...activity.counts.families,
    gaugeBy('signalbox_payments_unsettled', 'Payments with an unknown outcome.', 'network', () => {
      const unsettled = new Map(activity.networks().map(({ id }) => [id, 0]));
      for (const { network } of activity.unsettled()) unsettled.set(network, (unsettled.get(network) ?? 0) + 1);
      return unsettled;
    }),
    gaugeBy('signalbox_payment_network_ready', '1 if payments work on this network.', 'network', () =>
      activity.networks().map(({ id, isReady }) => [id, isReady ? 1 : 0]),
    ),
    gaugeBy('signalbox_payment_gas_ratio', 'Gas balance divided by the alarm level.', 'network', () =>
      activity.networks().flatMap(({ id, gasRatio }) => (gasRatio === null ? [] : [[id, gasRatio] as const])),
    ),
  ];
}
