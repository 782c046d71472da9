import { HEALTH, priorReadings, type Readings, slotCount, type Watched } from '../../core/readings.ts';
import type { Model } from '../../core/snapshot.ts';
import type { Endpoint, Hub } from './endpoint.ts';
import { PRIOR_ANSWERS } from './figures.ts';
import type { Outputs } from './outputs.ts';

/** What readings are made of. */
interface Seen {
  readonly watched: Watched;
  /** By slot. */
  readonly endpoints: readonly Endpoint[];
  readonly outputs: Outputs;
}

/** The readings of a snapshot and how long they hold if nothing happens, ms on the clock. */
interface Frame {
  readonly readings: Readings;
  readonly until: number;
}

/**
 * Gives the present frame: the same object until something changed. It knows itself until when it
 * holds, so that the end of an ejection is seen without a timer.
 */
export function watchReadings(seen: Seen, hub: Hub, nextNumber: () => number): () => Readings {
  const prior = priorReadings(seen.watched);
  let frame: Frame = { readings: prior, until: Number.POSITIVE_INFINITY };
  let version = 0;
  return () => {
    const isOld = version !== hub.version;
    if (!isOld && (frame.until === Number.POSITIVE_INFINITY || hub.clock() < frame.until)) return frame.readings;
    version = hub.version;
    frame = frameOf(prior, seen, hub.clock(), nextNumber());
    return frame.readings;
  };
}

function frameOf(prior: Readings, { watched, endpoints, outputs }: Seen, now: number, number: number): Frame {
  const ttftMs = prior.ttftMs.slice();
  const warmTtftMs = prior.warmTtftMs.slice();
  const tokensPerSecond = prior.tokensPerSecond.slice();
  const health = new Uint8Array(endpoints.length);
  const retryAt = new Float64Array(endpoints.length);
  const priorAnswers = watched.models.flatMap(({ endpoints: own, latency }) =>
    own.map(() => PRIOR_ANSWERS[latency.basis]),
  );
  let until = Number.POSITIVE_INFINITY;
  let allHealthy = true;
  endpoints.forEach((endpoint, slot) => {
    const { ttft, warmTtft, rate } = endpoint.figures;
    const answers = priorAnswers[slot]!;
    const coldMs = ttft.blendedWith(ttftMs[slot]!, answers);
    // Where nothing is declared of a full cache, it helps as far as it was seen to.
    const declaredMs = warmTtftMs[slot]! < ttftMs[slot]! ? warmTtftMs[slot]! : coldMs;
    ttftMs[slot] = coldMs;
    warmTtftMs[slot] = Math.min(coldMs, warmTtft.blendedWith(declaredMs, answers));
    tokensPerSecond[slot] = rate.blendedWith(tokensPerSecond[slot]!, answers);
    const state = endpoint.healthAt(now);
    if (state === HEALTH.healthy) return;
    allHealthy = false;
    health[slot] = state;
    retryAt[slot] = endpoint.retryAtUnix(now);
    until = Math.min(until, endpoint.nextChange(now));
  });
  const outputTokens = prior.outputTokens.map((declared, at) => outputs.expected(watched.tasks[at]!.name, declared));
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
