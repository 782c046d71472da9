import { ERRORS } from '../../src/core/errors.ts';
import { HEALTH } from '../../src/core/readings.ts';
import type { Metric, Metrics } from '../support/promql.ts';

/**
 * What `/metrics` exports, with labels and with values that come from fixed lists: the alarms and the dashboard are
 * checked against it, and `exported.test.ts` checks it against real servers.
 */
const TARGET = ['job', 'instance'];
const CHAT = ['selector', 'model', 'provider', 'upstream'];
const ENDPOINT = ['provider', 'model', 'upstream'];
const OUTCOME = {
  outcome: ['completed', 'failed', 'broken', 'abandoned', 'replayed', 'refused', 'quoted', 'unavailable', 'other'],
};
const QUANTILE = { quantile: ['0.5', '0.9'] };
const ATTEMPT = {
  outcome: [
    'ok',
    'dropped',
    'connect',
    'timeout',
    'server',
    'overloaded',
    'rate_limited',
    'auth',
    'not_found',
    'rejected',
    'context',
    'malformed',
    'cut',
  ],
};

type Kind = (labels?: readonly string[], values?: Metric['values']) => Metric;
const kind =
  (type: Metric['type']): Kind =>
  (labels = [], values = {}) => ({ type, labels: [...labels, ...TARGET], values });
const counter = kind('counter');
const gauge = kind('gauge');
const histogram = kind('histogram');

const ALWAYS: Readonly<Record<string, Metric>> = {
  signalbox_chats_total: counter([...CHAT, 'outcome'], OUTCOME),
  signalbox_chat_duration_seconds: histogram([...CHAT, 'outcome'], OUTCOME),
  signalbox_chat_ttft_seconds: histogram(CHAT),
  signalbox_chat_dispatch_seconds: histogram(),
  signalbox_tokens_total: counter([...CHAT, 'kind'], {
    kind: ['input', 'input_cached', 'input_cache_write', 'output', 'output_reasoning'],
  }),
  signalbox_credits_spent_total: counter([...CHAT, 'outcome'], OUTCOME),
  signalbox_credits_saved_total: counter([...CHAT, 'outcome'], OUTCOME),
  signalbox_credits_overspent_total: counter([...CHAT, 'outcome'], OUTCOME),
  signalbox_rejections_total: counter(['kind', 'rule']),
  signalbox_failovers_total: counter([...ENDPOINT, 'to'], { to: ['endpoint', 'model'] }),
  signalbox_http_requests_total: counter(['method', 'route', 'status']),
  signalbox_http_errors_total: counter(['code'], { code: Object.keys(ERRORS) }),
  signalbox_http_request_duration_seconds: histogram(['route']),
  signalbox_requests_open: gauge(),
  signalbox_requests_waiting: gauge(),
  signalbox_chats_open: gauge(),
  signalbox_build_info: gauge(['version']),
  signalbox_policy_info: gauge(['revision']),
  signalbox_policy_models: gauge(),
  signalbox_policy_reloads_total: counter(['result']),
  signalbox_policy_last_reload_failed: gauge(),
  signalbox_policy_last_reload_success_timestamp_seconds: gauge(),
  signalbox_policy_last_reload_duration_seconds: gauge(),
  signalbox_endpoint_state: gauge([...ENDPOINT, 'state'], { state: Object.keys(HEALTH) }),
  signalbox_endpoint_ttft_seconds: gauge([...ENDPOINT, 'quantile'], QUANTILE),
  signalbox_endpoint_warm_ttft_seconds: gauge([...ENDPOINT, 'quantile'], QUANTILE),
  signalbox_endpoint_output_tokens_per_second: gauge([...ENDPOINT, 'quantile'], QUANTILE),
  signalbox_attempts_total: counter([...ENDPOINT, 'outcome'], ATTEMPT),
  signalbox_retries_total: counter(ENDPOINT),
  signalbox_retries_denied_total: counter(ENDPOINT),
  signalbox_ejections_total: counter(ENDPOINT),
  signalbox_task_output_tokens: gauge(['task']),
  signalbox_task_answers: gauge(['task']),
  process_cpu_seconds_total: counter(),
  process_resident_memory_bytes: gauge(),
  process_heap_bytes: gauge(),
  process_open_fds: gauge(),
  process_max_fds: gauge(),
  process_start_time_seconds: gauge(),
  signalbox_event_loop_lag_seconds: histogram(),
  signalbox_reservations_open: gauge(),
  signalbox_credits_reserved: gauge(),
  signalbox_budget_limit_credits: gauge(['budget']),
  signalbox_budget_spent_credits: gauge(['budget']),
  signalbox_budget_reserved_credits: gauge(['budget']),
  signalbox_budget_headroom_credits: gauge(['budget']),
  signalbox_budget_headroom_ratio: gauge(['budget']),
  signalbox_budget_subjects: gauge(['budget']),
  signalbox_budget_subjects_exhausted: gauge(['budget']),
  signalbox_budget_renews_timestamp_seconds: gauge(['budget']),
  signalbox_budget_refusals_total: counter(['budget']),
  signalbox_balances: gauge(),
  signalbox_balances_exhausted: gauge(),
  signalbox_contention_waits_total: counter(['outcome'], { outcome: ['served', 'gave_up', 'crowded'] }),
  signalbox_contention_wait_seconds: histogram(),
  signalbox_contention_waiting: gauge(),
  signalbox_store_commit_seconds: histogram(),
  signalbox_store_writes_waiting: gauge(),
  signalbox_store_errors_total: counter(),
  signalbox_store_failing: gauge(),
  signalbox_log_lines_total: counter(['level'], { level: ['debug', 'info', 'warn', 'error'] }),
  signalbox_log_lines_lost_total: counter(),
  signalbox_metrics_errors_total: counter(),
};

/** Where the policy takes payments. */
const WITH_PAYMENTS: Readonly<Record<string, Metric>> = {
  signalbox_payment_quotes_total: counter(['purpose']),
  signalbox_payments_total: counter(['network', 'state'], { state: ['captured', 'failed'] }),
  signalbox_payments_credits_total: counter(['network']),
  signalbox_payments_unsettled: gauge(['network']),
  signalbox_payment_network_ready: gauge(['network']),
  signalbox_payment_gas_ratio: gauge(['network']),
};

/** Where traces are exported. */
const WITH_TRACES: Readonly<Record<string, Metric>> = {
  signalbox_spans_total: counter(['outcome'], { outcome: ['exported', 'lost'] }),
};

/** What a server with payments and traces exports. */
export const EXPORTED: Metrics = new Map(Object.entries({ ...ALWAYS, ...WITH_PAYMENTS, ...WITH_TRACES }));

/** What Prometheus adds by itself. */
const OF_PROMETHEUS: Readonly<Record<string, Metric>> = {
  up: gauge(),
  ALERTS: { type: 'gauge', labels: ['alertname', 'alertstate', 'severity', ...TARGET] },
};

/** All that a rule may build on. */
export const KNOWN: Metrics = new Map([...EXPORTED, ...Object.entries(OF_PROMETHEUS)]);
