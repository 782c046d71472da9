import type { ModelTraits } from '../contract/provider.ts';
import { capabilityNames } from '../core/capability.ts';
import type { Model } from '../core/snapshot.ts';

/** Models are frozen with their snapshot, so what adapters see of one is made once. */
const knownTraits = new WeakMap<Model, ModelTraits>();

/** What an adapter is told of a model. */
export function traitsOf(model: Model): ModelTraits {
  let traits = knownTraits.get(model);
  if (!traits) {
    const { ttftMs, outputTokensPerSecond } = model.latency;
    const capabilities = capabilityNames(model.capabilities);
    traits = { capabilities, acceptsTemperature: model.acceptsTemperature, ttftMs, outputTokensPerSecond };
    knownTraits.set(model, traits);
  }
  return traits;
}
