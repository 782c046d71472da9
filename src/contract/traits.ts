import { capabilityNames, OF_EVERY_DIALECT } from '../core/capability.ts';
import type { Model } from '../core/snapshot.ts';
import type { ModelTraits } from './provider.ts';

type Described = Pick<Model, 'capabilities' | 'acceptsTemperature' | 'latency'>;

/** Models are frozen with their snapshot, so what adapters see of one is made once. */
const known = new WeakMap<Described, ModelTraits>();

/** Returns the traits of a model, as adapters see them. */
export function traitsOf(model: Described): ModelTraits {
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
