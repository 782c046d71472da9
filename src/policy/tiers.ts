import type { StrategyPlugin } from '../contract/strategy.ts';
import { mayChoose } from '../core/policy/found-models.ts';
import type { Model, PolicySnapshot, Selector } from '../core/policy/snapshot.ts';
import { type SelectorTiers, TIERS, type TierName } from '../core/policy/tiers.ts';
import { OPERATIONS } from '../core/request/operation.ts';
import { rankTypical, type TypicalRequest, typicalRequest } from '../routing/typical.ts';
import type { SourceSpan } from './diagnostics.ts';
import type { TaskTraffic } from './models/traffic.ts';
import type { Report } from './report.ts';
import type { SelectorText } from './schema/policy.ts';
import type { NamedItem } from './schema/section-checks.ts';
import { type LanguageVersion, needsLatest } from './versions.ts';
import { valueAt } from './yaml/tree.ts';

type SelectorItem = NamedItem<SelectorText>;

/** Checks the names in the stated tiers. */
export function checkTiers(
  selectors: readonly SelectorItem[],
  ids: ReadonlyMap<string, SourceSpan>,
  version: LanguageVersion,
  report: Report,
): void {
  const names = new Set(selectors.map(({ name }) => name));
  for (const { path, tree, data } of selectors) {
    const tiers = valueAt(tree, 'tiers');
    if (!tiers || !data || data.tiers === undefined) continue;
    if (version === 1 && data.tiers !== 'off') needsLatest(`${path}.tiers`, tiers.place, report);
    if (data.vector_space !== undefined) {
      report.add('conflicting-keys', tiers.place, `\`${path}\` has \`tiers\`, but it chooses models for embeddings`, {
        expected: '`tiers` only in a selector without `vector_space`',
      });
    }
    for (const name of TIERS) checkTier(`${path}.tiers.${name}`, valueAt(tiers, name), { names, ids }, report);
  }
}

function checkTier(
  path: string,
  list: ReturnType<typeof valueAt>,
  { names, ids }: { readonly names: ReadonlySet<string>; readonly ids: ReadonlyMap<string, SourceSpan> },
  report: Report,
): void {
  if (list?.kind !== 'list') return;
  const places = new Map<string, SourceSpan>();
  for (const item of list.items) {
    if (item.kind !== 'scalar' || typeof item.value !== 'string') continue;
    const { value: id, place } = item;
    const first = places.get(id);
    const expected = 'the IDs of models, each once';
    if (names.has(id)) report.add('bad-tier', place, `\`${path}\` has the selector \`${id}\``, { expected });
    else if (first) {
      const related = { place: first, message: 'the first time' };
      report.add('bad-tier', place, `\`${path}\` has \`${id}\` twice`, { expected, related });
    } else if (!ids.has(id)) report.addUnknown('model', id, ids.keys(), place);
    places.set(id, place);
  }
}

/** The inputs from which tiers are derived, in addition to the snapshot. */
interface TierInputs {
  readonly selectors: readonly SelectorItem[];
  readonly traffic: readonly TaskTraffic[];
  /** How many times as much quality counts in the typical request of the usual tier. */
  readonly usualQualityFactor: number;
  readonly version: LanguageVersion;
  readonly strategies: ReadonlyMap<string, StrategyPlugin>;
}

/**
 * Adds their tiers to the selectors of a snapshot: the stated ones, or the ranking by the strategy for the typical request
 * at usual and at hard difficulty. Yields between selectors.
 */
