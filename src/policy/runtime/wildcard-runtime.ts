import { SignalboxError } from '../../core/errors.ts';
import type { WildcardModel } from '../../core/policy/snapshot.ts';
import { createDecider } from '../../routing/decide.ts';
import { meaningOf } from '../../routing/model-name.ts';
import { snapshotWith } from '../../routing/wildcard-snapshot.ts';
import type { DecisionRuntime, Runtime } from './runtime.ts';
import type { Upstream } from './upstream.ts';

/** Runtimes of wildcards' models. The runtimes are cached as long as the policy's runtime and the compiled model exist. */
const runtimes = new WeakMap<Runtime, WeakMap<WildcardModel, Runtime>>();

/**
 * Returns the runtime for a request: the policy's own runtime, or, if the name means a wildcard's model, a runtime for that model alone.
 * @param name as the caller sent it
 * @throws SignalboxError `model_not_found` for a wildcard's ID that is not served
 */
export function runtimeFor(runtime: Runtime, name: string): Runtime {
  const found = wildcardModel(runtime, name);
  if (!found) return runtime;
  const known = runtimes.get(runtime) ?? new WeakMap<WildcardModel, Runtime>();
  runtimes.set(runtime, known);
  const made = known.get(found) ?? wildcardRuntime(runtime, found);
  known.set(found, made);
  const isUnknown = ({ account, endpoint }: Upstream) => runtime.unknownNames.has(account, endpoint.upstream);
  if (made.upstreams[0]!.every(isUnknown)) throw unknownToService(found.model.id);
  return made;
}

/** Returns the runtime for a decision that is replayed. */
export function decisionRuntimeFor(runtime: DecisionRuntime, name: string): DecisionRuntime {
  const found = wildcardModel(runtime, name);
  if (!found) return runtime;
  const snapshot = snapshotWith(found, runtime.snapshot);
  return { ...runtime, snapshot, decider: createDecider(snapshot) };
}

/** Makes the error for a name that the service does not know. */
export const unknownToService = (id: string): SignalboxError =>
  new SignalboxError('model_not_found', `The provider of \`${id}\` has no model of that name.`, { param: 'model' });

function wildcardModel({ snapshot }: DecisionRuntime, name: string): WildcardModel | null {
  const { wildcards } = snapshot;
  if (!wildcards) return null;
  const { model } = meaningOf(name, snapshot);
  if (snapshot.selectors.has(model) || snapshot.modelIndex.has(model)) return null;
  const found = wildcards.find(model);
  if (found && 'refused' in found) throw new SignalboxError('model_not_found', found.refused, { param: 'model' });
  return found;
}

/** A wildcard's model uses the health and the accounts of its wildcard. */
function wildcardRuntime(runtime: Runtime, found: WildcardModel): Runtime {
  const { models, wildcards } = runtime.snapshot;
  const index = models.length + wildcards!.patterns.findIndex(({ id }) => id === found.model.pattern);
  const snapshot = snapshotWith(found, runtime.snapshot);
  const { model } = found;
  const upstreams = runtime.upstreams[index]!.map((upstream, at) => ({
    ...upstream,
    model,
    endpoint: model.endpoints[at] ?? upstream.endpoint,
    slot: model.firstSlot + at,
  }));
  return { ...runtime, snapshot, decider: createDecider(snapshot), upstreams: [upstreams] };
}
