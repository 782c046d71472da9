import type { StrategyPlugin } from '../../contract/strategy.ts';
import { mapOf } from '../../core/define/fields.ts';
import type { Selector } from '../../core/policy/snapshot.ts';
import type { Program } from '../cel/check.ts';
import { optionsOf, type Subject } from '../check/check.ts';
import { expressionAt } from '../check/expression-drafts.ts';
import { checkNamed, emptyMap, type NamedItem } from '../check/section-checks.ts';
import { type DraftContext, type DraftReader, defineSection, ORDINARY } from '../define/section.ts';
import { MODELS, otherNamesIn } from '../models/catalog.ts';
import { vectorsOf } from '../models/embeddings.ts';
import { checkFallbacks, readFallbacks } from '../models/fallbacks.ts';
import { otherNames } from '../models/other-names.ts';
import { openNames, type PublicFigures } from '../models/wildcard-names.ts';
import { PROVIDERS } from '../providers/providers.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { inSteps } from '../report/steps.ts';
import { placeAt, valueAt } from '../yaml/tree.ts';
import { draftAliases } from './aliases.ts';
import { SelectorText } from './schema.ts';
import { checkSelectorSpaces } from './spaces.ts';
import { checkTiers } from './tiers.ts';

/** Selectors that every policy has, each with the strategy of the same name. */
export const BUILT_IN_SELECTORS = ['auto', 'auto-fast', 'auto-cheap'] as const;

type SelectorItem = NamedItem<SelectorText>;

/** A selector without its bits of models and its ladder. */
type SelectorDraft = Omit<Selector, 'allows' | 'ladder'>;

/** An expression that filters the models of a selector. */
export interface CheckedFilter {
  readonly selector: string;
  readonly vectorSpace: string | null;
  readonly require: Program | null;
}

/** Selectors that were checked against their strategies, and the filters of all selectors. */
interface CheckedSelectors {
  readonly drafts: readonly SelectorDraft[];
  readonly filters: readonly CheckedFilter[];
}

/** The section `selectors`. The snapshot has the selectors with the models that each may choose. */
export const SELECTORS = defineSection({
  name: 'selectors',
  text: mapOf(SelectorText, 'Name → selector. `auto`, `auto-fast` and `auto-cheap` always exist.'),
  guard: ORDINARY,
  page: ['Choose', 'language.md#selectors'],
  draft(context) {
    const { ids, wildcards } = context.of(MODELS);
    const models = otherNamesIn(context);
    const named = withBuiltIn(checkNamed('selectors', SelectorText, context), context);
    for (const { name, place } of named) if (ids.has(name)) refuseClash(name, place, ids, context.report);
    const all = [...models, ...named.flatMap((one) => otherNames(one) ?? [])];
    const patterns = wildcards.map(({ pattern }) => pattern);
    checkFallbacks(all, { ids, selectors: named, patterns }, context.report);
    checkTiers(named, ids, context.report);
    return { named, ...draftAliases({ models, ids, selectors: named }, context.report) };
  },
  *compile({ named }, { of, check, plugins, report }): Generator<undefined, CheckedSelectors> {
    const drafts = yield* inSteps(named, (one) => compileSelector(one, plugins.strategies, report));
    const { drafts: models, isSound } = of(MODELS);
    if (isSound) checkSelectorSpaces(named, vectorsOf(models), null, report);
    const filters = yield* inSteps(named, (one) => ({
      selector: one.name,
      vectorSpace: one.data?.vector_space ?? null,
      require: check.of(expressionAt(one, 'models', 'require'), 'model'),
    }));
    return { drafts: drafts.filter((draft) => draft !== null), filters };
  },
});

/** Returns the selectors of the policy and the built-in selectors. */
function withBuiltIn(stated: readonly SelectorItem[], context: DraftContext): readonly SelectorItem[] {
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
  return [...stated, ...others];
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

/**
 * Makes a function that resolves a name that the catalog does not list: the name of a wildcard's model, or of a model that may be found.
 * @returns a function from a name to its ID, or null
 */
export function openNamesOf(of: DraftReader, facts: PublicFigures | null) {
  const { drafts: models, wildcards } = of(MODELS);
  const { openings } = of(PROVIDERS);
  const { aliases } = of(SELECTORS);
  return openNames({ models, wildcards, openings, aliases }, facts);
}
