import type { StrategyPlugin } from '../../contract/strategy.ts';
import type { Selector } from '../../core/policy/snapshot.ts';
import { optionsOf, type Subject } from '../check/check.ts';
import { type CheckContext, checkNamed, emptyMap, type NamedItem } from '../check/section-checks.ts';
import { readFallbacks } from '../models/fallbacks.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { inSteps } from '../report/steps.ts';
import { SelectorText } from '../schema/policy.ts';
import { placeAt, valueAt } from '../yaml/tree.ts';

/** Selectors that every policy has, each with the strategy of the same name. */
export const BUILT_IN_SELECTORS = ['auto', 'auto-fast', 'auto-cheap'] as const;

/** Returns the selectors of the policy and the built-in selectors. `draftSelectors` reports names that are also the name of a model. */
export function draftSelectors(context: CheckContext, ids: ReadonlyMap<string, SourceSpan>): NamedItem<SelectorText>[] {
  const stated = checkNamed('selectors', SelectorText, context);
  const place = context.sections.get('selectors')?.place ?? context.start;
  const others = BUILT_IN_SELECTORS.filter((name) => !stated.some((selector) => selector.name === name)).map(
    (name) => ({
      name,
      path: `selectors.${name}`,
      tree: emptyMap(place),
      place,
      data: { strategy: name, options: {}, aliases: [] },
    }),
  );
  for (const { name, place: at } of [...stated, ...others]) {
    if (ids.has(name)) refuseClash(name, at, ids, context.report);
  }
  return [...stated, ...others];
}

type SelectorItem = NamedItem<SelectorText>;

/** A selector without its bits of models and its ladder. */
export type SelectorDraft = Omit<Selector, 'allows' | 'ladder'>;

/** Checks selectors against their strategies. `compileSelectors` reports selectors with errors and leaves them out. */
export function* compileSelectors(
  stated: readonly SelectorItem[],
  strategies: ReadonlyMap<string, StrategyPlugin>,
  report: Report,
): Generator<undefined, SelectorDraft[]> {
  const drafts = yield* inSteps(stated, (selector) => compileSelector(selector, strategies, report));
  return drafts.filter((draft) => draft !== null);
}

function compileSelector(
  named: SelectorItem,
  strategies: ReadonlyMap<string, StrategyPlugin>,
  report: Report,
): SelectorDraft | null {
  const { name, tree, data } = named;
  if (!data) return null;
  const strategy = strategies.get(data.strategy);
  if (!strategy) {
    report.addUnknownPlugin('strategy', data.strategy, strategies.keys(), placeAt(tree, 'strategy'));
    return null;
  }
  const options = optionsOf(strategy, optionsSubject(named), report);
  if (!options) return null;
  const fallbacks = readFallbacks(data.fallbacks);
  return {
    name,
    strategy: strategy.name,
    options,
    vectorSpace: data.vector_space ?? null,
    ...(fallbacks && { fallbacks }),
  };
}

const optionsSubject = ({ path, tree, place }: SelectorItem): Subject => ({
  path: `${path}.options`,
  tree: valueAt(tree, 'options') ?? emptyMap(place),
  place,
});

function refuseClash(name: string, place: SourceSpan, ids: ReadonlyMap<string, SourceSpan>, report: Report): void {
  const model = ids.get(name);
  report.add('duplicate-name', place, `\`${name}\` names both a selector and a model`, {
    hint: 'callers send both in the field `model`, so their names must differ',
    related: model && { place: model, message: 'the model' },
  });
}
