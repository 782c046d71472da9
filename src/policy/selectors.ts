import type { StrategyPlugin } from '../contract/strategy.ts';
import type { Selector } from '../core/policy/snapshot.ts';
import { checkOptions, optionsOf, type Subject } from './check.ts';
import type { SourceSpan } from './diagnostics.ts';
import { readFallbacks } from './models/fallbacks.ts';
import { Report } from './report.ts';
import { SelectorText } from './schema/policy.ts';
import { type CheckContext, checkNamed, emptyMap, type NamedItem } from './schema/section-checks.ts';
import { inSteps } from './steps.ts';
import { entryOf, placeAt, valueAt } from './yaml/tree.ts';

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
type Options = Readonly<Record<string, unknown>>;

/**
 * A selector without its bits of models. The selector chooses from the models of its vector space that pass the filter of the selector
 * `filterOf`.
 */
export interface SelectorDraft extends Omit<Selector, 'allows'> {
  readonly filterOf: string;
}

/**
 * Checks selectors against their strategies, and fills in the options that they inherit. `compileSelectors` reports selectors with errors
 * and leaves them out.
 */
export function* compileSelectors(
  stated: readonly SelectorItem[],
  strategies: ReadonlyMap<string, StrategyPlugin>,
  report: Report,
): Generator<undefined, SelectorDraft[]> {
  const scope = { selectors: new Map(stated.map((selector) => [selector.name, selector])), strategies, report };
  const drafts = yield* inSteps(stated, (selector) => compileSelector(selector, scope));
  return drafts.filter((draft) => draft !== null);
}

interface SelectorScope {
  readonly selectors: ReadonlyMap<string, SelectorItem>;
  readonly strategies: ReadonlyMap<string, StrategyPlugin>;
  readonly report: Report;
}

function compileSelector(named: SelectorItem, scope: SelectorScope): SelectorDraft | null {
  const { name, tree, data } = named;
  if (!data) return null;
  const plugin = scope.strategies.get(data.strategy);
  if (!plugin) {
    const place = placeAt(tree, 'strategy');
    scope.report.addUnknownPlugin('strategy', data.strategy, scope.strategies.keys(), place);
    return null;
  }
  const former = formerOf(plugin, named, scope);
  const strategy = former?.by ?? plugin;
  const inherited = inheritedBy(strategy, named, scope);
  const unknownHint =
    former &&
    `the selector runs as \`${strategy.name}\`, because it sets \`${former.option}\`, which \`${plugin.name}\` no longer has`;
  const subject = { ...optionsSubject(named), ...(unknownHint !== null && { unknownHint }) };
  const options = inherited && optionsOf(strategy, subject, scope.report, inherited);
  if (!options) return null;
  const hasBase = Object.keys(inherited).length > 0;
  if (hasBase && strategy.name === name) warnOfDepartures(strategy, named, { inherited, options }, scope.report);
  const base = strategy.inherits?.selector;
  const filterOf = data.models === undefined && base !== undefined ? base : name;
  const fallbacks = readFallbacks(data.fallbacks);
  return {
    name,
    strategy: strategy.name,
    options,
    filterOf,
    vectorSpace: data.vector_space ?? null,
    ...(fallbacks && { fallbacks }),
  };
}

/** Returns the strategy that still accepts a former option of the selector; null if the selector has no former option. */
function formerOf({ name, formerly }: StrategyPlugin, { path, tree }: SelectorItem, scope: SelectorScope) {
  const options = valueAt(tree, 'options');
  const old = options && formerly?.options.map((key) => entryOf(options, key)).find((entry) => entry !== undefined);
  const by = formerly && scope.strategies.get(formerly.by);
  if (!old || !by) return null;
  scope.report.add('former-option', old.place, `\`${path}\` sets \`${old.key}\`, which \`${name}\` no longer has`, {
    hint: `the selector runs as \`${by.name}\`. To keep that, write \`strategy: ${by.name}\`; to use the current \`${name}\`, remove \`${old.key}\``,
  });
  return { by, option: old.key };
}

/** Warns about a selector that is named like its strategy and has different options, because it may then break the promise of its name. */
function warnOfDepartures(
  { name, inherits }: StrategyPlugin,
  selector: SelectorItem,
  { inherited, options }: Record<'inherited' | 'options', Options>,
  report: Report,
) {
  const { tree } = optionsSubject(selector);
  for (const key of [...(inherits?.required ?? []), ...(inherits?.optional ?? [])]) {
    const own = entryOf(tree, key);
    if (!own || inherited[key] === options[key]) continue;
    const message = `\`${selector.path}\` sets a \`${key}\` that differs from the selector \`${inherits?.selector}\``;
    report.add('departs-from-base', own.place, message, {
      hint: `the selector can then be more expensive or slower than \`${inherits?.selector}\`. Remove \`${key}\`, or set it in a selector of another name with \`strategy: ${name}\``,
    });
  }
}

/**
 * Returns the options that a selector inherits through its strategy. `inheritedBy` reports an error and returns null if the selector cannot
 * inherit the options.
 */
function inheritedBy(
  { name: strategy, inherits }: StrategyPlugin,
  selector: SelectorItem,
  scope: SelectorScope,
): Options | null {
  if (!inherits) return {};
  const { required, optional = [] } = inherits;
  const { tree } = optionsSubject(selector);
  const missing = required.filter((key) => !entryOf(tree, key));
  const base = scope.selectors.get(inherits.selector);
  if (missing.length > 0 && (base === undefined || base.data?.strategy !== inherits.strategy)) {
    // The problems of the inherited selector are reported at that selector.
    if (base && !base.data) return null;
    const keys = missing.map((key) => `\`${key}\``).join(', ');
    const runs = base?.data ? `runs \`${base.data.strategy}\`` : 'does not exist';
    const message = `\`${selector.path}\` inherits missing options from the selector \`${inherits.selector}\`, but that selector ${runs} instead of running \`${inherits.strategy}\``;
    scope.report.add('nothing-to-inherit', selector.place, message, {
      expected: `${keys} under \`${selector.path}: { strategy: ${strategy}, options: … }\``,
    });
    return null;
  }
  const plugin = scope.strategies.get(inherits.strategy);
  if (!base?.data || !plugin || base.data.strategy !== inherits.strategy) return {};
  // Problems of these options are reported once, at the selector that states them.
  const options = checkOptions(plugin.options, optionsSubject(base), new Report()) ?? {};
  const keys = [...required, ...optional].filter((key) => options[key] !== undefined);
  return Object.fromEntries(keys.map((key) => [key, options[key]]));
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
