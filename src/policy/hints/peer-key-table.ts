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

const FALLBACKS =
  'write `fallbacks` in the model or selector that it belongs to: a list of models, or one list for each of `error`, `rate_limit`, `context` and `refused`';

const DEADLINES_OF_MODELS =
  'deadlines belong to a model: write `deadlines: { total_ms: 300000 }` in its entry in `models`, in milliseconds';

/** Words at the top of a policy file, and in sections that are settings. */
const SECTION_KEYS: readonly PeerKeys[] = [
  {
    words: words('guardrails guardrail moderation'),
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
    words: words('keys key api_keys virtual_keys'),
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
    words: ['targets'],
    beside: 'selectors',
    hint: 'each target is a model: write it in `models`, and name the models to try next in `fallbacks` of the first. To divide requests among deployments of one model, list them in its `endpoints` with `spread: weighted`',
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
];

/** The limits of an account, with the words of other tools. */
const ACCOUNT_LIMITS = [
  { words: words('rpm rpm_limit requests_per_minute'), limit: 'requests_per_minute' },
  { words: words('tpm tpm_limit tokens_per_minute'), limit: 'tokens_per_minute' },
  { words: words('max_parallel_requests max_concurrency concurrent_requests'), limit: 'concurrent_requests' },
] as const;

/** Words for limits in a model, an endpoint or a provider. */
const ACCOUNT_LIMIT_KEYS: readonly PeerKeys[] = [
  {
    words: ['limits'],
    beside: 'context_window',
    hint: 'limits belong to an endpoint: write `endpoints: [{ provider: …, upstream: …, limits: {value} }]` instead of `provider` and `upstream`',
  },
  ...ACCOUNT_LIMITS.flatMap(({ words, limit }): PeerKeys[] => [
    {
      words,
      beside: 'context_window',
      hint: `limits belong to an endpoint: write \`endpoints: [{ provider: …, upstream: …, limits: { ${limit}: {value} } }]\` instead of \`provider\` and \`upstream\``,
    },
    { words, beside: 'limits', hint: `write \`limits: { ${limit}: {value} }\`` },
    {
      words,
      beside: 'base_url',
      hint: `limits belong to a key: write \`api_keys_env: [{ api_key_env: NAME, limits: { ${limit}: {value} } }]\` with the variable of the key`,
    },
  ]),
];

const RETRIES = words('num_retries max_retries retries retry retry_policy');
const COOLDOWN = words('cooldown_time cooldown allowed_fails circuit_breaker');
const COOLDOWN_HINT =
  'remove this key: Signalbox stops using an endpoint that fails, and tries it again, without a setting';

/** Words for retries and pauses in a model, a provider or at the top. */
const RETRY_KEYS: readonly PeerKeys[] = ['context_window', 'base_url', 'selectors'].flatMap((beside) => [
  { words: RETRIES, beside, hint: 'one number holds for all models: write `gateway: { retries_max: 2 }`' },
  { words: COOLDOWN, beside, hint: COOLDOWN_HINT },
]);

/** Words in a model, a provider or a selector. */
const MODEL_KEYS: readonly PeerKeys[] = [
  {
    words: words('weights weight'),
    beside: 'context_window',
    hint: 'to divide requests among several endpoints, write `spread: weighted, endpoints: [{ provider: …, weight: 3 }, { provider: …, weight: 1 }]`. How much quality and cost count is in the `options` of a selector',
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
    words: words('timeout request_timeout stream_timeout timeout_s timeout_seconds'),
    meant: 'deadlines',
    hint: 'write `deadlines: { total_ms: … }`, in milliseconds: 60 seconds are 60000',
  },
  {
    words: words('timeout_ms timeout request_timeout timeout_s timeout_seconds deadlines'),
    beside: 'base_url',
    hint: 'deadlines belong to a model: write `deadlines: { total_ms: … }` in each model of this provider, in milliseconds',
  },
  {
    words: words('model_info litellm_params'),
    beside: 'context_window',
    hint: 'write the figures in the model itself: `provider`, `upstream`, `price`, `context_window` and `max_output`. `signalbox import litellm FILE` converts a whole LiteLLM configuration',
  },
  { words: words('weights weight'), beside: 'strategy', hint: 'write `options: {value}`' },
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
    words: words('limit max requests per_minute requests_per_min rpm rpm_limit'),
    meant: 'requests_per_minute',
    hint: 'write `requests_per_minute: {value}`',
  },
  { words: words('tpm tpm_limit'), meant: 'tokens_per_minute', hint: 'write `tokens_per_minute: {value}`' },
];

/** Words in a guard. */
const GUARD_KEYS: readonly PeerKeys[] = [
  { words: words('type kind plugin guardrail'), meant: 'guard' },
  { words: words('action mode then on_fail on_violation'), meant: 'on_match' },
  { words: words('timeout_ms timeout'), meant: 'deadline_ms', hint: 'write `deadline_ms: …`, in milliseconds' },
  {
    words: words('url base_url endpoint address'),
    beside: 'on_match',
    hint: 'write `service: { url: {value} }`; for a service on this machine or in a private network, add `allow_private_network: true` there',
  },
  {
    words: words('url_env base_url_env'),
    beside: 'on_match',
    hint: 'write `service: { url_env: {value} }`',
  },
  { words: ['api_key_env'], beside: 'on_match', hint: 'write `service: { api_key_env: {value} }`' },
  {
    words: ['allow_private_network'],
    beside: 'on_match',
    hint: 'write it in `service`: `service: { allow_private_network: {value} }`',
  },
];

export const PEER_KEYS: readonly PeerKeys[] = [
  {
    words: [...LITELLM_SECTIONS],
    hint: 'this is a LiteLLM configuration: `signalbox import litellm FILE` converts it to a policy',
  },
  { words: words('fallback fallbacks fallback_models default_fallbacks context_window_fallbacks'), hint: FALLBACKS },
  {
    words: ['default_model'],
    hint: 'there is no default model: callers send the name of a selector as `model`, such as `auto`. To define your own choice, add a selector: `selectors: { mine: { strategy: auto } }`',
  },
  { words: words('rules rule policies policy'), meant: 'constraints' },
  { words: words('if match condition conditions'), meant: 'when' },
  { words: words('if when condition conditions'), meant: 'match' },
  { words: words('period duration budget_duration interval'), meant: 'window' },
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
  {
    words: ['quality_floor'],
    meant: 'quality_enough',
    hint: 'in version 2, this strategy calls it `quality_enough`: the quality that is always good enough. `quality_floor` is the minimum quality of the other strategies',
  },
  { words: words('api_base api_url endpoint url host'), meant: 'base_url' },
];
