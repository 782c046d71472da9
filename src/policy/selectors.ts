import type { StrategyPlugin } from '../contract/strategy.ts';
import type { Selector } from '../core/snapshot.ts';
import type { Place } from './diagnostics.ts';
import { optionsOf } from './plugin-options.ts';
import type { Report } from './report.ts';
import { SelectorText } from './schema.ts';
import { checkNamed, emptyMap, type Named, type Source, unknownOfPlugins } from './scope.ts';
import { placeAt, valueAt } from './tree.ts';

/** Selectors that every policy has, each with the strategy of its name. */
const BUILT_IN = ['auto', 'auto-fast', 'auto-cheap'] as const;

/** The selectors of the policy and those that always exist. No name is one of a model too. */
export function draftSelectors(source: Source, ids: ReadonlyMap<string, Place>): Named<SelectorText>[] {
  const stated = checkNamed('selectors', SelectorText, source);
  const place = source.sections.get('selectors')?.place ?? source.start;
  const others = BUILT_IN.filter((name) => !stated.some((selector) => selector.name === name)).map((name) => ({
    name,
    path: `selectors.${name}`,
    tree: emptyMap(place),
    place,
    data: { strategy: name, options: {} },
  }));
  for (const { name, place: at } of [...stated, ...others]) {
    if (ids.has(name)) refuseClash(name, at, ids, source.report);
  }
  return [...stated, ...others];
}

interface Scope {
  readonly report: Report;
  readonly strategies: ReadonlyMap<string, StrategyPlugin>;
}

/** Checks a selector against its strategy, but for its filter of models; null when that is wrong. */
export function compileSelector(
  { name, path, tree, place, data }: Named<SelectorText>,
  { strategies, report }: Scope,
): Omit<Selector, 'allows'> | null {
  if (!data) return null;
  const plugin = strategies.get(data.strategy);
  if (!plugin) {
    unknownOfPlugins('strategy', data.strategy, strategies.keys(), placeAt(tree, 'strategy'), report);
    return null;
  }
  const options = { path: `${path}.options`, tree: valueAt(tree, 'options') ?? emptyMap(place), place };
  const checked = optionsOf(plugin, options, report);
  return checked && { name, strategy: data.strategy, options: checked };
}

function refuseClash(name: string, place: Place, ids: ReadonlyMap<string, Place>, report: Report): void {
  const model = ids.get(name);
  report.add('duplicate-name', place, `\`${name}\` names both a selector and a model`, {
    hint: 'callers give either as `model`, so the names must differ',
    ...(model && { related: { place: model, message: 'the model' } }),
  });
}
