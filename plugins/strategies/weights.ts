import { type Candidates, type PreparedStrategy, Type } from 'signalbox/plugin';

/** The operator's weights, and the wait that weighs as much as a good answer. */
interface WeightOptions {
  readonly quality: number;
  readonly cost: number;
  readonly latency: number;
  readonly patience_ms: number;
  readonly patience_ms_per_token?: number;
  readonly quality_floor?: number;
}

/** The weights if the policy states none. */
export const DEFAULTS: WeightOptions = { quality: 0.8, cost: 0.2, latency: 0.02, patience_ms: 60_000 };
/** The default weights in version 1 of the policy language. */
export const FORMER_DEFAULTS: WeightOptions = { quality: 0.6, cost: 0.3, latency: 0.1, patience_ms: 20_000 };

/** Returns the schema of one raw weight. */
export const rawWeight = (description: string) => Type.Number({ minimum: 0, maximum: 1_000_000, description });

/** A day, in ms. */
export const PATIENCE_MS_MAX = 86_400_000;

/** Returns the schema of `patience_ms`. */
export const patience = (description: string) =>
  Type.Number({ exclusiveMinimum: 0, maximum: PATIENCE_MS_MAX, description });

/** The criterion that a strategy emphasizes, and the most that the hard factor may be for it. */
interface HardFactorLimit {
  readonly of: 'cost' | 'latency';
  readonly max: number;
}

/** The schema of the quality floor, which all strategies with weights accept. */
export const qualityFloor = Type.Optional(
  Type.Number({
    minimum: 0,
    maximum: 1,
    description:
      'The minimum expected quality, 0 to 1. If no model reaches it, the model with the best quality is chosen and `route_reason` ends in `:below-floor`.',
  }),
);

/** The start of an answer counts like this many tokens when patience is calculated. */
const START_TOKENS = 100;

export const flooredAt = (floor: number | undefined): Pick<PreparedStrategy, 'qualityFloor'> =>
  floor === undefined ? {} : { qualityFloor: floor };

/**
 * `U = w_q·Q − w_c·C/(h·v·C_ref) − w_l·L/(h·T)`, with the weights divided by their sum. h is the hard factor of the request (1 if it is not
 * hard), v the policy's `answer_worth`, C_ref the reference cost and T the patience. `costReference` is h·v·C_ref, the worth of a good
 * answer. Raising one raw weight never worsens the criterion of that weight. A limit of h for one criterion raises the weight of that
 * criterion alone, so it keeps this law.
 *
 * @throws Error if all three weights are 0.
 */
export function weigh(
  {
    quality: q,
    cost: c,
    latency: l,
    patience_ms: patienceMs,
    patience_ms_per_token: perToken,
    quality_floor: floor,
  }: WeightOptions,
  labels: Pick<PreparedStrategy, 'reason' | 'tieBreak'>,
  limit?: HardFactorLimit,
): PreparedStrategy {
  // Dividing by the largest weight first makes the result independent of the scale, bit for bit.
  const largest = Math.max(q, c, l);
  if (largest === 0) throw new Error('at least one of quality, cost and latency must be above 0');
  const raw = [q / largest, c / largest, l / largest] as const;
  const sum = raw[0] + raw[1] + raw[2];
  const [wq, wc, wl] = [raw[0] / sum, raw[1] / sum, raw[2] / sum];
  const factorFor = (of: HardFactorLimit['of'], hard: number): number =>
    limit?.of === of ? Math.min(hard, limit.max) : hard;
  /** Returns what a good answer is worth, in Credits. */
  const worthFor = ({ costReference, qualityFactor = 1 }: Candidates): number => {
    const factor = factorFor('cost', qualityFactor);
    return factor === qualityFactor ? costReference : (costReference / qualityFactor) * factor;
  };
  /** Returns the patience in ms. */
  const patienceFor = ({ qualityFactor = 1, outputTokens }: Candidates): number => {
    const factor = factorFor('latency', qualityFactor);
    return perToken === undefined || outputTokens === undefined
      ? patienceMs * factor
      : Math.min(patienceMs, perToken * (START_TOKENS + outputTokens)) * factor;
  };
  return {
    ...labels,
    ...flooredAt(floor),
    score(candidates, out) {
      const { n, quality, cost, latency } = candidates;
      const worth = worthFor(candidates);
      const patience = patienceFor(candidates);
      for (let i = 0; i < n; i++) {
        out[i] = wq * quality[i]! - (wc * cost[i]!) / worth - (wl * latency[i]!) / patience;
      }
    },
    parts: (candidates, at) => ({
      quality: wq * candidates.quality[at]!,
      cost: -(wc * candidates.cost[at]!) / worthFor(candidates),
      latency: -(wl * candidates.latency[at]!) / patienceFor(candidates),
    }),
  };
}
