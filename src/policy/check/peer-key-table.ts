import { didYouMean } from '../../core/text/text.ts';

/** Keys and sections of other tools, and what to write in Signalbox instead. */
interface PeerKeys {
  readonly words: readonly string[];
  /** The key with this meaning. The entry applies only where this key is known; without `meant`, the entry applies everywhere. */
  readonly meant?: string;
  /** A key that only maps of one kind can have. The entry applies only to these maps. */
  readonly beside?: string;
  /**
   * Without `hint`, the hint is `did you mean …?` with the intended key. `{value}` stands for the value of the unknown key, and `{name}` for
   * the name of the part that has it.
   */
  readonly hint?: string;
}

const words = (text: string): readonly string[] => text.split(' ');

/** Sections of a LiteLLM configuration. */
export const LITELLM_SECTIONS: ReadonlySet<string> = new Set(
  words('model_list litellm_settings router_settings general_settings environment_variables'),
);

export const LITELLM_HINT = 'this is a LiteLLM configuration: `signalbox import litellm FILE` converts it to a policy';

const FALLBACKS =
  'write `fallbacks` in the model or selector that it belongs to: a list of models, or one list for each of `error`, `rate_limit`, `context` and `refused`';

const DEADLINES_OF_MODELS =
  'deadlines belong to a model: write `deadlines: { total_ms: 300000 }` in its entry in `models`, in milliseconds';

/** Words at the top of a policy file, and in sections that are settings. */
const SECTION_KEYS: readonly PeerKeys[] = [
  {
    words: words('guardrails guardrail moderation input_guardrails output_guardrails'),
    meant: 'guards',
    hint: `${didYouMean('guards')} For the guardrails of a LiteLLM configuration, run \`signalbox import litellm FILE\``,
  },
  {
    words: words('tiers tier'),
    beside: 'selectors',
    hint: 'tiers belong to a selector: write `selectors: { auto: { strategy: auto, tiers: {value} } }`',
  },
  {
    words: words('routing router routes route strategy load_balancing'),
    beside: 'selectors',
    hint: 'a selector chooses the model: write `selectors: { mine: { strategy: auto } }`, and send `mine` as `model`. Hard rules are in `constraints`',
  },
  {
    words: words('users user members'),
    beside: 'selectors',
    hint: 'a policy declares teams, but no users: create each user with `signalbox users create --name NAME --email ADDRESS`. Terms for every user are in `member_defaults` of `organization` or of a team',
  },
  {
    words: words('keys key api_keys virtual_keys consumers consumer keyauth_credentials master_key'),
    beside: 'selectors',
    hint: 'a policy contains no keys: create each key with `signalbox keys create --name NAME`',
  },
  {
    words: words('webhooks webhook alerting notifications'),
    beside: 'selectors',
    hint: 'write `alerts: { webhooks: { ops: { url_env: ALERT_WEBHOOK_URL, format: slack } }, rules: [{ name: down, on: provider_down, to: [ops] }] }`',
  },
  {
    words: words('server port host listen'),
    beside: 'selectors',
    hint: 'where the server listens is not part of the policy: start it with `signalbox serve --host ADDRESS --port NUMBER`',
  },
  {
    words: words('timeout timeouts timeout_ms request_timeout deadlines'),
    beside: 'selectors',
    hint: DEADLINES_OF_MODELS,
  },
  { words: words('timeout timeout_ms request_timeout deadlines'), beside: 'body_bytes_max', hint: DEADLINES_OF_MODELS },
  {
    words: words('apiVersion kind metadata spec'),
    beside: 'selectors',
    hint: 'a policy file has no envelope: remove `apiVersion`, `kind` and `metadata`, and move the sections in `spec` to the top of the file',
  },
  {
    words: words('model_alias_map model_group_alias aliases'),
    beside: 'selectors',
    hint: 'other names of a model are in its entry: write `models: { NAME: { aliases: [OTHER NAME] } }`',
  },
  {
    words: words('include includes import imports'),
    beside: 'selectors',
    hint: 'remove this key: all YAML files in the folder are one policy',
  },
  {
    words: words('enabled enable on active'),
    beside: 'ttl_seconds',
    hint: 'the section itself turns the cache on: write `cache: { partition: key }`',
  },
  {
    words: words('mode type backend host port url redis redis_url semantic similarity_threshold'),
    beside: 'ttl_seconds',
    hint: 'remove this key: there is one cache, which answers equal requests and is stored in the database',
  },
];

