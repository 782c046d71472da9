import { traitsOf } from '../contract/traits.ts';
import { lackingBits } from '../core/capability.ts';
import type { EndpointDraft, ModelDraft } from './models.ts';
import type { ProviderSetup } from './providers.ts';
import type { Report } from './report.ts';

/** Removes from each endpoint the capabilities that its adapter cannot express. */
export function* narrowCapabilities(
  drafts: readonly ModelDraft[],
  states: ReadonlyMap<string, ProviderSetup>,
  report: Report,
): Generator<undefined, readonly ModelDraft[]> {
  const narrowed: ModelDraft[] = [];
  /** Providers whose adapter failed; each is reported once. */
  const failed = new Set<string>();
  for (const draft of drafts) {
    narrowed.push(narrowDraft(draft, states, failed, report));
    yield;
  }
  return narrowed;
}

function narrowDraft(
  draft: ModelDraft,
  states: ReadonlyMap<string, ProviderSetup>,
  failed: Set<string>,
  report: Report,
): ModelDraft {
  const traits = traitsOf(draft.model);
  const narrowed = ({ endpoint, usd }: EndpointDraft): EndpointDraft => {
    const state = states.get(endpoint.provider);
    if (!state?.lacks) return { endpoint, usd };
    let missing = 0;
    try {
      missing = lackingBits(state.lacks(traits, endpoint.upstream));
    } catch (error) {
      if (failed.has(state.name)) return { endpoint, usd };
      failed.add(state.name);
      const why = error instanceof Error ? error.message : String(error);
      report.add(
        'plugin-failed',
        state.place,
        `the adapter of \`${state.name}\` fails to list the capabilities that it lacks: ${why}`,
      );
    }
    return missing === 0
      ? { endpoint, usd }
      : { endpoint: { ...endpoint, capabilities: endpoint.capabilities & ~missing }, usd };
  };
  const endpoints = draft.endpoints.map(narrowed);
  const capabilities = endpoints.reduce((bits, { endpoint }) => bits | endpoint.capabilities, 0);
  return { ...draft, endpoints, model: { ...draft.model, capabilities } };
}
