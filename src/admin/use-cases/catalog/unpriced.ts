import type { ListedModel } from '../../../contract/provider.ts';
import type { PolicySnapshot } from '../../../core/policy/snapshot.ts';
import { reasonAgainst } from './propose.ts';
import { unfitName } from './witnesses/witness.ts';

/** Returns the providers for which a wildcard `NAME/*` serves every model that has a known price. */
export const openProviders = ({ wildcards, providers }: Pick<PolicySnapshot, 'wildcards' | 'providers'>) =>
  (wildcards?.patterns ?? []).flatMap(({ id }) => {
    const name = id.endsWith('/*') ? id.slice(0, -2) : '';
    return providers.has(name) ? [name] : [];
  });

/**
 * Returns the models that a provider lists and that callers cannot use, because no price is known: neither the policy nor the public table
 * states one.
 */
export function unpricedModels(
  provider: string,
  listed: readonly ListedModel[],
  { wildcards }: Pick<PolicySnapshot, 'wildcards'>,
): readonly string[] {
  if (!wildcards?.patterns.some(({ id }) => id === `${provider}/*`)) return [];
  return listed.flatMap((model) => {
    if (reasonAgainst(model) !== null || unfitName(model.id) !== null) return [];
    const found = wildcards.find(`${provider}/${model.id}`);
    return found && 'refused' in found ? [model.id] : [];
  });
}
