import type { LadderStrategy, StrategyPlugin } from '../../contract/strategy.ts';
import { servesChats } from '../../core/kinds/operations.ts';
import { qualitiesOf } from '../../core/policy/counted-quality.ts';
import { mayChoose } from '../../core/policy/found-models.ts';
import type { Model, PolicySnapshot, Selector } from '../../core/policy/snapshot.ts';
import { type Ladder, type StatedTiers, TIERS, type TierName } from '../../core/request/tiers.ts';
import { laddered } from '../../routing/ladder.ts';
import { selectTop } from '../../routing/rank.ts';
import { type TypicalFigures, typicalFigures } from '../../routing/typical.ts';
import type { NamedItem } from '../check/section-checks.ts';
import type { Report } from '../report/report.ts';

import { placeAt, valueAt } from '../yaml/tree.ts';
import type { SelectorText } from './schema.ts';

type SelectorItem = NamedItem<SelectorText>;

/** The selector whose choice limits others by cost or latency, if it has a ladder. */
const LIMITING = 'auto';

/** The inputs from which ladders are made, in addition to the snapshot. */
interface LadderInputs {
  readonly selectors: readonly SelectorItem[];
  readonly strategies: ReadonlyMap<string, StrategyPlugin>;
}

/**
 * Adds their ladders to the selectors of a snapshot whose strategies order models once: the order for the typical request, and the tiers that
 * the policy states. Yields between selectors.
 */
export function* withLadders<Unordered extends Omit<PolicySnapshot, 'revision'>>(
  snapshot: Unordered,
  { selectors: stated, strategies }: LadderInputs,
  report: Report,
): Generator<undefined, Unordered> {
  const items = new Map(stated.map((one) => [one.name, one]));
  const figures = yield* typicalFigures(snapshot);
  const quality = qualitiesOf(snapshot, null).counted;
  const made = new Map<string, Selector>();
  for (const selector of snapshot.selectors.values()) {
    const strategy = strategies.get(selector.strategy)?.prepare({ ...selector.options });
    const item = items.get(selector.name);
    const tiers = item && statedTiers(selector, item, snapshot, report);
    if (strategy?.per === 'build') {
      const order = orderOf(selector, strategy, { snapshot, figures, quality }, report, item);
      made.set(selector.name, {
        ...selector,
        ladder: ladderOf(selector, strategy, order, figures, tiers ?? null, snapshot),
      });
    } else {
      if (tiers && item) refuseTiers(item, selector, report);
      made.set(selector.name, selector);
    }
    yield;
  }
  reviewMargins(made, items, report);
  reviewTiers(made, items, { snapshot, figures, quality }, report);
  return { ...snapshot, selectors: made };
}

interface OrderScope {
  readonly snapshot: Omit<PolicySnapshot, 'revision'>;
  readonly figures: TypicalFigures;
  readonly quality: Float64Array;
}

/** Returns the models that a selector may choose, in the order of its strategy for the typical request. */
function orderOf(
  selector: Selector,
  strategy: LadderStrategy,
  { snapshot: { models }, figures, quality }: OrderScope,
  report: Report,
  item: SelectorItem | undefined,
): number[] {
  const isServing = (model: Model) => selector.vectorSpace !== null || servesChats(model);
  const indexes = models.flatMap((model, at) => (mayChoose(selector, model, at) && isServing(model) ? [at] : []));
  const only = (all: Float64Array) => Float64Array.from(indexes, (index) => all[index]!);
  const candidates = {
    n: indexes.length,
    quality: only(quality),
    cost: only(figures.cost),
    latency: only(figures.latency),
    reference: figures.reference,
  };
  const utility = new Float64Array(indexes.length).fill(Number.NaN);
  try {
    strategy.score(candidates, utility);
  } catch {
    utility.fill(Number.NaN);
  }
  const order: number[] = [];
  const { faulty } = selectTop(candidates, utility, indexes.length, order);
  if (faulty && indexes.length > 0 && item) {
    const message = `the strategy \`${selector.strategy}\` of \`${item.path}\` gave no usable score for the typical request`;
    report.add('strategy-failed', placeAt(item.tree, 'strategy'), message, {
      hint: 'its models are in the order of their quality, cost and latency. Correct the plugin',
    });
  }
  return order.map((at) => indexes[at]!);
}

