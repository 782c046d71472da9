import { measuredModels, priorReadings, type Readings } from '../../core/readings.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import type { Runtime } from '../../runtime/runtime.ts';

/**
 * The present measurements for another policy than that in force: those of the endpoints that both have, by their names. An endpoint that
 * is not in force has the figures of its policy.
 * @returns null where they have no endpoint in common
 */
export function readingsAlike(snapshot: PolicySnapshot, inForce: Runtime): Readings | null {
  const present = inForce.readings();
  const slots = new Map(
    measuredModels(inForce.snapshot).flatMap(({ id, firstSlot, endpoints }) =>
      endpoints.map(({ provider, upstream }, at) => [nameOf(id, provider, upstream), firstSlot + at] as const),
    ),
  );
  const readings = priorReadings(snapshot);
  let shared = 0;
  for (const { id, firstSlot, endpoints } of measuredModels(snapshot)) {
    for (const [at, { provider, upstream }] of endpoints.entries()) {
      const from = slots.get(nameOf(id, provider, upstream));
      if (from === undefined) continue;
      shared++;
      for (const figure of ['ttftMs', 'warmTtftMs', 'tokensPerSecond', 'health', 'retryAt'] as const) {
        readings[figure][firstSlot + at] = present[figure][from] ?? 0;
      }
    }
  }
  const allHealthy = readings.health.every((health) => health === 0);
  return shared === 0 ? null : { ...readings, ...inForce.outputs.lengthsFor(snapshot), allHealthy };
}

const nameOf = (model: string, provider: string, upstream: string): string =>
  JSON.stringify([model, provider, upstream]);
