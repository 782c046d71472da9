import type { Static } from '@sinclair/typebox';
import { parseDecimal } from '../core/decimal.ts';
import { hasBit } from '../core/rules.ts';
import type { Model, PolicySnapshot } from '../core/snapshot.ts';
import { usdLine } from '../ledger/export/price.ts';
import type { ModelDetails } from './schemas/models.ts';

/** What people compare models by. @param model null for a selector */
export function modelDetails(snapshot: PolicySnapshot, model: Model | null): Static<typeof ModelDetails> {
  if (model === null) return { price: null, quality: null, selectors: [], pattern: null };
  return {
    price: priceBody(snapshot, model),
    quality: qualityBody(snapshot, model),
    selectors: selectorsOf(snapshot, model),
    pattern: model.pattern ?? null,
  };
}

/** The price of the provider that is tried first, for prompts of usual length. */
function priceBody({ usdPerCredit }: PolicySnapshot, { endpoints: [{ price }] }: Model) {
  const worth = parseDecimal(usdPerCredit);
  if (!worth) return null;
  const { input, cachedInput, output } = usdLine(price, 0, worth);
  return { input_usd: input, cached_input_usd: cachedInput, output_usd: output };
}

function qualityBody({ tasks }: PolicySnapshot, { quality, declared: { general, stated, basis } }: Model) {
  const ofTasks = tasks.flatMap(({ name }, at) => (stated[at] === 1 ? [[name, quality[at] ?? general] as const] : []));
  return { default: general, tasks: Object.fromEntries(ofTasks), basis };
}

/** The selectors that choose from it. Those of a wildcard are no candidates of any. */
function selectorsOf({ selectors, modelIndex }: PolicySnapshot, { id }: Model): string[] {
  const at = modelIndex.get(id);
  if (at === undefined) return [];
  return [...selectors.values()].flatMap(({ name, allows }) => (allows === null || hasBit(allows, at) ? [name] : []));
}