export function* withTiers<Untiered extends Omit<PolicySnapshot, 'revision'>>(
  untiered: Untiered,
  { selectors: stated, traffic, usualQualityFactor, version, strategies }: TierInputs,
  report: Report,
): Generator<undefined, Untiered> {
  if (version === 1) return untiered;
  const snapshot: PolicySnapshot = { revision: '', ...untiered };
  const items = new Map(stated.map((one) => [one.name, one]));
  const typical = new Map<TierName, TypicalRequest>();
  typical.set('usual', yield* typicalRequest(snapshot, traffic, 'usual', usualQualityFactor));
  const hard = traffic.flatMap((one) => (one.hardShare > 0 ? [{ ...one, share: one.hardShare }] : []));
  typical.set('strong', yield* typicalRequest(snapshot, hard, 'hard'));
  const made = new Map<string, Selector>();
  for (const selector of snapshot.selectors.values()) {
    const plugin = strategies.get(selector.strategy);
    const tiers =
      selector.vectorSpace === null && plugin ? tiersOf(selector, plugin, { items, typical, snapshot }, report) : null;
    made.set(selector.name, tiers ? { ...selector, tiers } : selector);
    yield;
  }
  // If no model of its stated tiers is served here, a selector ranks all models. Only the ranking of both then keeps the promise of a limit.
  for (const [name, { tiers, ...rest }] of made)
    if (tiers?.limit && !made.get(tiers.limit.selector)?.tiers) made.set(name, rest);
  return { ...untiered, selectors: made };
}

interface TierScope {
  readonly items: ReadonlyMap<string, SelectorItem>;
  readonly typical: ReadonlyMap<TierName, TypicalRequest>;
  readonly snapshot: PolicySnapshot;
}

function tiersOf(
  selector: Selector,
  plugin: StrategyPlugin,
  { items, typical, snapshot }: TierScope,
  report: Report,
): SelectorTiers | null {
  const item = items.get(selector.name);
  const base = plugin.inherits && items.get(plugin.inherits.selector)?.data;
  const own = item?.data?.tiers ?? (base?.tiers === 'off' ? 'off' : undefined);
  if (own === 'off') return null;
  if (own !== undefined && item) return statedTiers(selector, item, own, snapshot, report);
  const strategy = plugin.prepare({ ...selector.options });
  const { models } = snapshot;
  const isAllowed = (index: number) => mayChoose(selector, models[index]!, index) && servesChats(models[index]!);
  const rankOf = (name: TierName) => rankTypical(strategy, typical.get(name)!, isAllowed);
  const [usual, strong] = [rankOf('usual'), rankOf('strong')];
  if (usual.length === 0 || strong.length === 0) return null;
  const { tieBreak } = strategy;
  const limits = plugin.inherits !== undefined && tieBreak !== undefined && base?.strategy === plugin.inherits.strategy;
  return {
    source: 'derived',
    usual,
    strong,
    ...(limits && { limit: { selector: plugin.inherits!.selector, by: tieBreak! } }),
  };
}

const servesChats = ({ operations }: Model): boolean => (operations & OPERATIONS.chat.bit) !== 0;

/** Returns the stated tiers with the models that can be served here. A tier without such a model has the models of the other tier. */
function statedTiers(
  selector: Selector,
  { path, tree }: SelectorItem,
  stated: Readonly<Record<TierName, readonly string[]>>,
  { models, modelIndex }: PolicySnapshot,
  report: Report,
): SelectorTiers | null {
  const servedOf = (name: TierName): number[] => {
    const list = valueAt(valueAt(tree, 'tiers')!, name);
    return stated[name].flatMap((id, place) => {
      const index = modelIndex.get(id);
      if (index === undefined) return [];
      const model = models[index]!;
      const why = !servesChats(model)
        ? 'it does not answer chats'
        : !mayChoose(selector, model, index) && "the selector's `models` exclude it";
      if (!why) return [index];
      const at = list?.kind === 'list' ? list.items[place]!.place : tree.place;
      report.add('bad-tier', at, `\`${path}.tiers.${name}\` has \`${id}\`, but ${why}`, {
        expected: 'models that the selector may choose',
      });
      return [];
    });
  };
  const [usual, strong] = [servedOf('usual'), servedOf('strong')];
  if (usual.length + strong.length === 0) return null;
  return {
    source: 'stated',
    usual: usual.length > 0 ? usual : strong,
    strong: strong.length > 0 ? strong : usual,
  };
}
