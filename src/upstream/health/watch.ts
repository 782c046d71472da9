import { HEALTH, priorReadings, type Readings, slotCount, type Watched } from '../../core/readings.ts';
import type { Model } from '../../core/snapshot.ts';
import type { Endpoint, Hub } from './endpoint.ts';
import { blend } from './figures.ts';

/** The readings of a snapshot and how long they hold if nothing happens, ms on the clock. */
interface Frame {
  readonly readings: Readings;
  readonly until: number;
}

/**
 * Gives the present frame: the same object until something changed. It knows itself until when it
 * holds, so that the end of an ejection is seen without a timer. `endpoints` by slot.
 */
export function watchReadings(
  watched: Watched,
  endpoints: readonly Endpoint[],
  hub: Hub,
  nextNumber: () => number,
): () => Readings {
  const prior = priorReadings(watched);
  let frame: Frame = { readings: prior, until: Number.POSITIVE_INFINITY };
  let version = 0;
  return () => {
    const isOld = version !== hub.version;
    if (!isOld && (frame.until === Number.POSITIVE_INFINITY || hub.clock() < frame.until)) return frame.readings;
    version = hub.version;
    frame = frameOf(prior, endpoints, hub.clock(), nextNumber());
    return frame.readings;
  };
}

function frameOf(prior: Readings, endpoints: readonly Endpoint[], now: number, number: number): Frame {
  const ttftMs = prior.ttftMs.slice();
  const warmTtftMs = prior.warmTtftMs.slice();
  const tokensPerSecond = prior.tokensPerSecond.slice();
  const health = new Uint8Array(endpoints.length);
  const retryAt = new Float64Array(endpoints.length);
  let until = Number.POSITIVE_INFINITY;
  let allHealthy = true;
  endpoints.forEach((endpoint, slot) => {
    const { ttft, rate } = endpoint.figures;
    if (ttft.published !== null) ttftMs[slot] = blend(ttftMs[slot]!, ttft.published);
    if (rate.published !== null) tokensPerSecond[slot] = blend(tokensPerSecond[slot]!, rate.published);
    const state = endpoint.healthAt(now);
    if (state === HEALTH.healthy) return;
    allHealthy = false;
    health[slot] = state;
    retryAt[slot] = endpoint.retryAtUnix(now);
    until = Math.min(until, endpoint.nextChange(now));
  });
  const { outputTokens } = prior;
  return {
    readings: { frame: number, ttftMs, warmTtftMs, tokensPerSecond, health, retryAt, allHealthy, outputTokens },
    until,
  };
}

/** The endpoints of all models by slot, as `find` knows them. */
export function endpointsBySlot(
  models: readonly Model[],
  find: (provider: string, upstream: string, model: string) => Endpoint,
): Endpoint[] {
  const endpoints = new Array<Endpoint>(slotCount(models));
  for (const model of models) {
    model.endpoints.forEach(({ provider, upstream }, at) => {
      endpoints[model.firstSlot + at] = find(provider, upstream, model.id);
    });
  }
  return endpoints;
}
