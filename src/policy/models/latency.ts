import type { DeclaredLatency } from '../../core/policy/snapshot.ts';
import type { ModelText } from '../schema/model.ts';

/** Which speed a model has that states none. */
export type UnstatedLatency = 'slow' | 'median' | 'neutral';

/**
 * Figures for a model of unknown speed: ms to the first content, without hidden reasoning, and the output rate. `slow` has the slow quartiles
 * of the shipped hosted models.
 */
const FIXED = {
  slow: { startMs: 1700, tokensPerSecond: 75 },
  neutral: { startMs: 1000, tokensPerSecond: 50 },
} as const;
/** Bounds of price classes, USD per 1M output tokens. Within a price class speeds differ less, because small models are cheap and fast. */
const PRICE_CLASSES = [1, 5] as const;
/** The fewest models of one provider for a median. If a provider has fewer models, a median over all providers is better. */
const OF_PROVIDER_MIN = 2;

type SpeedFacts = ReturnType<typeof speedFactsOf>;

/** Returns a model's latency. Figures that the policy does not state are estimated from similar models. */
export type LatencyOf = (model: ModelText) => DeclaredLatency;

/** Returns the hidden reasoning tokens for tasks without a figure of their own. */
export const usualReasoning = ({ reasoning_tokens: stated }: Pick<ModelText, 'reasoning_tokens'>): number =>
  typeof stated === 'number' ? stated : stated.default;

/**
 * Fills in missing latencies for the whole catalog. Medians include only models of `hosted` providers whose figures state their source. A
 * median over no model is the neutral figure.
 */
export function latencies(
  catalog: readonly ModelText[],
  { hosted, unstatedLatency }: { readonly hosted: ReadonlySet<string>; readonly unstatedLatency: UnstatedLatency },
): LatencyOf {
  // A free model runs on the operator's own hardware, and its speed says nothing about hosted models.
  const isKnown = ({ provider, isFree, startMs, tokensPerSecond }: SpeedFacts) =>
    hosted.has(provider) && !isFree && (startMs !== null || tokensPerSecond !== null);
  const known = unstatedLatency === 'median' ? catalog.map(speedFactsOf).filter(isKnown) : [];
  const basis = unstatedLatency === 'slow' ? 'slow' : known.length > 0 ? 'estimated' : 'neutral';
  const figure = (own: SpeedFacts, name: keyof typeof FIXED.slow) =>
    typical(own, known, name) ?? FIXED[basis === 'slow' ? 'slow' : 'neutral'][name];
  return (model) => {
    const { latency } = model;
    const own = speedFactsOf(model);
    const reasoning = usualReasoning(model);
    const tokensPerSecond = latency?.output_tokens_per_second ?? figure(own, 'tokensPerSecond');
    // Hidden reasoning comes before the first content, at the output rate.
    const filledMs = () => Math.round(figure(own, 'startMs') + (1000 * reasoning) / tokensPerSecond);
    const ttftMs = latency?.ttft_ms ?? filledMs();
    const isStated = latency?.ttft_ms !== undefined && latency.output_tokens_per_second !== undefined;
    return {
      ttftMs,
      warmTtftMs: latency?.cached_ttft_ms ?? ttftMs,
      outputTokensPerSecond: tokensPerSecond,
      basis: isStated ? 'stated' : basis,
    };
  };
}

/** Returns the known speed of a model, and the facts that decide which models are similar to it. */
function speedFactsOf(model: ModelText) {
  const { provider = '', price = model.price } = model.endpoints?.[0] ?? model;
  const { ttft_ms: ttftMs, output_tokens_per_second: rate, basis = 'unknown' } = model.latency ?? {};
  const reasoning = usualReasoning(model);
  const isVouched = basis !== 'unknown';
  const thinkingMs = rate === undefined ? 0 : (1000 * reasoning) / rate;
  return {
    /** Whether the model answers conversations. */
    chats: model.operations.includes('chat'),
    reasons: reasoning > 0,
    priceClass: PRICE_CLASSES.filter((least) => (price?.output ?? 0) >= least).length,
    provider,
    isFree: !price || (price.output === 0 && price.input === 0),
    /** Time to the first content without hidden reasoning, ms; null if the policy does not state it. */
    startMs: isVouched && ttftMs !== undefined && rate !== undefined ? Math.max(0, ttftMs - thinkingMs) : null,
    tokensPerSecond: isVouched ? (rate ?? null) : null,
  };
}

/** Returns the median of a figure over the most similar models; null if no model is similar. */
function typical(own: SpeedFacts, known: readonly SpeedFacts[], figure: 'startMs' | 'tokensPerSecond'): number | null {
  const isKind = (one: SpeedFacts) => one.reasons === own.reasons && one.chats === own.chats;
  const isClass = (one: SpeedFacts) => isKind(one) && one.priceClass === own.priceClass;
  const isProviders = (one: SpeedFacts) => isClass(one) && one.provider === own.provider;
  const groups = [
    [isProviders, OF_PROVIDER_MIN],
    [isClass, 1],
    [isKind, 1],
  ] as const;
  for (const [isAlike, least] of groups) {
    const figures = known.filter(isAlike).flatMap((one) => one[figure] ?? []);
    if (figures.length >= least) return median(figures);
  }
  return null;
}

function median(figures: readonly number[]): number {
  const sorted = figures.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}