function ladderOf(
  { name }: Selector,
  { reason, margin, strongMargin, stepCost, atMostAuto }: LadderStrategy,
  order: readonly number[],
  { cost }: TypicalFigures,
  stated: StatedTiers | null,
  { models, selectors }: Pick<PolicySnapshot, 'models' | 'selectors'>,
): Ladder {
  const places = new Int32Array(models.length).fill(-1);
  for (const [place, index] of order.entries()) places[index] = place;
  const isLimited = atMostAuto !== undefined && name !== LIMITING && selectors.has(LIMITING);
  return {
    reason,
    order,
    places,
    cost,
    margins: { usual: margin, strong: strongMargin },
    stepCost: stepCost ?? null,
    limit: isLimited ? { selector: LIMITING, by: atMostAuto } : null,
    ...(stated && { stated }),
  };
}

/** Reports margins below the margins of the selector that limits a selector: a model that is good enough for `auto` would not be good enough here. */
function reviewMargins(
  selectors: ReadonlyMap<string, Selector>,
  items: ReadonlyMap<string, SelectorItem>,
  report: Report,
): void {
  const limiting = selectors.get(LIMITING)?.ladder;
  for (const { name, ladder, vectorSpace } of selectors.values()) {
    const item = items.get(name);
    if (!ladder?.limit || !limiting || !item || vectorSpace !== null) continue;
    for (const tier of TIERS) {
      const own = ladder.margins[tier];
      const least = limiting.margins[tier];
      if (own >= least) continue;
      const key = tier === 'usual' ? 'margin' : 'strong_margin';
      const message = `\`${key}\` of \`${item.path}\` is ${own}, below the ${least} of the selector \`${LIMITING}\``;
      report.add('out-of-range', placeAt(item.tree, 'options', key), message, {
        expected: `a \`${key}\` of at least ${least}`,
      });
    }
  }
}

/** Warns of stated tiers that break, for the typical request, what the order of a strategy guarantees. */
function reviewTiers(
  selectors: ReadonlyMap<string, Selector>,
  items: ReadonlyMap<string, SelectorItem>,
  { snapshot: { models }, figures, quality }: OrderScope,
  report: Report,
): void {
  const limiting = selectors.get(LIMITING)?.ladder ?? null;
  const candidates = { n: models.length, quality, ...figures, model: Int32Array.from(models.keys()) };
  for (const { name, ladder, vectorSpace } of selectors.values()) {
    const item = items.get(name);
    if (!ladder?.stated || !item || vectorSpace !== null) continue;
    const { usual, strong } = ladder.stated;
    const warn = (code: 'weak-tier' | 'costly-tier', tier: TierName, message: string, hint: string) =>
      report.add(code, placeAt(item.tree, 'tiers', tier), message, { hint });
    const [first, hard] = [usual[0]!, strong[0]!];
    if (quality[hard]! < quality[first]!) {
      const message = `hard requests of \`${item.path}\` get \`${models[hard]!.id}\`, which is worse than \`${models[first]!.id}\`, the model of usual requests`;
      warn(
        'weak-tier',
        'strong',
        message,
        `begin \`strong\` with a model that is no worse than \`${models[first]!.id}\``,
      );
    }
    const { by } = ladder.limit ?? {};
    for (const tier of by && limiting ? TIERS : []) {
      const own = ladder.stated[tier][0]!;
      const choice = laddered(limiting!, null, tier, candidates);
      if (!choice || candidates[by!][own]! <= candidates[by!][choice.at]!) continue;
      const [more, most] = by === 'cost' ? ['costs more', 'costs no more'] : ['takes longer', 'takes no longer'];
      const message = `\`${models[own]!.id}\`, the first model of \`${item.path}.tiers.${tier}\`, ${more} for the typical request than \`${models[choice.at]!.id}\`, the choice of \`${LIMITING}\``;
      warn('costly-tier', tier, message, `begin the list with a model that ${most} than \`${models[choice.at]!.id}\``);
    }
  }
}

function refuseTiers({ path, tree }: SelectorItem, { strategy }: Selector, report: Report): void {
  const message = `\`${path}\` states \`tiers\`, but the strategy \`${strategy}\` scores the models for each request`;
  report.add('conflicting-keys', placeAt(tree, 'tiers'), message, {
    expected: '`tiers` with a strategy that orders models once, such as `auto`',
  });
}

/**
 * Returns the stated tiers with the models that can be served here. A tier without such a model has the models of the other tier; null if the
 * policy states none that can be served.
 */
function statedTiers(
  selector: Selector,
  { path, tree, data }: SelectorItem,
  { models, modelIndex }: Pick<PolicySnapshot, 'models' | 'modelIndex'>,
  report: Report,
): StatedTiers | null {
  const stated = data?.tiers;
  if (stated === undefined) return null;
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
  return { usual: usual.length > 0 ? usual : strong, strong: strong.length > 0 ? strong : usual };
}
