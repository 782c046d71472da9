import { aliasNames } from '../../core/policy/alias-names.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { NamedItem } from '../check/section-checks.ts';
import { type OtherNames, otherNames } from '../models/other-names.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';

/** The names that have aliases, with their locations. `AliasTargets` includes invalid names. */
interface AliasTargets {
  readonly models: readonly OtherNames[];
  readonly ids: ReadonlyMap<string, SourceSpan>;
  readonly selectors: readonly NamedItem<unknown>[];
}

type AliasDraft = ReturnType<typeof draftAliases>;

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
  const read = ({ name, path, aliases: stated }: OtherNames, isSelector: boolean) => {
    for (const { value, place } of stated) {
      const alias = String(value);
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
  for (const selector of selectors.flatMap((one) => otherNames(one) ?? [])) read(selector, true);
  return { aliases, standIns };
}

/** Resolves each alias of the policy in this environment. */
export function compileAliases(
  { aliases, standIns }: AliasDraft,
  served: PolicySnapshot['modelIndex'],
): Pick<PolicySnapshot, 'aliases' | 'aliasPatterns'> {
  const all = new Map(aliases);
  for (const [alias, selector] of standIns) if (!served.has(aliases.get(alias) ?? alias)) all.set(alias, selector);
  const { names, patterns } = aliasNames(all);
  return { aliases: names, aliasPatterns: patterns };
}
