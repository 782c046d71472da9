/** Makes a table from keys, separated by blanks where several have the same note. */
const notesOf = (byKeys: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(byKeys).flatMap(([keys, note]) => keys.split(' ').map((key) => [key, note] as const)));

const DROPPED =
  'a request goes to a model that takes its parameters; `gateway.drop_unsupported` lists those that may be dropped instead';
const ENDPOINTS = 'Signalbox serves chat completions, Responses, Messages and embeddings';
const LOGGERS = 'metrics, logs and traces are built in; see docs/operate/observe.md';

/** Keys of `litellm_params` without an equivalent, with an alternative. */
export const LEFT_OUT_PARAMS = notesOf({
  api_version: 'Azure’s v1 API needs no version',
  organization: 'an OpenAI key belongs to one project and organization; make one key and one provider for each',
  max_retries: 'gateway.retries_max applies to all models',
  max_parallel_requests:
    'there is no limit by deployment; gateway.concurrency_max limits all requests, `keys create --streams` one key',
  'extra_headers headers': 'Signalbox adds no headers; if a provider needs one, put a proxy before it',
  drop_params: DROPPED,
  additional_drop_params: 'list the parameters that a model does not take in its `lacks`',
  keep_alive: 'set OLLAMA_KEEP_ALIVE where Ollama runs',
  tag_regex: 'rules see `key.labels` and `request.metadata`, not headers',
  prompt_id: 'Signalbox fetches no stored prompts: callers send the prompt',
  health_check_timeout: 'real requests decide whether an endpoint is healthy; see docs/route/failover.md',
  'input_cost_per_second output_cost_per_second': 'prices are by token, request or use of a tool',
  api_type: 'the adapter of the provider determines it',
  'rpm tpm': 'Signalbox obeys a 429 of the provider and tries the next endpoint; `rate_limits` limits keys',
});

/** Keys of `model_info` without an equivalent. */
export const LEFT_OUT_INFO = notesOf({
  supported_environments: 'use one policy for each environment, and leave the model out of the others',
  health_check_timeout: 'real requests decide whether an endpoint is healthy; see docs/route/failover.md',
  output_vector_size: 'it is no embedding model',
  'input_cost_per_second output_cost_per_second': 'prices are by token, request or use of a tool',
});

/** Keys of `router_settings` without an equivalent. */
export const LEFT_OUT_ROUTER = notesOf({
  'redis_host redis_port redis_password redis_url':
    'servers share keys, limits and budgets through a PostgreSQL database; see docs/operate/postgresql.md',
  routing_strategy_args:
    'measurements lose half their weight in 5 minutes; a strategy’s options belong to its selector',
  enable_tag_filtering: 'write a constraint: `when: key.labels.tier == "free"`, `require: \'"free" in model.tags\'`',
  tag_filtering_match_any: 'write it in a constraint: `"a" in model.tags || "b" in model.tags`',
  default_max_parallel_requests: 'there is no limit by deployment; gateway.concurrency_max limits all requests',
  'retry_policy model_group_retry_policy': 'retries by kind of failure are built in; see docs/route/failover.md',
  'allowed_fails_policy disable_cooldowns':
    'the circuit breaker is built in and has no settings; see docs/route/failover.md',
  content_policy_fallbacks: 'a refusal by a provider goes to the caller, not to another provider',
  provider_budget_config:
    'there is no budget by provider; limit the spend at the provider, or set budgets for keys, users and teams',
  optional_pre_call_checks: 'every choice takes the provider’s prompt cache into account; see docs/route/scoring.md',
  model_group_retry_after: 'Signalbox obeys the provider’s `retry-after`',
});

/** Keys of `router_settings` for which Signalbox has a similar built-in behaviour. */
export const APPROXIMATED_ROUTER = notesOf({
  allowed_fails:
    'the built-in circuit breaker opens after 5 faults in a row, or when half of 20 requests within 10 s fail',
  cooldown_time:
    'the built-in circuit breaker waits 1 s, then doubles up to 30 s; it obeys the provider’s `retry-after`',
  retry_after: 'retries wait a random time of up to 0.25 s, or the provider’s `retry-after`',
  enable_pre_call_checks: 'always on: a model whose context window is too small is never chosen',
});

