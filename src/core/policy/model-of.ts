import type { Model, PolicySnapshot } from './snapshot.ts';

/** Returns the model of a policy with this ID. @throws Error if the policy has no such model */
export function modelOf(id: string, { models, modelIndex }: Pick<PolicySnapshot, 'models' | 'modelIndex'>): Model {
  const model = models[modelIndex.get(id) ?? -1];
  if (!model) throw new Error(`the policy has no model ${id}`);
  return model;
}
