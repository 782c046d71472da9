import type { EstimatorCatalog, EstimatorModel } from '../contract/estimator.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { OutcomeRow } from '../store/learning.ts';

/** The models and tasks of a snapshot, in its order. Copies, so that a plugin cannot write into the policy. */
export const catalogOf = ({ tasks, models }: PolicySnapshot): EstimatorCatalog => ({
  tasks: tasks.map(({ name }) => name),
  models: models.map(({ id, quality, declared: { stated, ...declared } }) => ({
    ...declared,
    id,
    quality: quality.slice(),
    stated: stated.slice(),
  })),
});

/** Adds a model or task that is absent: outcomes outlive their policies. */
export function catalogWith(
  catalog: EstimatorCatalog,
  { model, task, declared }: Pick<OutcomeRow, 'model' | 'task' | 'declared'>,
): EstimatorCatalog {
  const tasks = catalog.tasks.includes(task) ? catalog.tasks : [...catalog.tasks, task];
  const models: EstimatorModel[] = catalog.models.map((one) => ({
    ...one,
    quality: extend(one.quality, tasks.length, one.general),
    stated: Uint8Array.from(tasks, (_, at) => one.stated[at] ?? 0),
  }));
  if (!models.some(({ id }) => id === model)) {
    const quality = new Float64Array(tasks.length).fill(declared);
    models.push({ id: model, quality, stated: new Uint8Array(tasks.length), general: declared, basis: 'unknown' });
  }
  return { tasks, models };
}

const extend = (quality: Float64Array, length: number, rest: number): Float64Array =>
  Float64Array.from({ length }, (_, at) => quality[at] ?? rest);
