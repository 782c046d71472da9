/**
 * Mistakes of newcomers that `signalbox policy check` answers with the line to write. `line` is a part of the message, and `fixed` is the
 * policy in which the author has written this line.
 */
export interface Mistake {
  readonly wrong: string;
  readonly line: string;
  readonly fixed: string;
}

export const FACTS =
  'provider: sim, price: { input: 1, output: 2, as_of: 2026-10-07, basis: own }, context_window: 8192, max_output: 2048';
export const QUALITY = 'quality: { default: 0.5, basis: guessed }';
const model = (more: string, quality = QUALITY) => `models:\n  mine: { ${FACTS}, ${quality}${more} }\n`;
export const guard = (more: string) => `guards:\n  - { name: g, ${more} }\n`;
const budget = (more: string) => `budgets:\n  - { name: b, window: month, ${more} }\n`;
const selector = (more: string) => `selectors:\n  mine: { strategy: auto${more} }\n`;
export const provider = (more: string) =>
  `providers:\n  own: { adapter: openai-compatible, base_url: "https://own.example/v1"${more} }\n${model('').replace('provider: sim', 'provider: own')}`;
export const PRESIDIO = 'guard: presidio, on_match: mask';

export const ERRORS: Readonly<Record<string, Mistake>> = {
  'weights on a model': {
    wrong: model(', weights: { a: 3, b: 1 }'),
    line: 'spread: weighted, endpoints: [{ provider: …, weight: 3 }, { provider: …, weight: 1 }]',
    fixed: model(
      ', spread: weighted, endpoints: [{ provider: sim, weight: 3 }, { provider: cloud, weight: 1 }]',
    ).replace('provider: sim, price', 'price'),
  },
  'a list under `api_key_env`': {
    wrong: provider(', api_key_env: [ONE_KEY, OTHER_KEY]'),
    line: 'api_keys_env: [ONE_KEY, OTHER_KEY]',
    fixed: provider(', api_keys_env: [ONE_KEY, OTHER_KEY]'),
  },
  'a reference to a secret of Kubernetes under `api_key_env`': {
    wrong: provider(', api_key_env: { secretKeyRef: { name: llm, key: own } }'),
    line: 'api_key_env: OPENAI_API_KEY',
    fixed: provider(', api_key_env: OPENAI_API_KEY'),
  },
  '`headers` in a provider': {
    wrong: provider(', headers: { api-key: x }'),
    line: 'settings: { auth: api-key }',
    fixed: provider(', api_key_env: OWN_KEY, settings: { auth: api-key }'),
  },
  '`models` in a provider': {
    wrong: provider(', models: [big]'),
    line: 'serves: "*"',
    fixed: provider(', serves: "*"'),
  },
  '`split` in a selector': {
    wrong: selector(', split: { a: 90, b: 10 }'),
    line: 'spread: weighted, endpoints: [{ provider: …, upstream: …, weight: 90 }, { provider: …, upstream: …, weight: 10 }]',
    fixed: model(
      ', spread: weighted, endpoints: [{ provider: sim, upstream: a, weight: 90 }, { provider: sim, upstream: b, weight: 10 }]',
    ).replace('provider: sim, price', 'price'),
  },
  '`sort` instead of `strategy`': {
    wrong: 'selectors:\n  mine: { sort: price }\n',
    line: 'strategy: auto-cheap',
    fixed: 'selectors:\n  mine: { strategy: auto-cheap }\n',
  },
  'a map as `strategy`': {
    wrong: 'selectors:\n  mine: { strategy: { mode: conditional } }\n',
    line: 'constraints: [{ name: paid, when: key.labels.plan == "paid", require: model.id == "NAME" }]',
    fixed: `${selector('')}constraints: [{ name: paid, when: key.labels.plan == "paid", require: model.id == "tiny" }]\n`,
  },
  'a map as `provider`': {
    wrong: model('').replace('provider: sim', 'provider: { order: [sim, cloud] }'),
    line: 'endpoints: [{ provider: a }, { provider: b }]',
    fixed: model(', endpoints: [{ provider: sim }, { provider: cloud }]').replace('provider: sim, price', 'price'),
  },
  'a list of models': {
    wrong: `models:\n  - { name: mine, ${FACTS}, ${QUALITY} }\n`,
    line: 'write `mine:` instead of `- name: mine`',
    fixed: model(''),
  },
  'prices per token': {
    wrong: model('').replace('price: { input: 1, output: 2', 'price: { prompt: 0.000001, completion: 0.000002'),
    line: 'write `output: 2`, in USD per 1M tokens',
    fixed: model(''),
  },
  'a capability with a word of another tool': {
    wrong: model(', capabilities: [function_calling]'),
    line: 'did you mean `tools`?',
    fixed: model(', capabilities: [tools]'),
  },
  '`max_budget` in a team': {
    wrong: 'teams: [{ name: search, max_budget: 50 }]\n',
    line: 'budgets: [{ limit_usd: 50, window: month }]',
    fixed: 'teams: [{ name: search, budgets: [{ limit_usd: 50, window: month }] }]\n',
  },
  '`kinds` beside `guard`': {
    wrong: guard('guard: personal-data, on_match: mask, kinds: [email]'),
    line: 'settings: { kinds: [email] }',
    fixed: guard('guard: personal-data, on_match: mask, settings: { kinds: [email] }'),
  },
  '`url` beside `guard`': {
    wrong: guard(`${PRESIDIO}, url: "http://127.0.0.1:5002"`),
    line: 'service: { url: "http://127.0.0.1:5002" }',
    fixed: guard(`${PRESIDIO}, service: { url: "http://127.0.0.1:5002", allow_private_network: true }`),
  },
  'a guard as a word': {
    wrong: 'guards:\n  - secrets\n',
    line: '- { name: secrets, guard: secrets, on_match: block }',
    fixed: 'guards:\n  - { name: secrets, guard: secrets, on_match: block }\n',
  },
  '`mode` in a guard': {
    wrong: guard('guard: secrets, on_match: block, mode: pre_call'),
    line: 'on: [input]',
    fixed: guard('guard: secrets, on_match: block, on: [input]'),
  },
  'a team as a word': {
    wrong: 'teams: [search]\n',
    line: '- { name: search }',
    fixed: 'teams:\n  - { name: search }\n',
  },
  'a selector as a word': {
    wrong: 'selectors:\n  mine: tiny\n',
    line: `mine: { strategy: auto, models: { require: 'model.id in ["NAME"]' } }`,
    fixed: `selectors:\n  mine: { strategy: auto, models: { require: 'model.id in ["tiny"]' } }\n`,
  },
  '`on_match: redact`': {
    wrong: guard('guard: secrets, on_match: redact'),
    line: 'did you mean `mask`?',
    fixed: guard('guard: secrets, on_match: mask'),
  },
  '`cache: true`': {
    wrong: 'cache: true\n',
    line: 'cache: { partition: key }',
    fixed: 'cache: { partition: key }\n',
  },
  '`cache` in a model': {
    wrong: model(', cache: true'),
    line: 'cache: { when: request.model == "mine" }',
    fixed: `${model('')}cache: { when: request.model == "mine" }\n`,
  },
  '`tiers` at the top': {
    wrong: 'tiers: { usual: [tiny], strong: [large] }\n',
    line: 'selectors: { auto: { strategy: auto, tiers: { usual: [tiny], strong: [large] } } }',
    fixed: 'selectors: { auto: { strategy: auto, tiers: { usual: [tiny], strong: [large] } } }\n',
  },
  '`routing` at the top': {
    wrong: 'routing: { strategy: cheapest }\n',
    line: 'selectors: { mine: { strategy: auto } }',
    fixed: 'selectors: { mine: { strategy: auto } }\n',
  },
  '`escalate` in a selector': {
    wrong: selector(', escalate: { on: [correction] }'),
    line: 'escalate: { on: [correction] }',
    fixed: `${selector('')}escalate: { on: [correction] }\n`,
  },
  'a number as `quality`': {
    wrong: model('', 'quality: 0.6'),
    line: 'quality: { default: 0.6 }',
    fixed: model('', 'quality: { default: 0.6 }'),
  },
  '`on_exceeded`': {
    wrong: budget('limit_credits: 50000, on_exceeded: reject'),
    line: 'on_exhausted',
    fixed: budget('limit_credits: 50000, on_exhausted: reject'),
  },
  '`on_exhausted: block`': {
    wrong: budget('limit_credits: 50000, on_exhausted: block'),
    line: 'did you mean `reject`?',
    fixed: budget('limit_credits: 50000, on_exhausted: reject'),
  },
  '`timeout_ms` in a model': {
    wrong: model(', timeout_ms: 20000'),
    line: 'deadlines: { total_ms: 20000 }',
    fixed: model(', deadlines: { total_ms: 20000 }'),
  },
  '`timeout_ms` in a provider': {
    wrong: provider(', timeout_ms: 20000'),
    line: 'deadlines: { total_ms: … }',
    fixed: model(', deadlines: { total_ms: 20000 }'),
  },
  '`limit: 20` in a budget': {
    wrong: budget('limit: 20'),
    line: 'limit_usd: 20',
    fixed: budget('limit_usd: 20'),
  },
  '`limit: 20` in a rate limit': {
    wrong: 'rate_limits:\n  - { name: calls, limit: 20 }\n',
    line: 'requests_per_minute: 20',
    fixed: 'rate_limits:\n  - { name: calls, requests_per_minute: 20 }\n',
  },
  '`guardrails`': {
    wrong: guard('guard: secrets, on_match: block').replace('guards', 'guardrails'),
    line: 'did you mean `guards`?',
    fixed: guard('guard: secrets, on_match: block'),
  },
  '`rpm` in a model': {
    wrong: model(', rpm: 60'),
    line: 'endpoints: [{ provider: …, upstream: …, limits: { requests_per_minute: 60 } }]',
    fixed: model(', endpoints: [{ provider: sim, upstream: m, limits: { requests_per_minute: 60 } }]').replace(
      'provider: sim, price',
      'price',
    ),
  },
  '`limits` in a model': {
    wrong: model(', limits: { tokens_per_minute: 9000 }'),
    line: 'endpoints: [{ provider: …, upstream: …, limits: { tokens_per_minute: 9000 } }]',
    fixed: model(', endpoints: [{ provider: sim, upstream: m, limits: { tokens_per_minute: 9000 } }]').replace(
      'provider: sim, price',
      'price',
    ),
  },
  '`tpm` in an endpoint': {
    wrong: model(', endpoints: [{ provider: sim, tpm: 9000 }]').replace('provider: sim, price', 'price'),
    line: 'limits: { tokens_per_minute: 9000 }',
    fixed: model(', endpoints: [{ provider: sim, limits: { tokens_per_minute: 9000 } }]').replace(
      'provider: sim, price',
      'price',
    ),
  },
  '`num_retries` in a model': {
    wrong: model(', num_retries: 3'),
    line: 'gateway: { retries_max: 2 }',
    fixed: `${model('')}gateway: { retries_max: 2 }\n`,
  },
  '`cooldown_time` in a provider': {
    wrong: provider(', cooldown_time: 30'),
    line: 'remove this key',
    fixed: provider(''),
  },
  '`window: 30d` in a budget': {
    wrong: budget('limit_credits: 50000').replace('month', '30d'),
    line: 'did you mean `month`?',
    fixed: budget('limit_credits: 50000'),
  },
  'an alias at the top': {
    wrong: `${model('')}model_alias_map: { gpt-4: mine }\n`,
    line: 'models: { NAME: { aliases: [OTHER NAME] } }',
    fixed: model(', aliases: [gpt-4]'),
  },
  '`include` at the top': {
    wrong: 'include: [other.yaml]\n',
    line: 'all YAML files in the folder are one policy',
    fixed: model(''),
  },
  'an envelope of Kubernetes': {
    wrong: `apiVersion: v1\nkind: Policy\nspec:\n  gateway: { retries_max: 2 }\n`,
    line: 'move the sections in `spec` to the top of the file',
    fixed: 'gateway: { retries_max: 2 }\n',
  },
};

