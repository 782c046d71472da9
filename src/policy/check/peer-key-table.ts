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
  ...['selectors', 'body_bytes_max'].flatMap((beside): PeerKeys[] => [
    {
      words: words('server port host listen'),
      beside,
      hint: 'where the server listens is not part of the policy: start it with `signalbox serve --host ADDRESS --port NUMBER`',
    },
    {
      words: words('rate_limit limits rate_limiting ratelimit throttling'),
      beside,
      hint: 'write `rate_limits: [{ name: calls, each: key, requests_per_minute: 600 }]` at the top of a file',
    },
  ]),
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
    words: words('_format_version services upstreams'),
    beside: 'selectors',
    hint: 'there is no import for Kong: write each service as a provider, `providers: { mine: { adapter: openai-compatible, base_url: URL, api_key_env: NAME } }`, and its models in `models`',
  },
  {
    words: words('env environment'),
    beside: 'selectors',
    hint: 'a policy only names environment variables: set them where you start the server, and write the name, such as `api_key_env: NAME` in a provider',
  },
  {
    words: words('logging log logs log_level telemetry observability tracing'),
    beside: 'selectors',
    hint: 'remove this key: logs, metrics and traces are built in. How they are written is set where you start the server, such as `signalbox serve --log json`',
  },
  {
    words: words('database database_url db'),
    beside: 'selectors',
    hint: 'the database is not part of the policy: set the environment variable DATABASE_URL where you start the server',
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
  {
    words: words('ttl max_age expires_in'),
    meant: 'ttl_seconds',
    hint: 'write `ttl_seconds: {value}`, in seconds',
  },
  {
    words: words('mode type backend host port url redis redis_url semantic similarity_threshold'),
    beside: 'ttl_seconds',
    hint: 'remove this key: there is one cache, which answers equal requests and is stored in the database',
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

/** Words for retries and pauses in a model, a provider, a selector or at the top. */
const RETRY_KEYS: readonly PeerKeys[] = ['context_window', 'base_url', 'strategy', 'selectors'].flatMap((beside) => [
  { words: RETRIES, beside, hint: 'one number holds for all models: write `gateway: { retries_max: 2 }`' },
  { words: COOLDOWN, beside, hint: COOLDOWN_HINT },
]);

/** Words for features of a model, and the capability with this meaning. */
const FEATURES = [
  [words('supports_vision supports_images'), 'vision'],
  [words('supports_function_calling supports_tools supports_tool_choice function_calling'), 'tools'],
  [words('supports_response_schema supports_structured_outputs'), 'json_schema'],
  [words('supports_reasoning supports_thinking'), 'reasoning'],
  [words('supports_audio_input'), 'audio_input'],
  [words('supports_pdf_input'), 'file_input'],
] as const;

const KEY_OF_PROVIDER =
  'write `api_key_env: NAME`: the name of an environment variable of the server that holds the key. On Kubernetes, set it from the secret in the manifest of the server';

/** Words in a provider. */
const PROVIDER_KEYS: readonly PeerKeys[] = [
  {
    words: words('headers extra_headers default_headers custom_headers http_headers'),
    beside: 'base_url',
    hint: 'remove this key: Signalbox sends no headers of your own. The key is sent from `api_key_env`; for a server that reads it from the header `api-key`, add `settings: { auth: api-key }`. For any other header, put a proxy before the server',
  },
  {
    words: words('auth authentication auth_type auth_header'),
    beside: 'base_url',
    hint: 'write `api_key_env: NAME` with the environment variable that holds the key, which Signalbox sends as a bearer token. For the header `api-key`, add `settings: { auth: api-key }`; no other header can have the key',
  },
  {
    words: words(
      'virtual_key env envFrom valueFrom secret secretRef secretKeyRef credentials credential api_key_secret apiKeySecret',
    ),
    beside: 'base_url',
    hint: KEY_OF_PROVIDER,
  },
  {
    words: ['connect_timeout'],
    beside: 'base_url',
    hint: 'deadlines belong to a model: write `deadlines: { connect_ms: … }` in each model of this provider, in milliseconds',
  },
  {
    words: words('read_timeout write_timeout idle_timeout'),
    beside: 'base_url',
    hint: 'deadlines belong to a model: write `deadlines: { idle_ms: … }` in each model of this provider, for the longest pause in milliseconds',
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
  {
    words: words('api_version organization project'),
    beside: 'base_url',
    hint: 'remove this key: Signalbox needs no version of the API, and a key belongs to one organization and project. For another one, add a provider with its own key',
  },
  {
    words: words('weight priority'),
    beside: 'base_url',
    hint: 'write it in an endpoint of a model: `endpoints: [{ provider: {name}, weight: 3 }]`, with `spread: weighted`',
  },
  {
    words: words('data_collection zdr data_policy'),
    beside: 'base_url',
    hint: 'remove this key, and set it in your account at the provider. To keep requests away from this provider, write `constraints: [{ name: private, when: key.labels.private == "yes", require: model.provider != "{name}" }]`',
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
    hint: 'write the figures in the model itself: `provider`, `upstream`, `price`, `context_window`, `max_output`, and its features as `capabilities: [tools, vision, json_schema]`. `signalbox import litellm FILE` converts a whole LiteLLM configuration',
  },
  ...FEATURES.map(
    ([words, capability]): PeerKeys => ({
      words,
      beside: 'context_window',
      hint: `write \`capabilities: [${capability}]\`, with the other features of the model`,
    }),
  ),
  {
    words: words('modalities input_modalities supported_parameters features supports'),
    meant: 'capabilities',
    hint: 'write the features that the model has: `capabilities: [tools, vision, json_schema, reasoning]`',
  },
  {
    words: words('model model_name upstream_model deployment deployment_id deployment_name azure_deployment'),
    meant: 'upstream',
    hint: 'write `upstream: {value}`: the name of the model at the provider. Callers send the name before the colon',
  },
  {
    words: words('override_params default_params params parameters extra_body model_kwargs'),
    beside: 'context_window',
    hint: 'remove this key: Signalbox sends the parameters that callers send. Only a cap for requests without `max_tokens` is in the policy: `default_max_output: 4096`',
  },
  ...['context_window', 'base_url', 'strategy'].map(
    (beside): PeerKeys => ({
      words: words('enabled disabled active'),
      beside,
      hint: 'remove this key: an entry of the policy is always active. To turn it off, delete it or make it a comment with `#`',
    }),
  ),
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
    words: words('max_price max_cost price_limit'),
    beside: 'strategy',
    hint: "write `models: { require: 'model.price.input <= 1.0 && model.price.output <= 2.0' }` with your figures, in USD per 1M tokens",
  },
  {
    words: words('allowed_models candidates model_list providers'),
    beside: 'strategy',
    meant: 'models',
    hint: 'write `models: { require: \'model.id in ["a", "b"]\' }`, or `model.provider == "NAME"` as the condition',
  },
  {
    words: words('rules rule conditions condition when if routes match'),
    beside: 'strategy',
    hint: 'conditions are rules for all requests: write `constraints: [{ name: paid, when: key.labels.plan == "paid", require: model.id == "NAME" }]` at the top of a file',
  },
  {
    words: words('timeout timeout_ms request_timeout deadlines'),
    beside: 'strategy',
    hint: DEADLINES_OF_MODELS,
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
  { words: words('tpm tpm_limit'), meant: 'tokens_per_minute', hint: 'write `tokens_per_minute: {value}`' },
  {
    words: words('limit_by by per scope group_by key_by identifier'),
    meant: 'each',
    hint: 'write `each: key`, `each: team` or `each: user`; without it, all callers share the limit',
  },
  {
    words: words('policy algorithm burst sync_rate'),
    beside: 'requests_per_minute',
    hint: 'remove this key: there is one kind of rate limit, whose used capacity returns evenly over a minute',
  },
  {
    words: words('second hour day requests_per_second requests_per_hour requests_per_day rps rpd'),
    beside: 'requests_per_minute',
    hint: 'a rate limit counts minutes: write `requests_per_minute: …`. For a day, limit the spend: `budgets: [{ name: daily, each: key, limit_usd: 5, window: day }]`',
  },
  {
    words: words('max_budget budget monthly_budget budget_limit limit_usd limit_credits'),
    beside: 'member_defaults',
    hint: 'write `budgets: [{ limit_usd: {value}, window: month }]`',
  },
  {
    words: words('budget_duration budget_window budget_reset'),
    beside: 'member_defaults',
    hint: 'the window is a part of the budget: write `budgets: [{ limit_usd: …, window: month }]`, or `day`, `week` or `total`',
  },
  {
    words: words('allowed_models model_access'),
    beside: 'member_defaults',
    meant: 'models',
    hint: 'write `models: {value}`',
  },
  { words: words('team_alias team_name'), beside: 'member_defaults', meant: 'name' },
  {
    words: words('members users admins'),
    beside: 'member_defaults',
    hint: 'a policy declares no users: create each user with `signalbox users create --name NAME --team TEAM`',
  },
];

/** Words in a guard. */
const GUARD_KEYS: readonly PeerKeys[] = [
  { words: words('type kind plugin guardrail'), meant: 'guard' },
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
  { words: words('description comment note'), hint: 'remove this key, or write it as a comment: `# {value}`' },
];
