import type { Model, Task, Wildcards } from '../policy/snapshot.ts';

/** States of an endpoint's health. `Readings.health` holds these numbers. */
export const HEALTH = {
  healthy: 0,
  /** A circuit breaker opened because of too many faults. */
  ejected: 1,
  /** The provider requested a pause with a 429. */
  cooling: 2,
  /** The provider refuses the gateway's API key. */
  misconfigured: 3,
  /** The gateway's account at the provider has no credit left. */
  out_of_credit: 4,
  /** The server of the operator does not have the model. */
  absent: 5,
} as const;

export type HealthState = keyof typeof HEALTH;

/**
 * Health and speed of a snapshot's endpoints at a point in time. Arrays are by slot: a model's `firstSlot` plus the index of the endpoint.
 * Readings never change once they are published.
 */
export interface Readings {
  /** Number of these readings within the process; 0 before the first measurement. */
  readonly number: number;
  /** Expected time to the first token, ms: the catalog's figure, blended with measurements. */
  readonly ttftMs: Float64Array;
  /** Expected time to the first token if most of the input is in the provider's cache, ms. `warmTtftMs` is never above `ttftMs`. */
  readonly warmTtftMs: Float64Array;
  /** Expected output tokens per second: the catalog's figure, blended with measurements. */
  readonly tokensPerSecond: Float64Array;
  /** Health of each endpoint, as a number of `HEALTH`. */
  readonly health: Uint8Array;
  /** When an unhealthy endpoint may be tried again, Unix ms; 0 while it is healthy. */
  readonly retryAt: Float64Array;
  /** Whether `health` is 0 everywhere. */
  readonly allHealthy: boolean;
  /** Expected visible output tokens of one choice, by index of the task: measured if enough answers were, otherwise declared. */
  readonly outputTokens: Float64Array;
}

/** The parts of a policy that readings describe. */
export interface MeasuredCatalog {
  readonly models: readonly Model[];
  readonly wildcards?: Pick<Wildcards, 'patterns'> | null;
  readonly tasks: readonly Task[];
}

/** Returns the models in the order of their slots: first the catalog's models, then a stand-in for each wildcard. */
export const measuredModels = ({
  models,
  wildcards,
}: Pick<MeasuredCatalog, 'models' | 'wildcards'>): readonly Model[] =>
  wildcards ? [...models, ...wildcards.patterns] : models;

/** Returns the number of endpoints of all models together. The models are in the order of their slots. */
export function slotCount(models: readonly Model[]): number {
  const last = models.at(-1);
  return last ? last.firstSlot + last.endpoints.length : 0;
}

/** Returns the readings before any measurement: the catalog's figures, and all endpoints healthy. */
export function priorReadings(catalog: MeasuredCatalog): Readings {
  const { tasks } = catalog;
  const models = measuredModels(catalog);
  const slots = slotCount(models);
  const ttftMs = new Float64Array(slots);
  const warmTtftMs = new Float64Array(slots);
  const tokensPerSecond = new Float64Array(slots);
  for (const { firstSlot, endpoints, latency } of models) {
    ttftMs.fill(latency.ttftMs, firstSlot, firstSlot + endpoints.length);
    warmTtftMs.fill(Math.min(latency.ttftMs, latency.warmTtftMs), firstSlot, firstSlot + endpoints.length);
    tokensPerSecond.fill(latency.outputTokensPerSecond, firstSlot, firstSlot + endpoints.length);
  }
  const outputTokens = declaredTokens(tasks);
  return {
    number: 0,
    ttftMs,
    warmTtftMs,
    tokensPerSecond,
    health: new Uint8Array(slots),
    retryAt: new Float64Array(slots),
    allHealthy: true,
    outputTokens,
  };
}

/** Returns answer lengths by index of the task, as the policy declares them. */
export const declaredTokens = (tasks: MeasuredCatalog['tasks']): Float64Array =>
  Float64Array.from(tasks, ({ expectedOutputTokens }) => expectedOutputTokens);
