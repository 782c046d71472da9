import { servesChats } from '../kinds/operations.ts';
import type { Model, PolicySnapshot } from './snapshot.ts';

/** How much lower a guessed quality counts than a measured one. */
const GUESSED_LOWER = 0.06;

/** The qualities of all models, by index in the snapshot. */
export interface Qualities {
  /** Expected shares of good answers, 0..1. */
  readonly shares: Float64Array;
  /** The shares as a choice counts them: guessed ones are lower. */
  readonly counted: Float64Array;
}

/**
 * Returns the qualities of a policy's models for its typical requests, or for a task.
 * @param task index of the task; null for the mean over the typical requests
 */
export function qualitiesOf(snapshot: Pick<PolicySnapshot, 'models' | 'traffic'>, task: number | null): Qualities {
  const { models } = snapshot;
  const shares = Float64Array.from(models, (model) => goodShareOf(model, snapshot, task));
  // If no quality is measured, all are lower by the same amount, which changes no choice.
  if (!models.some(({ declared }) => declared.basis === 'measured')) return { shares, counted: shares };
  const counted = shares.map((share, at) =>
    models[at]!.declared.basis === 'measured' ? share : Math.max(0, share - GUESSED_LOWER),
  );
  return { shares, counted };
}

/** Returns the expected share of good answers of a model, as `qualitiesOf` returns it for all models. */
export const goodShareOf = (model: Model, { traffic }: Pick<PolicySnapshot, 'traffic'>, task: number | null): number =>
  task === null ? typicalQuality(model, traffic) : model.quality[task]!;

/** Returns the mean quality over the typical requests. A model that serves no chats has only one quality. */
function typicalQuality(model: Model, traffic: PolicySnapshot['traffic']): number {
  const { quality, declared } = model;
  if (!servesChats(model)) return declared.general;
  // The mean of equal qualities is exactly this quality, not 0.9000000000000001.
  const [first] = traffic;
  const base = first ? quality[first.task]! : declared.general;
  return traffic.reduce((sum, { task, share }) => sum + share * (quality[task]! - base), base);
}
