import type { Plugin } from '../contract/kinds.ts';
import type { JsonSchema } from './json-schema-words.ts';
import { FACILITATOR_KEYS } from './schema-payments.ts';
import { AnyModelText, WildcardText } from './schema-wildcard.ts';

/** Path of a map → conditions between its keys. */
export type SchemaRules = Readonly<Record<string, readonly JsonSchema[]>>;

const needs = (...keys: readonly string[]): JsonSchema => ({ required: keys });
/** Not a literal: an object with a key `then` looks like a promise. */
const when = (condition: JsonSchema, consequence: JsonSchema): JsonSchema =>
  Object.fromEntries([
    ['if', condition],
    ['then', consequence],
  ]);

/** At least one of these keys. */
const oneOf = (first: string, ...others: readonly string[]): JsonSchema =>
  when(
    { not: { anyOf: [first, ...others].map((key) => needs(key)) } },
    { errorMessage: `Needs ${[first, ...others].join(' or ')}.`, ...needs(first) },
  );
/** If a key is present, others must not be. */
const alone = (key: string, others: readonly string[], errorMessage: string): JsonSchema =>
  when(needs(key), { errorMessage, properties: never(others) });
const never = (keys: readonly string[]) => Object.fromEntries(keys.map((key) => [key, false]));

/** Matches whole words. With `const`, editors match a longer word while it is being typed. */
const isWord = (...words: readonly string[]): JsonSchema => ({
  type: 'string',
  pattern: `^(?:${words.map((word) => word.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')).join('|')})$`,
});

/** A key is stated with one of these words. */
const names = (key: string, ...words: readonly string[]): JsonSchema => ({
  properties: { [key]: isWord(...words) },
  ...needs(key),
});

/** The key that a mode needs, and the keys that only the other mode takes. */
const mode = (name: 'local' | 'http', other: 'local' | 'http'): JsonSchema[] => {
  const isNamed = names('mode', name);
  const [first] = FACILITATOR_KEYS[name];
  return [
    when(isNamed, needs(first)),
    when(isNamed, { errorMessage: `Only with mode: ${other}.`, properties: never(FACILITATOR_KEYS[other]) }),
  ];
};

const operationsAre = (list: JsonSchema): JsonSchema => ({
  properties: { operations: { type: 'array', ...list } },
  ...needs('operations'),
});

const OF_MODELS: readonly JsonSchema[] = [
  { ...needs('context_window'), properties: never(['unknown_price']) },
  alone('endpoints', ['provider', 'upstream', 'regions'], 'Beside endpoints, this stands in each endpoint.'),
  oneOf('provider', 'endpoints'),
  when({ not: operationsAre({ minItems: 1, items: isWord('embed') }) }, needs('max_output', 'quality')),
  when(operationsAre({ contains: isWord('embed') }), needs('embedding')),
  when(needs('embedding'), needs('operations')),
  when({ not: { anyOf: [needs('price'), needs('endpoints')] } }, needs('price')),
  when(
    { ...needs('endpoints'), not: needs('price') },
    { properties: { endpoints: { type: 'array', items: { type: 'object', ...needs('price') } } } },
  ),
];

const OF_WILDCARDS: JsonSchema = {
  type: 'object',
  errorMessage: 'An ID that ends in * is a wildcard: it needs a provider, and takes fewer keys than a model.',
  ...needs('provider'),
  properties: never(Object.keys(AnyModelText.properties).filter((key) => !(key in WildcardText.properties))),
};

const RULES: SchemaRules = {
  'providers.*': [oneOf('adapter', 'preset'), alone('base_url', ['base_url_env'], 'One of base_url and base_url_env.')],
  models: [{ patternProperties: { '[^*]$': { type: 'object', allOf: OF_MODELS }, '\\*$': OF_WILDCARDS } }],
  'constraints[]': [oneOf('require', 'max_latency_ms', 'max_cost_credits')],
  'rate_limits[]': [oneOf('requests_per_minute', 'tokens_per_minute', 'concurrent_streams')],
  'cases[].expect': [
    when({ maxProperties: 0 }, { errorMessage: 'Needs at least one key.', ...needs('model') }),
    alone(
      'refused',
      ['model', 'provider', 'reason', 'cost_below_credits', 'latency_below_ms', 'quality_above'],
      'Where the request is refused, no model is chosen.',
    ),
  ],
  'alerts.webhooks.*': [when({ not: names('format', 'slack') }, needs('secret_env'))],
  'sign_in.roles[]': [when(names('role', 'lead'), needs('team'))],
  'alerts.rules[]': [when(names('on', 'cached_share'), needs('below'))],
  'payments.x402': [
    when(
      { properties: { enabled: { type: 'boolean', const: true } }, ...needs('enabled') },
      { properties: { networks: { type: 'array', minItems: 1 } }, ...needs('networks') },
    ),
  ],
  'payments.x402.networks[]': [
    oneOf('rpc_urls', 'rpc_urls_env'),
    alone('rpc_urls', ['rpc_urls_env'], 'One of rpc_urls and rpc_urls_env.'),
  ],
  'payments.x402.networks[].facilitator': [...mode('local', 'http'), ...mode('http', 'local')],
};

/** The name of a plugin's options among the definitions. */
export const definitionOf = ({ kind, name }: Plugin): string => `${kind}.${name}`;

/** All rules, including the option schemas of plugins. */
export function rulesOf(plugins: readonly Plugin[]): SchemaRules {
  const takes = (key: string, plugin: Plugin): JsonSchema => ({
    properties: { [key]: { $ref: `#/definitions/${definitionOf(plugin)}` } },
  });
  const strategies = plugins.flatMap((plugin) => {
    if (plugin.kind !== 'strategy') return [];
    const isNamed = names('strategy', plugin.name);
    const { options: former, by } = plugin.formerly ?? { options: [] };
    const older = plugins.find(({ kind, name }) => kind === 'strategy' && name === by);
    if (!older) return [when(isNamed, takes('options', plugin))];
    // With options of an earlier version, the strategy that still takes them runs instead.
    const isFormer = { type: 'object', anyOf: former.map((key) => ({ type: 'object', ...needs(key) })) };
    const states = { properties: { options: isFormer }, ...needs('options') };
    return [
      when({ allOf: [isNamed, states] }, takes('options', older)),
      when({ allOf: [isNamed, { not: states }] }, takes('options', plugin)),
    ];
  });
  const estimators = plugins.flatMap((plugin) => {
    if (plugin.kind !== 'estimator') return [];
    // Without `estimator`, the options are those of the default.
    const isNamed = {
      properties: { estimator: isWord(plugin.name) },
      ...(plugin.name !== 'learned' && needs('estimator')),
    };
    return [when(isNamed, takes('options', plugin))];
  });
  const adapters = plugins.flatMap((plugin) => {
    if (plugin.kind !== 'provider') return [];
    const presets = Object.keys(plugin.presets ?? {});
    const byPreset = { properties: { preset: isWord(...presets), adapter: false }, ...needs('preset') };
    const conditions = [names('adapter', plugin.name), ...(presets.length > 0 ? [byPreset] : [])];
    return conditions.map((condition) => when(condition, takes('settings', plugin)));
  });
  return {
    ...RULES,
    'providers.*': [...(RULES['providers.*'] ?? []), ...adapters],
    'selectors.*': strategies,
    learning: estimators,
  };
}