/** Words for limits in a model or an endpoint. */
const ACCOUNT_LIMIT_KEYS: readonly PeerKeys[] = [
  {
    words: ['limits'],
    beside: 'context_window',
    hint: 'limits belong to an endpoint: write `endpoints: [{ provider: …, upstream: …, limits: {value} }]` instead of `provider` and `upstream`',
  },
  {
    words: words('rpm rpm_limit requests_per_minute'),
    beside: 'context_window',
    hint: 'limits belong to an endpoint: write `endpoints: [{ provider: …, upstream: …, limits: { requests_per_minute: {value} } }]` instead of `provider` and `upstream`',
  },
  {
    words: words('tpm tpm_limit tokens_per_minute'),
    beside: 'limits',
    hint: 'write `limits: { tokens_per_minute: {value} }`',
  },
];

/** Words for retries and pauses. */
const RETRY_KEYS: readonly PeerKeys[] = [
  {
    words: words('num_retries max_retries retries retry retry_policy'),
    beside: 'context_window',
    hint: 'one number holds for all models: write `gateway: { retries_max: 2 }`',
  },
  {
    words: words('cooldown_time cooldown allowed_fails circuit_breaker'),
    beside: 'base_url',
    hint: 'remove this key: Signalbox stops using an endpoint that fails, and tries it again, without a setting',
  },
];

/** Words in a provider. */
const PROVIDER_KEYS: readonly PeerKeys[] = [
  {
    words: words('headers extra_headers default_headers custom_headers http_headers'),
    beside: 'base_url',
    hint: 'remove this key: Signalbox sends no headers of your own. The key is sent from `api_key_env`; for a server that reads it from the header `api-key`, add `settings: { auth: api-key }`. For any other header, put a proxy before the server',
  },
  {
    words: words('models model'),
    beside: 'base_url',
    hint: 'models are a section: write each as `models: { ID: { provider: {name}, context_window: …, max_output: …, price: …, quality: … } }`. To serve any model of the provider, write `serves: "*"` here',
  },
  {
    words: words('region location'),
    beside: 'base_url',
    hint: 'regions belong to a model: write `regions: [{value}]` in each model of this provider',
  },
];

/** Words in a model, a provider or a selector. */
const MODEL_KEYS: readonly PeerKeys[] = [
  {
    words: words('weights weight'),
    beside: 'context_window',
    hint: 'to divide requests among several endpoints, write `spread: weighted, endpoints: [{ provider: …, weight: 3 }, { provider: …, weight: 1 }]`',
  },
  {
    words: words('cache caching cached'),
    beside: 'context_window',
    hint: 'the cache is a section at the top of a file: write `cache: { when: request.model == "{name}" }`',
  },
  {
    words: ['timeout_ms'],
    beside: 'deadlines',
    meant: 'deadlines',
    hint: 'write `deadlines: { total_ms: {value} }`',
  },
  {
    words: words('timeout_ms timeout request_timeout timeout_s timeout_seconds deadlines'),
    beside: 'base_url',
    hint: 'deadlines belong to a model: write `deadlines: { total_ms: … }` in each model of this provider, in milliseconds',
  },
  ...PROVIDER_KEYS,
  {
    words: words('split targets backends backendRefs loadbalance load_balance canary traffic_split'),
    beside: 'strategy',
    hint: 'shares of requests belong to a model: write `spread: weighted, endpoints: [{ provider: …, upstream: …, weight: 90 }, { provider: …, upstream: …, weight: 10 }]` in an entry of `models`, and send its name as `model`',
  },
  {
    words: words('sort order optimize optimize_for goal objective routing_strategy'),
    meant: 'strategy',
    hint: 'write `strategy: auto-cheap` for a low price, `strategy: auto-fast` for a short wait, or `strategy: auto` for a model that is nearly the best at a low price',
  },
  {
    words: ['escalate'],
    beside: 'strategy',
    hint: 'it holds for all selectors: write `escalate: {value}` at the top of a file',
  },
];

