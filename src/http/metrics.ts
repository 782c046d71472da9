import { Type } from '@sinclair/typebox';
import { Elysia } from 'elysia';
import { type ErrorCode, SignalboxError } from '../core/errors.ts';
import type { Gateway } from '../gateway/gateway.ts';
import type { EndpointSample } from '../upstream/health/health.ts';
import type { PolicyAdmin } from './admin.ts';
import { operation } from './docs/operation.ts';
import { endpointMetrics } from './endpoint-metrics.ts';
import { family, type Sample } from './exposition.ts';
import type { Gate } from './gate.ts';
import { taskMetrics } from './task-metrics.ts';

/** What the edge counts, since the start. */
export interface EdgeCounts {
  requests: number;
  readonly errors: Map<ErrorCode, number>;
}

export const newCounts = (): EdgeCounts => ({ requests: 0, errors: new Map() });

export function countError({ errors }: EdgeCounts, code: ErrorCode): void {
  errors.set(code, (errors.get(code) ?? 0) + 1);
}

export interface MetricsOptions {
  readonly gateway: Gateway;
  readonly policy: PolicyAdmin;
  readonly counts: EdgeCounts;
  readonly gate: Gate;
  /** Of the policy in force; absent where no upstreams are watched. */
  readonly endpoints?: () => Iterable<EndpointSample>;
  readonly version: string;
  /** Off: the page is not there. */
  readonly enabled: boolean;
}

const TYPE = 'text/plain; version=0.0.4; charset=utf-8';

/** `/metrics`: counters as plain text, as Prometheus reads them. Names providers and models, no key or prompt. */
export const metricsRoutes = (options: MetricsOptions) =>
  new Elysia({ name: 'metrics' }).get(
    '/metrics',
    () => {
      if (!options.enabled) throw new SignalboxError('not_found', 'There is nothing at /metrics: it is switched off.');
      return new Response(page(options), { headers: { 'content-type': TYPE } });
    },
    METRICS,
  );

function page({ gateway, policy, counts, gate, endpoints, version }: MetricsOptions): string {
  const { revision, last, lastSuccess, counts: reloads } = policy.status();
  const of = (label: string, values: Iterable<readonly [string, number]>): Sample[] =>
    [...values].map(([name, count]) => [{ [label]: name }, count]);
  return [
    family('signalbox_build_info', 'gauge', 'The build that answers.', [[{ version }, 1]]),
    family('signalbox_http_requests_total', 'counter', 'Requests that came in.', [[{}, counts.requests]]),
    family('signalbox_http_errors_total', 'counter', 'Requests answered with an error.', of('code', counts.errors)),
    family('signalbox_chats_open', 'gauge', 'Chat requests and top-ups under way.', [[{}, gateway.exchanges.size]]),
    family('signalbox_requests_open', 'gauge', 'Chat and route requests that are worked on.', [[{}, gate.inside]]),
    family('signalbox_requests_waiting', 'gauge', 'Requests that wait for a place among them.', [[{}, gate.waiting]]),
    family('signalbox_policy_info', 'gauge', 'The policy in force.', [[{ revision }, 1]]),
    family('signalbox_policy_models', 'gauge', 'Models that can be served.', [
      [{}, policy.lease().snapshot.models.length],
    ]),
    family(
      'signalbox_policy_reloads_total',
      'counter',
      'Looks at the policy’s files, by their result.',
      of('result', Object.entries(reloads)),
    ),
    family('signalbox_policy_last_reload_failed', 'gauge', '1 while the files hold a policy that was refused.', [
      [{}, last.result === 'refused' ? 1 : 0],
    ]),
    family(
      'signalbox_policy_last_reload_success_timestamp_seconds',
      'gauge',
      'When the files were last found fit to serve.',
      [[{}, lastSuccess / 1000]],
    ),
    endpointMetrics(endpoints?.() ?? []),
    taskMetrics(gateway.lease()),
    family('process_resident_memory_bytes', 'gauge', 'Memory in use.', [[{}, process.memoryUsage.rss()]]),
  ].join('');
}

const METRICS = operation({
  summary: 'Metrics',
  description: 'Counters in the text format of Prometheus. 404 when the server was started with `--metrics off`.',
  tag: 'health',
  open: true,
  answer: {
    schema: Type.String(),
    mediaType: 'text/plain',
    description: 'The counters.',
    example:
      '# HELP signalbox_policy_info The policy in force.\n# TYPE signalbox_policy_info gauge\nsignalbox_policy_info{revision="95f1a7d5f908027b"} 1\n',
  },
  errors: ['not_found', 'rate_limit_exceeded'],
});
