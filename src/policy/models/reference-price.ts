import type { CloseModel, ReferenceBasis, ReferenceOrigin, Task } from '../../core/policy/snapshot.ts';
import { OPERATIONS } from '../../core/request/operation.ts';
import type { SourceSpan } from '../diagnostics.ts';
import type { ModelDraft } from './models.ts';

/** A price in USD per 1M tokens. */
type TokenPrice = ReferenceOrigin['usd'];

/** A model for chats. */
interface PricedModel {
  readonly id: string;
  /** The `default` of the model's quality, 0..1. */
  readonly quality: number;
  readonly price: TokenPrice;
  /** The price of a request of the usual size, only for comparisons. */
  readonly cost: number;
}

/** How far the quality of a model may be below the best, so that the model still counts as nearly as good. */
export const NEARLY_BEST = 0.15;
/** In floating point, 0.9 − 0.15 can differ in its last bit from a stated 0.75. */
const SLACK = 1e-9;

/** Whether a quality is nearly as good as the best. */
export const isNearlyBest = (quality: number, best: number): boolean => quality >= best - NEARLY_BEST - SLACK;

/** How near to the line a model is reported, as a difference of qualities. By default, `quality_step` rounds such differences away. */
const CLOSE = 0.02;
/** The least ratio of two reference prices whose difference is reported. */
const MATERIAL = 1.5;

/**
 * Returns the reference price of a policy that states none: the price of the cheapest priced model that is nearly as good as the best model;
 * null if no model is priced. A priced model has prices above 0 for input and for output, because a reference price needs both. If all models
 * that are nearly as good as the best are free, only priced models are compared. The price depends only on the text of the policy, and not on
 * the order of its models. Models that serve no chats and models that the policy does not declare do not count.
 * @param general the sizes of the task `general`, for which prices are compared
 */
export function derivedReference(drafts: readonly ModelDraft[], general: Task): ReferenceOrigin | null {
  const models = drafts.flatMap(({ model, defaultQuality, endpoints: [first] }): PricedModel[] => {
    if (!first || (model.operations & OPERATIONS.chat.bit) === 0) return [];
    const { input, output } = first.usd;
    const cost = input * general.defaultInputTokens + output * general.expectedOutputTokens;
    return [{ id: model.id, quality: defaultQuality, price: { input, output }, cost }];
  });
  const priced = models.filter(({ price }) => price.input > 0 && price.output > 0).sort(byCost);
  const isAmongPriced = !priced.some((one) => isNearlyBest(one.quality, bestOf(models)?.quality ?? 0));
  const best = bestOf(isAmongPriced ? priced : models);
  const near = priced.filter((one) => best !== null && isNearlyBest(one.quality, best.quality));
  const [found, next] = near;
  if (!best || !found) return null;
  const basis: ReferenceBasis = {
    quality: found.quality,
    best: { model: best.id, quality: best.quality },
    least: roundedQuality(best.quality - NEARLY_BEST),
    isAmongPriced,
    close: closeModels({ best, found, next }, priced),
  };
  return { source: 'model', model: found.id, usd: found.price, basis };
}

/**
 * Finds the models that are close to the line between nearly best and other models, if the price would change a lot on the other side: the
 * model that sets the price, and the cheapest model that is too far below the best.
 * @param priced by cost
 */
function closeModels(
  { best, found, next }: { readonly best: PricedModel; readonly found: PricedModel; readonly next?: PricedModel },
  priced: readonly PricedModel[],
): CloseModel[] {
  const isWithin = (change: number) => (one: PricedModel) => isNearlyBest(one.quality + change, best.quality);
  const close = priced.find((one) => isWithin(CLOSE)(one) && !isWithin(0)(one));
  const isLast = next !== undefined && !isWithin(-CLOSE)(found);
  return [
    ...(isLast && next.cost >= MATERIAL * found.cost ? [closeModel(found, next)] : []),
    ...(close && found.cost >= MATERIAL * close.cost ? [closeModel(close, close)] : []),
  ];
}

const closeModel = (one: PricedModel, other: PricedModel): CloseModel => ({
  model: one.id,
  quality: one.quality,
  isWithin: one !== other,
  other: { model: other.id, usd: other.price },
});

const byCost = (a: PricedModel, b: PricedModel): number => a.cost - b.cost || (a.id < b.id ? -1 : 1);

const bestOf = (models: readonly PricedModel[]): PricedModel | null =>
  models.reduce<PricedModel | null>(
    (best, one) =>
      best === null || one.quality > best.quality || (one.quality === best.quality && one.id < best.id) ? one : best,
    null,
  );

/** Removes floating-point error: 0.9 - 0.15 is 0.75. */
const roundedQuality = (quality: number): number => Math.round(quality * 1e9) / 1e9;

/** The reference price as a policy states it, and the price that applies if the policy states none. */
export interface ReferenceDraft {
  /** The stated price, or the default of the language. */
  readonly origin: ReferenceOrigin;
  /** Null if no model is priced, and in version 1. */
  readonly derived: ReferenceOrigin | null;
  /** The location of the section, or the beginning of the policy. */
  readonly place: SourceSpan;
}

/**
 * Returns the reference price of a snapshot.
 * @param isFormer whether a policy that states no price has the default of the language, as in builds that derived none
 */
export function compileReference(
  { origin, derived }: Pick<ReferenceDraft, 'origin' | 'derived'>,
  usdPerCredit: string,
) {
  const used = origin.source === 'stated' ? origin : (derived ?? origin);
  const { input, output } = used.usd;
  // Doubles are exact enough for the reference price, because it only scales weights.
  const credit = Number(usdPerCredit);
  return { referenceOrigin: used, referencePrice: { input: input / credit, output: output / credit } };
}