/** Words in a budget or rate limit. */
const LIMIT_KEYS: readonly PeerKeys[] = [
  { words: words('on_exceeded on_exceed on_limit on_exceeding action when_exhausted'), meant: 'on_exhausted' },
  {
    words: words('limit max max_budget budget amount'),
    meant: 'limit_credits',
    hint: 'write `limit_usd: {value}` for an amount in USD, or `limit_credits: {value}` for an amount in Credits',
  },
  {
    words: words('limit max requests minute per_minute requests_per_min rpm rpm_limit'),
    meant: 'requests_per_minute',
    hint: 'write `requests_per_minute: {value}`',
  },
  {
    words: words('max_budget budget monthly_budget budget_limit limit_usd limit_credits'),
    beside: 'member_defaults',
    hint: 'write `budgets: [{ limit_usd: {value}, window: month }]`',
  },
];

/** Words in a guard. */
const GUARD_KEYS: readonly PeerKeys[] = [
  { words: words('action then on_fail on_violation'), meant: 'on_match' },
  {
    words: words('mode stage phase'),
    meant: 'on',
    hint: 'write `on: [input]`, `on: [output]` or both. What happens with a match is `on_match: block`, `mask` or `flag`',
  },
  { words: words('timeout_ms timeout'), meant: 'deadline_ms', hint: 'write `deadline_ms: …`, in milliseconds' },
  {
    words: words('url base_url endpoint address'),
    beside: 'on_match',
    hint: 'write `service: { url: {value} }`; for a service on this machine or in a private network, add `allow_private_network: true` there',
  },
];

export const PEER_KEYS: readonly PeerKeys[] = [
  {
    words: [...LITELLM_SECTIONS],
    hint: LITELLM_HINT,
  },
  { words: words('fallback fallbacks fallback_models default_fallbacks context_window_fallbacks'), hint: FALLBACKS },
  {
    words: ['default_model'],
    hint: 'there is no default model: callers send the name of a selector as `model`, such as `auto`. To define your own choice, add a selector: `selectors: { mine: { strategy: auto } }`',
  },
  { words: words('rules rule policies policy'), meant: 'constraints' },
  { words: words('if match condition conditions'), meant: 'when' },
  { words: words('if when condition conditions'), meant: 'match' },
  {
    words: words('period duration budget_duration interval'),
    meant: 'window',
    hint: 'write `window: month`, or `day`, `week` or `total`',
  },
  { words: words('max_tokens max_output_tokens max_completion_tokens'), meant: 'max_output' },
  {
    words: words('max_input_tokens context_length max_context_length context_size'),
    meant: 'context_window',
    hint: `${didYouMean('context_window')} It counts the tokens of input and output together`,
  },
  ...SECTION_KEYS,
  ...MODEL_KEYS,
  ...RETRY_KEYS,
  ...LIMIT_KEYS,
  ...ACCOUNT_LIMIT_KEYS,
  ...GUARD_KEYS,
  {
    words: words('type kind api_type provider_type custom_llm_provider'),
    meant: 'adapter',
    hint: `${didYouMean('adapter')} For a service that Signalbox knows, write \`preset\` instead, such as \`preset: openai\``,
  },
  { words: words('api_base api_url endpoint url host custom_host upstream_url'), meant: 'base_url' },
];