/** Keys of `litellm_settings` without an equivalent. */
export const LEFT_OUT_SETTINGS = notesOf({
  drop_params: DROPPED,
  modify_params:
    'adapters translate requests, and `platform.dropped` in the answer names the fields that a model does not take',
  'callbacks success_callback failure_callback service_callbacks': LOGGERS,
  json_logs: 'the log is JSON unless it goes to a terminal; `--log json` forces it',
  turn_off_message_logging: 'texts are never logged, and stored only if `records` in the policy says so',
  telemetry: 'Signalbox sends no telemetry',
  set_verbose: 'see docs/operate/observe.md for the log',
  'cache cache_params':
    'Signalbox has no cache of answers; `Idempotency-Key` repeats an answer, and providers cache prompts',
  ssl_verify: 'certificates are always checked; add your own authority with NODE_EXTRA_CA_CERTS',
  check_provider_endpoint:
    'the policy lists all models, or serves all models of a provider by a wildcard; see docs/policies/any-model.md',
  cost_discount_config: 'write the discounted prices into models.yaml',
  cost_margin_config: 'write the prices with your margin into models.yaml; `baseline` and the ledger then use them',
  max_end_user_budget:
    'budgets count keys, users and teams of Signalbox, not the `user` of a request; give each end user a key with `keys create --budget`',
  redact_user_api_key_info: 'keys are never logged',
  default_key_generate_params:
    'set them for each key: `keys create --budget 100/month --model ID --expires-in 30d`; keys of users follow `organization.member_defaults`',
});

/** Keys of `general_settings` without an equivalent. */
export const LEFT_OUT_GENERAL = notesOf({
  master_key:
    'the first start prints a key with all scopes; `keys create --scope chat,route,admin` makes others, and SIGNALBOX_API_KEY installs one of the form sb_live_…',
  'database_url database_connection_pool_limit':
    'keys and the ledger are in the data folder (`--data`), or in a PostgreSQL database that DATABASE_URL names: not LiteLLM’s; see docs/operate/postgresql.md',
  allow_requests_on_db_unavailable: 'a request that cannot be booked is refused, so that all spend is counted',
  store_model_in_db:
    'models are in the policy: an edit of its files, of the console or by HTTP takes effect within a second; see docs/policies/editing.md',
  max_parallel_requests:
    'there is no limit by deployment; gateway.concurrency_max limits all requests, `keys create --streams` one key',
  'alerting alerting_threshold':
    'write `alerts`, which send messages to webhooks such as Slack’s; see docs/operate/alerts.md',
  'background_health_checks health_check_interval':
    'real requests decide whether an endpoint is healthy; see docs/route/failover.md',
  'proxy_budget_rescheduler_min_time proxy_budget_rescheduler_max_time':
    'budgets renew by themselves at midnight of their first day',
  allowed_ips: 'use a firewall, or a proxy before Signalbox: it takes requests from any address',
  'enable_jwt_auth litellm_jwtauth custom_auth':
    'callers authenticate with API keys or, if the policy has `tokens`, with JSON Web Tokens; see docs/operate/tokens.md',
  enforced_params: 'write a constraint: `when: request.user == ""`, `require: "false"`',
  maximum_spend_logs_retention_period:
    'the ledger keeps its entries; `records.retention_days` (30) applies to records of decisions',
  pass_through_endpoints: `${ENDPOINTS}; put a proxy beside it for other paths`,
});

/** Sections without an equivalent. */
export const LEFT_OUT_SECTIONS = notesOf({
  environment_variables: 'set environment variables where you start Signalbox; policies name the ones that they need',
  guardrails: 'Signalbox has no content checks; put them before it, or into the application',
  'mcp_servers search_tools': 'applications call tools, not the gateway',
  callback_settings: LOGGERS,
  'vector_store_registry files_settings': ENDPOINTS,
});
