import { AGENT_ALIASES, aliasNames } from '../../core/policy/alias-names.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { NamedItem } from '../check/section-checks.ts';
import type { NamedParts } from '../models/named-parts.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { placeAt, valueAt } from '../yaml/tree.ts';

/** The default aliases of a policy: each name or pattern with its selector. */
export const agentAliases = (setting: 'agents' | 'none'): ReadonlyMap<string, string> =>
  setting === 'none' ? new Map() : AGENT_ALIASES;

/** The selector or model that an alias stands for. */
type Target = Pick<NamedItem<unknown>, 'name' | 'path' | 'tree'>;

/** The names that have aliases, with their locations. `AliasTargets` includes invalid names. */
interface AliasTargets {
  readonly models: readonly Target[];
  readonly ids: ReadonlyMap<string, SourceSpan>;
  readonly selectors: readonly (Target & { readonly place: SourceSpan })[];
}

export type AliasDraft = ReturnType<typeof draftAliases>;

/**
 * Reads the aliases of selectors and models. A selector may have the ID or an alias of a model: the selector then replaces the model while
 * the model cannot be served. `draftAliases` reports other duplicate names, because callers send all names in the same field `model`.
 */
export function draftAliases({ models, ids, selectors }: AliasTargets, report: Report) {
  /** Maps each alias to the selector or model that it stands for. An alias that ends in `*` applies to all names with that beginning. */
  const aliases = new Map<string, string>();
  /** Maps the ID or alias of a model to the selector that replaces the model if it cannot be served. */
  const standIns = new Map<string, string>();
  const names = new Map([...ids, ...selectors.map(({ name, place }) => [name, place] as const)]);
  const places = new Map<string, SourceSpan>();
  const read = ({ name, path, tree }: Target, isSelector: boolean) => {
    for (const [at, alias] of aliasesIn(tree).entries()) {
      const place = placeAt(tree, 'aliases', at);
      const owner = ids.has(alias) ? alias : aliases.get(alias);
      if (isSelector && owner !== undefined && ids.has(owner) && !standIns.has(alias)) {
        standIns.set(alias, name);
        continue;
      }
      const taken = names.get(alias) ?? places.get(alias);
      if (taken) {
        const what = names.has(alias) ? 'the name of a selector or model' : 'an alias';
        report.add('duplicate-name', place, `\`${path}.aliases\` has \`${alias}\`, which is already ${what}`, {
          hint: 'callers send names and aliases in the field `model`, so all of them must differ; only a selector may have the ID or alias of a model, to replace it when it cannot be served',
          related: { place: taken, message: 'first defined here' },
        });
        continue;
      }
      places.set(alias, place);
      aliases.set(alias, name);
    }
  };
  for (const model of models) read(model, false);
  for (const selector of selectors) read(selector, true);
  return { aliases, standIns };
}

/** Resolves each alias of the policy in this environment. */
export function compileAliases(
  { aliases, standIns, defaultAliases }: AliasDraft & Pick<NamedParts, 'defaultAliases'>,
  served: PolicySnapshot['modelIndex'],
): Pick<PolicySnapshot, 'aliases' | 'aliasPatterns' | 'defaultAliases'> {
  const all = new Map(aliases);
  for (const [alias, selector] of standIns) if (!served.has(aliases.get(alias) ?? alias)) all.set(alias, selector);
  const { names, patterns } = aliasNames(all);
  return { aliases: names, aliasPatterns: patterns, defaultAliases: aliasNames(defaultAliases) };
}

/** Returns the texts in `aliases`. The texts in `aliases` are read from the tree, so that other mistakes in the entry do not hide them. */
function aliasesIn(tree: Target['tree']): string[] {
  const stated = valueAt(tree, 'aliases');
  if (stated?.kind !== 'list') return [];
  return stated.items.flatMap((item) => (item.kind === 'scalar' && typeof item.value === 'string' ? [item.value] : []));
}
