import { HEALTH } from '../../../src/core/decision/readings.ts';
import { ERRORS } from '../../../src/core/errors.ts';
import { TOKEN_UNITS, UNITS } from '../../../src/core/money/units.ts';
import { ENDPOINT_LIMITS } from '../../../src/core/policy/endpoint-room.ts';
import { ESCALATION_NAMES } from '../../../src/core/request/escalation.ts';
import { documentedFamilies } from '../../docs/metrics-page.ts';
import type { Metric, Metrics } from '../../support/promql.ts';

const TARGET = ['job', 'instance'];
const OUTCOME = {
  outcome: ['completed', 'failed', 'broken', 'abandoned', 'replayed', 'refused', 'quoted', 'unavailable'],
};
const PERCENTILE = { percentile: ['50', '90'] };
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
    'credit',
    'not_found',
    'rejected',
    'context',
    'malformed',
    'cut',
  ],
};

/** The values of labels with a fixed list. `exported.test.ts` compares these values with real servers. */
export const VALUES: Readonly<Record<string, NonNullable<Metric['values']>>> = {
  signalbox_chats_total: OUTCOME,
  signalbox_chat_duration_seconds: OUTCOME,
  signalbox_credits_spent_total: OUTCOME,
  signalbox_credits_saved_total: OUTCOME,
  signalbox_credits_overspent_total: OUTCOME,
  signalbox_tokens_total: { kind: ['output_reasoning', ...TOKEN_UNITS.map((unit) => UNITS[unit].metric)] },
  signalbox_chats_capped_total: { end: ['length', 'within'] },
  signalbox_failovers_total: { to: ['endpoint', 'model'] },
  signalbox_escalations_total: { signal: ESCALATION_NAMES },
  signalbox_escalations_withheld_total: { signal: ESCALATION_NAMES },
  signalbox_http_errors_total: { code: Object.keys(ERRORS) },
  signalbox_endpoint_state: { state: Object.keys(HEALTH) },
  signalbox_endpoint_limit_used: { limit: [...ENDPOINT_LIMITS] },
  signalbox_endpoint_ttft_seconds: PERCENTILE,
  signalbox_endpoint_warm_ttft_seconds: PERCENTILE,
  signalbox_endpoint_output_tokens_per_second: PERCENTILE,
  signalbox_attempts_total: ATTEMPT,
  signalbox_contention_waits_total: { outcome: ['served', 'gave_up', 'crowded'] },
  signalbox_log_lines_total: { level: ['info', 'warn', 'error'] },
  signalbox_payments_total: { state: ['captured', 'failed'] },
  signalbox_outcomes_total: { source: ['caller'] },
  signalbox_alerts_total: { outcome: ['sent', 'retried', 'failed'] },
  signalbox_spans_total: { outcome: ['exported', 'lost'] },
};

/**
 * The metrics of a server with payments and traces, each with the labels of its target. The tests check alerts and dashboard against this
 * list.
 */
export const EXPORTED: Metrics = new Map(
  documentedFamilies.map(({ name, type, labels }) => [
    name,
    { type, labels: [...labels, ...TARGET], values: VALUES[name] ?? {} },
  ]),
);

/** Metrics that Prometheus adds itself. */
const OF_PROMETHEUS: Readonly<Record<string, Metric>> = {
  up: { type: 'gauge', labels: TARGET },
  ALERTS: { type: 'gauge', labels: ['alertname', 'alertstate', 'severity', ...TARGET] },
};

/** All metrics that a rule may use. */
export const KNOWN: Metrics = new Map([...EXPORTED, ...Object.entries(OF_PROMETHEUS)]);
