import type { ReferenceOrigin, Task } from '../../core/policy/snapshot.ts';
import { OPERATIONS } from '../../core/request/operation.ts';
import type { SourceSpan } from '../diagnostics.ts';
import type { ModelDraft } from './models.ts';

/** A price in USD per 1M tokens. */
type TokenPrice = ReferenceOrigin['usd'];

/** A model that may set the reference price. */
interface PricedModel {
  readonly id: string;
  /** The `default` of the model's quality, 0..1. */
  readonly quality: number;
  readonly price: TokenPrice;
}

/** How far the quality of a model may be below the best, so that the model still counts as nearly as good. */
export const NEARLY_BEST = 0.15;
/** In floating point, 0.9 − 0.15 can differ in its last bit from a stated 0.75. */
const SLACK = 1e-9;

/** Whether a quality is nearly as good as the best. */
export const isNearlyBest = (quality: number, best: number): boolean => quality >= best - NEARLY_BEST - SLACK;

/**
 * Returns the cheapest priced model that is nearly as good as the best model; null if no model is priced. A priced model has prices above 0
 * for input and for output, because a reference price needs both. If all models that are nearly as good as the best are free, only priced
 * models are compared. The order of the models does not matter.
 * @param size the tokens for which prices are compared
 */
function cheapestNearBest<Model extends PricedModel>(
  models: readonly Model[],
  { defaultInputTokens, expectedOutputTokens }: Omit<Task, 'name' | 'minUsefulOutput'>,
): Model | null {
  const priced = models.filter(({ price }) => price.input > 0 && price.output > 0);
  const near = nearBest(priced, models);
  const cost = ({ price }: Model) => price.input * defaultInputTokens + price.output * expectedOutputTokens;
  const [first = null, ...others] = near.length > 0 ? near : nearBest(priced, priced);
  return others.reduce<Model | null>((best, one) => {
    const isCheaper = best === null || cost(one) < cost(best) || (cost(one) === cost(best) && one.id < best.id);
    return isCheaper ? one : best;
  }, first);
}

function nearBest<Model extends PricedModel>(models: readonly Model[], among: readonly Model[]): readonly Model[] {
  const best = Math.max(...among.map(({ quality }) => quality));
  return models.filter(({ quality }) => isNearlyBest(quality, best));
}

/**
 * Returns the reference price of a policy that states none: the price of the cheapest model that is nearly as good as the best; null if no
 * model is priced. It depends only on the text of the policy. Models that serve no chats and models that the policy does not declare do not
 * count.
 * @param general the sizes of the task `general`, for which prices are compared
 */
export function derivedReference(drafts: readonly ModelDraft[], general: Task): ReferenceOrigin | null {
  const models = drafts.flatMap(({ model, defaultQuality, endpoints: [first] }) => {
    if (!first || (model.operations & OPERATIONS.chat.bit) === 0) return [];
    const { input, output } = first.usd;
    return [{ id: model.id, quality: defaultQuality, price: { input, output } }];
  });
  const found = cheapestNearBest(models, general);
  return found && { source: 'model', model: found.id, usd: found.price };
}

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
  isFormer: boolean,
) {
  const used = origin.source === 'stated' || isFormer ? origin : (derived ?? origin);
  const { input, output } = used.usd;
  // Doubles are exact enough for the reference price, because it only scales weights.
  const credit = Number(usdPerCredit);
  return { referenceOrigin: used, referencePrice: { input: input / credit, output: output / credit } };
}