const fallbacks = (more: string, tags = '') => `${model(more)}  other: { ${FACTS}, ${QUALITY}${tags} }\n`;
const WEBHOOK = 'url_env: OPS_WEBHOOK_URL, format: slack';
const alerts = (more: string) =>
  `alerts: { webhooks: { ops: { ${more} } }, rules: [{ name: down, on: provider_down, to: [ops] }] }\n`;
export const eyes = (more: string) => model(`, capabilities: [vision]${more}`) + budget('limit_credits: 50000');
const team = (name: string) =>
  `teams: [{ name: search }]\nconstraints:\n  - { name: r, when: team.name == "${name}", require: model.id == "tiny" }\n`;

/** Policies that load, and of which a part cannot work. */
export const WARNINGS: Readonly<Record<string, Mistake>> = {
  'a webhook on a private address': {
    wrong: alerts(WEBHOOK),
    line: 'allow_private_network: true',
    fixed: alerts(`${WEBHOOK}, allow_private_network: true`),
  },
  'the service of a guard on this machine': {
    wrong: guard(`${PRESIDIO}, service: { url: "http://localhost:5002" }`),
    line: 'allow_private_network: true',
    fixed: guard(`${PRESIDIO}, service: { url: "http://localhost:5002", allow_private_network: true }`),
  },
  '`vision` without `image_tokens_max` under a budget': {
    wrong: eyes(''),
    line: 'image_tokens_max: N',
    fixed: eyes(', image_tokens_max: 1600'),
  },
  'a fallback for long prompts that is no larger': {
    wrong: fallbacks(', fallbacks: { context: [tiny] }'),
    line: 'context: [large]',
    fixed: fallbacks(', fallbacks: { context: [large] }'),
  },
  'a fallback without the tools of its model': {
    wrong: fallbacks(', capabilities: [tools], fallbacks: [other]'),
    line: 'add `tools` to the `capabilities` of `other`',
    fixed: fallbacks(', capabilities: [tools], fallbacks: [other]', ', capabilities: [tools]'),
  },
  'a fallback that the team may not use': {
    wrong: `${fallbacks(', fallbacks: [other]')}teams: [{ name: search, models: [mine] }]\n`,
    line: 'add `other` to `teams.search.models`',
    fixed: `${fallbacks(', fallbacks: [other]')}teams: [{ name: search, models: [mine, other] }]\n`,
  },
  'a `webhook` guard with `mask`': {
    wrong: guard('guard: webhook, on_match: mask, service: { url: "https://guard.example" }'),
    line: 'on_match: block',
    fixed: guard('guard: webhook, on_match: block, service: { url: "https://guard.example" }'),
  },
  'a misspelt team, without a server': {
    wrong: team('serch'),
    line: 'did you mean `search`?',
    fixed: team('search'),
  },
};
