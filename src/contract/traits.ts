import type { Model } from '../core/policy/snapshot.ts';
import { capabilityNames, OF_EVERY_DIALECT } from '../core/request/capability.ts';
import type { ModelTraits } from './provider.ts';

type DescribedModel = Pick<Model, 'capabilities' | 'acceptsTemperature' | 'latency'>;

/** Models are frozen with their snapshot, so the traits that adapters see are computed once per model. */
const known = new WeakMap<DescribedModel, ModelTraits>();

/** Returns the traits of a model in the form that adapters receive. */
export function traitsOf(model: DescribedModel): ModelTraits {
  let traits = known.get(model);
  if (!traits) {
    const { ttftMs, outputTokensPerSecond } = model.latency;
    const capabilities = capabilityNames(model.capabilities & ~OF_EVERY_DIALECT);
    const lacks = capabilityNames(OF_EVERY_DIALECT & ~model.capabilities);
    traits = { capabilities, lacks, acceptsTemperature: model.acceptsTemperature, ttftMs, outputTokensPerSecond };
    known.set(model, traits);
  }
  return traits;
}
