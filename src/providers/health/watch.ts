import {
  HEALTH,
  type MeasuredCatalog,
  measuredModels,
  priorReadings,
  type Readings,
  slotCount,
} from '../../core/decision/readings.ts';
import type { Endpoint, Model } from '../../core/policy/snapshot.ts';
import type { Hub, TrackedEndpoint } from './endpoint.ts';
import { PRIOR_ANSWERS } from './endpoint-speed.ts';
import type { OutputLengths } from './output-lengths.ts';

/** The inputs of readings. */
interface MomentSource {
  readonly watched: MeasuredCatalog;
  /** The endpoints by slot. */
  readonly endpoints: readonly TrackedEndpoint[];
  readonly outputs: OutputLengths;
}

/** A snapshot's readings, and the time at which they expire without an event, in ms of the clock. */
interface Moment {
  readonly readings: Readings;
  readonly until: number;
}

/**
 * Returns a function that returns the current readings: the same object until something changes. The readings have an expiry time, so that
 * the end of an ejection needs no timer.
 */
export function watchReadings(source: MomentSource, hub: Hub, nextNumber: () => number): () => Readings {
  const prior = priorReadings(source.watched);
  let moment: Moment = { readings: prior, until: Number.POSITIVE_INFINITY };
  let version = 0;
  return () => {
    const isOld = version !== hub.version;
    if (!isOld && (moment.until === Number.POSITIVE_INFINITY || hub.clock() < moment.until)) return moment.readings;
    version = hub.version;
    moment = momentOf(prior, source, hub.clock(), nextNumber());
    return moment.readings;
  };
}

function momentOf(prior: Readings, { watched, endpoints, outputs }: MomentSource, now: number, number: number): Moment {
  const ttftMs = prior.ttftMs.slice();
  const warmTtftMs = prior.warmTtftMs.slice();
  const tokensPerSecond = prior.tokensPerSecond.slice();
  const health = new Uint8Array(endpoints.length);
  const retryAt = new Float64Array(endpoints.length);
  const priorAnswers = measuredModels(watched).flatMap(({ endpoints: own, latency }) =>
    own.map(() => PRIOR_ANSWERS[latency.basis]),
  );
  let until = Number.POSITIVE_INFINITY;
  let allHealthy = true;
  endpoints.forEach((endpoint, slot) => {
    const { ttft, warmTtft, rate } = endpoint.speed;
    const answers = priorAnswers[slot]!;
    const coldMs = ttft.blendedWith(ttftMs[slot]!, answers);
    // If no warm time to the first content is declared, only measurements count.
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
  const outputTokens = outputs.lengthsFor(watched.tasks);
  return {
    readings: { number, ttftMs, warmTtftMs, tokensPerSecond, health, retryAt, allHealthy, outputTokens },
    until,
  };
}

/** Returns the endpoints of all models by slot. */
export function endpointsBySlot(
  models: readonly Model[],
  find: (endpoint: Endpoint, model: string) => TrackedEndpoint,
): TrackedEndpoint[] {
  const endpoints = new Array<TrackedEndpoint>(slotCount(models));
  for (const model of models) {
    model.endpoints.forEach((endpoint, at) => {
      endpoints[model.firstSlot + at] = find(endpoint, model.id);
    });
  }
  return endpoints;
}
