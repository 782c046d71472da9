import { isObject, objectOf } from '../../../core/json/object.ts';
import type { ReferenceBasis, ReferenceOrigin } from '../../../core/policy/snapshot.ts';
import { NEARLY_BEST } from '../../../policy/models/reference-price.ts';
import type { Outline } from '../../../policy/runtime/diff.ts';

/** The reference price of a policy, as commands print it and the API returns it. */
export const referenceBody = ({ source, model, usd, basis }: ReferenceOrigin) => ({
  ...priceBody(usd),
  source,
  model,
  best: basis?.best ?? null,
  explanation: model !== null && basis ? [whyPrice(model, basis), ...notes(basis)] : [],
  close_models: (basis?.close ?? []).map(({ model: close, quality, isWithin, other }) => ({
    ...{ model: close, quality, within: isWithin, other_model: other.model },
    ...priceBody(other.usd),
  })),
});
export type ReferenceBody = ReturnType<typeof referenceBody>;

const priceBody = ({ input, output }: ReferenceOrigin['usd']) => ({ input_usd: input, output_usd: output });

const SOURCES = { stated: 'stated in the policy', default: 'the default' } as const;

type Shown = Pick<ReferenceBody, 'input_usd' | 'output_usd' | 'source' | 'model'>;

/** Writes a reference price: `1 USD in and 4 USD out per 1M tokens (the price of luna)`. */
export function referenceText({ input_usd: input, output_usd: output, source, model }: Shown): string {
  const origin = source === 'model' ? `the price of ${model}` : SOURCES[source];
  return `${input} USD in and ${output} USD out per 1M tokens (${origin})`;
}

/** Says why the price of a model is the reference price. */
function whyPrice(model: string, { quality, isAmongPriced, best }: ReferenceBasis): string {
  const among = isAmongPriced ? ' of the models with a price' : '';
  return best.model === model
    ? `${model} is the best model${among} by its default quality (${quality}), and no cheaper one is at most ${NEARLY_BEST} below it.`
    : `${model} (default quality ${quality}) is the cheapest model at most ${NEARLY_BEST} below the best${among}, ${best.model} (${best.quality}).`;
}

/** Says which small changes of a quality would change the price a lot. */
const notes = ({ least, close }: ReferenceBasis): string[] =>
  close.map(({ model, quality, isWithin, other }) => {
    const price = `${other.usd.input} USD in and ${other.usd.output} USD out`;
    const change = isWithin
      ? `${model} (${quality}) is only just good enough. With a default quality below ${least}, the price of ${other.model} would be the reference price`
      : `${model} (${quality}) is just too far below the best. With a default quality of ${least}, its price would be the reference price`;
    return `Note: ${change}: ${price}. To avoid the jump, state \`reference_price\`.`;
  });

/** A policy with its reference price. */
interface ReferenceSide {
  /** How messages call the policy. */
  readonly label: string;
  readonly origin: ReferenceOrigin;
  readonly outline: Outline;
}

/** Says why the reference prices of two policies differ; null if they are equal. */
export function whyMoved(a: ReferenceSide, b: ReferenceSide): string | null {
  const [from, to] = [a.origin, b.origin];
  if (from.usd.input === to.usd.input && from.usd.output === to.usd.output) return null;
  if (to.source === 'stated') return `${b.label} states its reference price.`;
  if (to.model === null || to.basis === null) {
    return `No model sets the reference price of ${b.label}: its version or its prices do not allow it.`;
  }
  const whyNow = whyPrice(to.model, to.basis);
  if (from.model === null) return `${b.label} does not state its reference price. ${whyNow}`;
  if (from.model === to.model) return `The price of ${to.model} changed. ${whyNow}`;
  const quality = defaultQuality(b.outline, from.model);
  if (quality === null) return `${b.label} does not have ${from.model}. ${whyNow}`;
  if (quality >= to.basis.least) return whyNow;
  const { model: best, quality: highest } = to.basis.best;
  const far = `${from.model} (default quality ${quality}) is more than ${NEARLY_BEST} below ${best} (${highest}).`;
  return `In ${b.label}, ${far} ${whyNow}`;
}

/** Returns the `quality.default` that a policy declares for a model; null if it does not declare the model. */
function defaultQuality({ models }: Outline, id: string): number | null {
  const declared = objectOf(models)[id];
  const quality = isObject(declared) ? objectOf(declared.quality).default : undefined;
  return typeof quality === 'number' ? quality : null;
}
