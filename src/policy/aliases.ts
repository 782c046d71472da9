import type { SourceSpan } from './diagnostics.ts';
import type { Report } from './report.ts';
import type { NamedItem } from './sections.ts';
import { placeAt, valueAt } from './tree.ts';

/** The target of an alias. */
type Target = Pick<NamedItem<unknown>, 'name' | 'path' | 'tree'>;

/**
 * Reads the aliases of selectors and models. Reports those that are already the name of a selector or a model, or an
 * alias: callers send all of them as `model`.
 * @param names every selector and model, wrong ones included → its place
 * @returns alias → the selector or model that it stands for
 */
export function draftAliases(
  targets: readonly Target[],
  names: ReadonlyMap<string, SourceSpan>,
  report: Report,
): ReadonlyMap<string, string> {
  const aliases = new Map<string, string>();
  const places = new Map<string, SourceSpan>();
  for (const { name, path, tree } of targets) {
    for (const [at, alias] of aliasesIn(tree).entries()) {
      const place = placeAt(tree, 'aliases', at);
      const taken = names.get(alias) ?? places.get(alias);
      if (taken) {
        const what = names.has(alias) ? 'the name of a selector or model' : 'an alias';
        report.add('duplicate-name', place, `\`${path}.aliases\` has \`${alias}\`, which is already ${what}`, {
          hint: 'callers send names and aliases as `model`, so all of them must differ',
          related: { place: taken, message: 'first defined here' },
        });
        continue;
      }
      places.set(alias, place);
      aliases.set(alias, name);
    }
  }
  return aliases;
}

/** The texts under `aliases`. Read from the tree, so that other faults of their owner do not hide them. */
function aliasesIn(tree: Target['tree']): string[] {
  const stated = valueAt(tree, 'aliases');
  if (stated?.kind !== 'list') return [];
  return stated.items.flatMap((item) => (item.kind === 'scalar' && typeof item.value === 'string' ? [item.value] : []));
}
