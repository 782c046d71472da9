import type { StrategyPlugin } from '../contract/strategy.ts';
import type { Selector } from '../core/snapshot.ts';
import { checkOptions, type Subject } from './check.ts';
import type { Place } from './diagnostics.ts';
import { optionsOf } from './plugin-options.ts';
import { Report } from './report.ts';
import { SelectorText } from './schema.ts';
import { checkNamed, emptyMap, type Named, type Source, unknownOfPlugins } from './scope.ts';
import { entryOf, placeAt, valueAt } from './tree.ts';

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

type Stated = Named<SelectorText>;

/** A selector but for its filter of models, which is that of the selector `filterOf`. */
export interface SelectorDraft extends Omit<Selector, 'allows'> {
  readonly filterOf: string;
}

/**
 * Checks selectors against their strategies, and fills in what a strategy has them inherit: once here, so that whoever reads
 * a snapshot finds all options in it. Those that are wrong are in the report instead.
 */
export function* compileSelectors(stated: readonly Stated[], scope: Scope): Generator<undefined, SelectorDraft[]> {
  const drafts: SelectorDraft[] = [];
  const byName = new Map(stated.map((selector) => [selector.name, selector]));
  for (const selector of stated) {
    const draft = compileSelector(selector, byName, scope);
    if (draft) drafts.push(draft);
    yield;
  }
  return drafts;
}

function compileSelector(
  named: Stated,
  others: ReadonlyMap<string, Stated>,
  { strategies, report }: Scope,
): SelectorDraft | null {
  const { name, tree, data } = named;
  if (!data) return null;
  const plugin = strategies.get(data.strategy);
  if (!plugin) {
    unknownOfPlugins('strategy', data.strategy, strategies.keys(), placeAt(tree, 'strategy'), report);
    return null;
  }
  const former = formerStrategy(plugin, named, strategies, report);
  const strategy = former?.by ?? plugin;
  const inherited = inheritedBy(strategy, named, others, { strategies, report });
  const unknownHint =
    former && `it runs as \`${strategy.name}\` because of \`${former.option}\`, which \`${plugin.name}\` no longer has`;
  const subject = { ...optionsSubject(named), ...(unknownHint !== null && { unknownHint }) };
  const options = inherited && optionsOf(strategy, subject, report, inherited);
  if (!options) return null;
  const base = strategy.inherits?.selector;
  const filterOf = data.models === undefined && base !== undefined ? base : name;
  return { name, strategy: strategy.name, options, filterOf };
}

const optionsSubject = ({ path, tree, place }: Stated): Subject => ({
  path: `${path}.options`,
  tree: valueAt(tree, 'options') ?? emptyMap(place),
  place,
});

interface Former {
  readonly by: StrategyPlugin;
  readonly option: string;
}

/** The strategy that still takes what the selector states from an earlier version; null where all is of today. */
function formerStrategy(
  { name, formerly }: StrategyPlugin,
  { path, tree }: Stated,
  strategies: ReadonlyMap<string, StrategyPlugin>,
  report: Report,
): Former | null {
  const options = valueAt(tree, 'options');
  const old = options && formerly?.options.map((key) => entryOf(options, key)).find((entry) => entry !== undefined);
  const by = formerly && strategies.get(formerly.by);
  if (!old || !by) return null;
  report.add('former-option', old.place, `\`${path}\` states \`${old.key}\`, which \`${name}\` no longer has`, {
    hint: `it runs as \`${by.name}\`: write \`strategy: ${by.name}\` to keep that, or leave \`${old.key}\` out to weigh as \`${name}\` does now`,
  });
  return { by, option: old.key };
}

/** Options that a selector leaves out and its strategy has it inherit; null where they cannot be had, and the report says why. */
function inheritedBy(
  { name: strategy, inherits }: StrategyPlugin,
  selector: Stated,
  others: ReadonlyMap<string, Stated>,
  { strategies, report }: Scope,
): Readonly<Record<string, unknown>> | null {
  if (!inherits) return {};
  const { subject, required, optional = [] } = { ...inherits, subject: optionsSubject(selector) };
  const missing = required.filter((key) => !entryOf(subject.tree, key));
  const base = others.get(inherits.selector);
  if (missing.length > 0 && (base === undefined || base.data?.strategy !== inherits.strategy)) {
    // What is wrong with the other selector is reported there.
    if (base && !base.data) return null;
    const keys = missing.map((key) => `\`${key}\``).join(', ');
    const runs = base?.data ? `runs \`${base.data.strategy}\`` : 'is not there';
    const message = `\`${selector.path}\` takes what it leaves out from the selector \`${inherits.selector}\`, which ${runs}, not \`${inherits.strategy}\``;
    report.add('nothing-to-inherit', selector.place, message, {
      expected: `${keys} under \`${selector.path}: { strategy: ${strategy}, options: … }\``,
    });
    return null;
  }
  const plugin = strategies.get(inherits.strategy);
  if (!base?.data || !plugin || base.data.strategy !== inherits.strategy) return {};
  // What is wrong with them is reported once, where they stand.
  const options = checkOptions(plugin.options, optionsSubject(base), new Report()) ?? {};
  const keys = [...required, ...optional].filter((key) => options[key] !== undefined);
  return Object.fromEntries(keys.map((key) => [key, options[key]]));
}

function refuseClash(name: string, place: Place, ids: ReadonlyMap<string, Place>, report: Report): void {
  const model = ids.get(name);
  report.add('duplicate-name', place, `\`${name}\` names both a selector and a model`, {
    hint: 'callers give either as `model`, so the names must differ',
    ...(model && { related: { place: model, message: 'the model' } }),
  });
}
