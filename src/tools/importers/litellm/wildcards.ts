import { block, exact, type Field, type FieldBlock, field, flow, some } from '../../../policy/yaml/emit.ts';
import type { ImportContext } from './context.ts';
import { type Deployment, READ_LATER } from './entries.ts';
import { SERVICES } from './services.ts';
import type { CommonSettings } from './settings.ts';
import { type ConfigNode, scalarText, valueAt } from './tree.ts';
import { deadlinesField, UNKNOWN_SIZES } from './write-models.ts';

/** The services whose models have public names, by LiteLLM's name of the service. */
const PUBLIC = [...SERVICES].flatMap(([name, { preset, isOwn }]) =>
  preset === undefined || isOwn || preset === 'azure-openai' ? [] : [name],
);

/** Beginnings of model names that LiteLLM knows without a provider. */
const KNOWN_BEGINNINGS = [
  ...['gpt-', 'chatgpt-', 'o1', 'o3', 'o4'].map((start) => [start, 'openai'] as const),
  ['claude-', 'anthropic'],
  ['mistral-', 'mistral'],
  ['codestral', 'mistral'],
  ['deepseek-', 'deepseek'],
] as const;

/**
 * For the entry `*`, which stands for any model of any provider, makes a wildcard for each provider; null for another entry.
 * @param named the names that have their own entries
 */
export function expandEverything(
  entry: ConfigNode,
  named: ReadonlySet<string | null>,
  { outcomes }: ImportContext,
): ConfigNode[] | null {
  const nameNode = valueAt(entry, 'model_name');
  const params = valueAt(entry, 'litellm_params');
  const modelNode = valueAt(params, 'model');
  const isEverything =
    scalarText(nameNode) === '*' && scalarText(modelNode) === '*' && !valueAt(params, 'custom_llm_provider');
  if (!isEverything || !params || !nameNode || !modelNode) return null;
  outcomes.approximated(
    nameNode,
    ['models'],
    'a wildcard for each provider; a wildcard whose key is not set is left out',
  );
  outcomes.approximated(modelNode, ['models'], 'a wildcard has one provider');
  const patterns = [
    ...PUBLIC.map((provider) => [`${provider}/*`, `${provider}/*`] as const),
    ...KNOWN_BEGINNINGS.map(([start, provider]) => [`${start}*`, `${provider}/${start}*`] as const),
  ];
  return patterns
    .filter(([name]) => !named.has(name))
    .map(([name, model]) => {
      const inner = withEntry(params, 'model', { ...modelNode, text: model });
      return withEntry(withEntry(entry, 'model_name', { ...nameNode, text: name }), 'litellm_params', inner);
    });
}

const withEntry = (map: ConfigNode, key: string, node: ConfigNode): ConfigNode => ({
  ...map,
  entries: new Map(map.entries).set(key, node),
});

const OWN_BUDGET = 'write a budget with `match: request.model.startsWith("…")`';
const ONE_PROVIDER = 'a wildcard has one provider; a 429 from the provider goes to the caller';

/** Keeps the first wildcard of each name, and records the keys that a wildcard cannot have. */
export function firstWildcards(all: readonly Deployment[], { outcomes, todo }: ImportContext): Deployment[] {
  const first = new Map<string, Deployment>();
  for (const one of all) {
    const { params, group } = one;
    outcomes.keysLeftOut(params, ['max_budget', 'budget_duration'], OWN_BUDGET);
    outcomes.keysLeftOut(params, READ_LATER, ONE_PROVIDER);
    const before = first.get(group);
    if (before)
      outcomes.leftOut(valueAt(params, 'model'), `${ONE_PROVIDER}, here the provider of the first entry of this name`);
    else first.set(group, one);
    if (!before && !hasPublicPrices(one) && !one.connection.isOwn && !one.facts.price) {
      todo.ask(
        group,
        'a price for all of its models, under `unknown_price` as `as: { input: …, output: … }`; without a price the wildcard refuses all requests',
      );
    }
  }
  return [...first.values()];
}

const hasPublicPrices = ({ connection: { preset, baseUrl, baseUrlEnv } }: Deployment): boolean =>
  preset !== null && preset !== 'azure-openai' && baseUrl === null && baseUrlEnv === null;

/** The entry of a wildcard under `models`. */
export function wildcardBlock(one: Deployment, common: CommonSettings, { today }: ImportContext): FieldBlock {
  const { group, upstream, facts, connection, regions, tags, assigned } = one;
  const free = flow({ as: flow({ input: 0, output: 0, as_of: exact(today), basis: 'own' }) });
  const has = [...facts.capabilities].flatMap(([name, is]) => (is ? [name] : []));
  const isFree = connection.isOwn && !facts.price;
  const price: Field | null = facts.price
    ? field('price', facts.price.value)
    : field('unknown_price', isFree ? free : 'refuse', isFree ? { beside: 'your own server' } : {});
  return block(
    field('provider', assigned.provider),
    upstream === group.slice(group.indexOf('/') + 1) ? null : field('upstream', upstream),
    field('regions', some(regions)),
    price,
    ...sizesOf(one),
    field('capabilities', some(has)),
    field('tags', some(tags)),
    deadlinesField([one], common),
  );
}

/** If a cap is above the sizes that a policy assumes by default, the cap is written as the size. */
function sizesOf({ facts: { contextWindow, maxOutput }, defaultMaxOutput }: Deployment): (Field | null)[] {
  const cap = defaultMaxOutput && Math.min(defaultMaxOutput, maxOutput ?? Infinity, contextWindow ?? Infinity);
  const above = (unstated: number): number | null => (cap !== null && cap > unstated ? cap : null);
  return [
    field('context_window', contextWindow ?? above(UNKNOWN_SIZES.hosted.context)),
    field('max_output', maxOutput ?? above(UNKNOWN_SIZES.hosted.output)),
    field('default_max_output', cap),
  ];
}
