import { shipped } from '../../plugins/index.ts';
import { decideFor, hypotheticalFacts } from '../../src/admin/use-cases/policy/hypothetical.ts';
import { USUAL_TIME } from '../../src/admin/use-cases/policy/reasons.ts';
import type { Decision } from '../../src/core/decision/decision.ts';
import { OPERATOR } from '../../src/core/people/caller.ts';
import type { FoundModels } from '../../src/core/policy/found-models.ts';
import type { PolicySnapshot } from '../../src/core/policy/snapshot.ts';
import { readRouteRequest } from '../../src/dialects/openai-chat/reader.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import { buildRuntime } from '../../src/policy/runtime/runtime.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { shippedContext } from './shipped.ts';
import { snapshotOf } from './support.ts';

interface Conditions {
  readonly env?: Readonly<Record<string, string>>;
  readonly found?: FoundModels | null;
  /** The models that the key of the caller may use; null for all. */
  readonly keyModels?: readonly string[] | null;
}

interface ChosenModel {
  readonly model: string;
  readonly decision: Decision;
}

/** Returns a function that chooses a model for a message, by the policy alone. */
export function chooserOf(text: string, { env = {}, found = null, keyModels = null }: Conditions = {}) {
  const snapshot = snapshotOf(loadPolicy([{ path: 'p.yaml', text }], { ...shippedContext(env), found }));
  const runtime = buildRuntime(snapshot, createRegistry(shipped), { get: (name) => env[name] });
  return (selector: string, message: string, task?: string): ChosenModel => {
    const messages = [{ role: 'user' as const, content: message }];
    const request = readRouteRequest({ model: selector, ...(task === undefined ? { messages } : { task_type: task }) });
    const caller = { ...OPERATOR, models: keyModels && new Set(keyModels) };
    const facts = hypotheticalFacts({ request, caller, timeMs: Date.parse(USUAL_TIME) }, runtime);
    const decision = decideFor(facts, runtime);
    if (isRefusal(decision)) throw new Error(`${selector} refused: ${JSON.stringify(decision.rejected)}`);
    return { model: snapshot.models[decision.ranked[0].model]!.id, decision };
  };
}

/** Returns the IDs of the models in the order of a selector; null for a selector without an order. */
export const orderIn = ({ selectors, models }: PolicySnapshot, selector: string): readonly string[] | null =>
  selectors.get(selector)?.ladder?.order.map((at) => models[at]!.id) ?? null;
