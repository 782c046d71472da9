import type { Static } from '@sinclair/typebox';
import { OTHER_BITS } from '../core/kinds/operations.ts';
import { parseDecimal } from '../core/money/decimal.ts';
import { nextChange } from '../core/money/price-plan.ts';
import { type FoundMark, guessesIn, mayChoose } from '../core/policy/found-models.ts';
import type { Model, PolicySnapshot } from '../core/policy/snapshot.ts';
import { iso } from '../core/time/clock.ts';
import { usdLine } from '../ledger/export/price.ts';
import type { ModelDetails } from './schemas/models.ts';

type Details = Static<typeof ModelDetails>;

/** Whether a model represents all models of a wildcard. */
export const isWildcard = ({ id, pattern }: Pick<Model, 'id' | 'pattern'>): boolean => pattern === id;

/**
 * The details with which people compare models.
 * @param model null for a selector
 */
export function modelDetails(snapshot: PolicySnapshot, model: Model | null): Details {
  if (model === null) return { price: null, quality: null, selectors: [], pattern: null, found: null };
  const states = !isWildcard(model) || snapshot.wildcards?.states(model.id, 'price');
  return {
    price: states ? priceBody(snapshot, model) : null,
    quality: isWildcard(model) ? null : qualityBody(snapshot, model),
    selectors: selectorsOf(snapshot, model),
    pattern: model.pattern ?? null,
    found: model.found ? foundBody(model.found) : null,
  };
}

const foundBody = ({ provider, since, ...mark }: FoundMark): Details['found'] => ({
  provider,
  since: iso(since),
  guessed: [...guessesIn(mark)],
});

/** The price at the provider that is tried first. */
function priceBody(
  { usdPerCredit, prices }: PolicySnapshot,
  { endpoints: [{ price, plan }] }: Model,
): Details['price'] {
  const worth = parseDecimal(usdPerCredit);
  if (!worth) return null;
  const linesOf = (inputTokens: number, own = price) => {
    const { input, cached_input, output, request } = usdLine(own, inputTokens, worth);
    return { rates: { input_usd: input, cached_input_usd: cached_input, output_usd: output }, perRequest: request };
  };
  const { rates, perRequest } = linesOf(0);
  const tiers = price.lines.slice(1).map(({ overInputTokens }) => ({
    over_input_tokens: overInputTokens,
    ...linesOf(overInputTokens + 1).rates,
  }));
  const serviceTiers = Object.entries(price.tiers ?? {}).map(([name, own]) => ({ name, ...linesOf(0, own).rates }));
  const until = plan && prices ? nextChange(plan, prices.at) : Number.POSITIVE_INFINITY;
  return {
    ...rates,
    per_request_usd: perRequest,
    tiers,
    service_tiers: serviceTiers,
    until: Number.isFinite(until) ? iso(until) : null,
  };
}

function qualityBody({ tasks }: PolicySnapshot, { quality, declared: { general, stated, basis } }: Model) {
  const ofTasks = tasks.flatMap(({ name }, at) => (stated[at] === 1 ? [[name, quality[at] ?? general] as const] : []));
  return { default: general, tasks: Object.fromEntries(ofTasks), basis };
}

/** The selectors that can choose the model, also for vectors if the vector space is the selector's own. */
function selectorsOf({ selectors, modelIndex }: PolicySnapshot, model: Model): string[] {
  const at = modelIndex.get(model.id);
  if (at === undefined) return [];
  return [...selectors.values()].flatMap(({ name, allows, vectorSpace }) => {
    return mayChoose({ allows }, model, at) &&
      ((model.operations & OTHER_BITS) !== 0 || model.embedding?.vectorSpace === vectorSpace)
      ? [name]
      : [];
  });
}
