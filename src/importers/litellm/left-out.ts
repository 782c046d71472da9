/** Makes a table from keys, separated by blanks where several have the same note. */
const notesOf = (byKeys: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(byKeys).flatMap(([keys, note]) => keys.split(' ').map((key) => [key, note] as const)));

const LOGGERS = 'metrics, logs and traces are built in: see metrics.md, logs.md and traces.md';

/** Keys of `litellm_params` without an equivalent, with an alternative. */
export const LEFT_OUT_PARAMS = notesOf({
  api_version: 'the v1 API of Azure takes none',
  organization: 'a key of OpenAI belongs to one project and organization; make a key there, and a provider for each',
  max_retries: 'gateway.retries_max counts for all models',
  max_parallel_requests: 'no cap by deployment; gateway.concurrency_max is for all, `keys create --streams` for a key',
  'extra_headers headers': 'no headers are added; where a provider needs one, put a proxy before it',
  drop_params: 'what a model does not take is never dropped in silence: the request goes to one that takes it',
  additional_drop_params: 'what a model does not take is named in its `lacks`',
  keep_alive: 'set OLLAMA_KEEP_ALIVE at the server',
  tag_regex: 'a rule can look at `key.labels` or at `request.metadata`, not at headers',
  prompt_id: 'prompts kept elsewhere are not fetched',
  health_check_timeout: 'endpoints are judged by what their requests come to, see docs/route/failover.md',
  'input_cost_per_second output_cost_per_second': 'prices are by token',
  api_type: 'the adapter says it',
  'rpm tpm': 'it is the provider’s own limit: its 429 is obeyed, and the next endpoint asked; `rate_limits` limit keys',
});

/** Keys of `model_info` without an equivalent. */
export const LEFT_OUT_INFO = notesOf({
  supported_environments: 'leave the model out of the policy of the other environment',
  health_check_timeout: 'endpoints are judged by what their requests come to, see docs/route/failover.md',
  output_vector_size: 'Signalbox serves chats',
  'input_cost_per_second output_cost_per_second': 'prices are by token',
});

/** Keys of `router_settings` without an equivalent. */
export const LEFT_OUT_ROUTER = notesOf({
  'redis_host redis_port redis_password redis_url': 'one process counts for all its callers; there is nothing to share',
  routing_strategy_args: 'an observation counts half after 5 minutes; a strategy’s own options are at the selector',
  enable_tag_filtering: 'write a constraint: `when: key.labels.tier == "free"`, `require: \'"free" in model.tags\'`',
  tag_filtering_match_any: 'a constraint says it in words: `"a" in model.tags || "b" in model.tags`',
  default_max_parallel_requests: 'no cap by deployment; gateway.concurrency_max is for all requests',
  'retry_policy model_group_retry_policy':
    'what is tried again goes by the kind of failure, and is built in: see docs/route/failover.md',
  'allowed_fails_policy disable_cooldowns':
    'the circuit breaker is built in and has no settings: see docs/route/failover.md',
  content_policy_fallbacks:
    'what a provider refuses is not sent to another: callers get its refusal, and may ask another model themselves',
  provider_budget_config: 'no budget by provider; limit the spend at the provider, or budget keys and teams',
  optional_pre_call_checks: 'prompts kept in a provider’s cache count in each choice, see docs/route/scoring.md',
  model_group_retry_after: 'a `retry-after` of the provider is obeyed',
});

/** Keys of `router_settings` for which Signalbox has a similar built-in behaviour. */
export const APPROXIMATED_ROUTER = notesOf({
  allowed_fails: 'the built-in breaker opens at 5 faults in a row, or when half of 20 within 10 s fail',
  cooldown_time: 'the built-in breaker waits 1 s, doubled up to 30 s; a provider’s `retry-after` is obeyed',
  retry_after: 'a pause of up to a quarter of a second by chance, or the provider’s `retry-after`',
  enable_pre_call_checks: 'always so: a model whose context window is too small is never asked',
});

/** Keys of `litellm_settings` without an equivalent. */
export const LEFT_OUT_SETTINGS = notesOf({
  drop_params: 'what a model does not take is never dropped in silence: the request goes to one that takes it',
  modify_params: 'requests are not changed to fit; adapters translate what they say',
  'callbacks success_callback failure_callback service_callbacks': LOGGERS,
  json_logs: 'the log is JSON wherever it is no terminal; `--log json` says it',
  turn_off_message_logging: 'texts are never logged, and kept only where `records` says so',
  telemetry: 'Signalbox sends none',
  set_verbose: 'there is one log: see logs.md',
  'cache cache_params':
    'answers are not cached by their text; `Idempotency-Key` repeats an answer, and providers cache prompts',
  ssl_verify: 'certificates are always checked; give the process your own authority in NODE_EXTRA_CA_CERTS',
  check_provider_endpoint: 'models are those of the policy',
  cost_discount_config: 'write what you pay into the prices of models.yaml',
  cost_margin_config: 'write what you charge into the prices of models.yaml; `baseline` and the ledger then go by it',
  max_end_user_budget:
    'budgets see keys, not the `user` of a request: give each end user a key, `signalbox keys create --budget`',
  redact_user_api_key_info: 'a key is never logged',
  default_key_generate_params:
    'each key says its own: `signalbox keys create --budget 100/month --model ID --expires-in 30d`',
});

/** Keys of `general_settings` without an equivalent. */
export const LEFT_OUT_GENERAL = notesOf({
  master_key:
    'Signalbox makes its own: the first start shows a key with all scopes, `signalbox keys create --scope chat,route,admin` makes others; SIGNALBOX_API_KEY installs one of the form sb_live_…',
  'database_url database_connection_pool_limit':
    'keys and the ledger are in one SQLite file, in the folder of `--data`',
  allow_requests_on_db_unavailable: 'a request that cannot be written down is refused: nothing is spent uncounted',
  store_model_in_db: 'models are those of the policy folder; an edit is in force within a second',
  max_parallel_requests: 'no cap by deployment; gateway.concurrency_max is for all, `keys create --streams` for a key',
  alerting: 'alarms are Prometheus’s: deploy/alerts.yaml, and `alert_at` of budgets',
  alerting_threshold: 'alarms are Prometheus’s: deploy/alerts.yaml',
  'background_health_checks health_check_interval':
    'endpoints are judged by what their requests come to: see docs/route/failover.md',
  'proxy_budget_rescheduler_min_time proxy_budget_rescheduler_max_time':
    'budgets begin anew at midnight of their first day, by themselves',
  allowed_ips: 'any address may call here: let a firewall, or a proxy before Signalbox, admit them',
  'enable_jwt_auth litellm_jwtauth custom_auth':
    'callers come with keys of Signalbox, and nothing else lets them in: see docs/spend/keys.md',
  enforced_params: 'write a constraint: `when: request.user == ""`, `require: "false"`',
  pass_through_endpoints: 'only chats are served; put a proxy beside Signalbox',
});

/** Sections without an equivalent. */
export const LEFT_OUT_SECTIONS = notesOf({
  environment_variables: 'set variables where the process is started; policies name those that they need',
  guardrails: 'no content checks are built in; put them before Signalbox, or into the application',
  'mcp_servers search_tools': 'tools are called by applications, not by the gateway',
  callback_settings: LOGGERS,
  'vector_store_registry files_settings': 'only chats are served',
});
