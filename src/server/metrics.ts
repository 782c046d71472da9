import { type GuardHealth, guardFamilies } from '../gateway/guards/guard-health.ts';
import { refusalFamilies } from '../gateway/records/refusal-log.ts';
import { scoreFamilies } from '../gateway/records/scores.ts';
import type { Family } from '../host/telemetry/families.ts';
import { metricsPage } from '../host/telemetry/page.ts';
import { watchProcess } from '../host/telemetry/process.ts';
import type { AppOptions } from '../http/app-options.ts';
import { conversationFamilies, gateFamilies } from '../http/edge-metrics.ts';
import type { KeptConversations } from '../http/kit/kept-conversations.ts';
import { ledgerFamilies } from '../ledger/metrics.ts';
import { paymentFamilies } from '../payments/metrics.ts';
import { type PolicyFigures, policyFamilies, taskFamilies } from '../policy/runtime/metrics.ts';
import type { Health } from '../providers/health/health.ts';
import { endpointFamilies } from '../providers/health/metrics.ts';
import type { OpenStore } from '../store/driver.ts';
import type { Leadership } from '../store/leaders.ts';
import { clusterFamilies, instanceFamilies, leaderFamilies, storeFamilies } from '../store/metrics.ts';
import type { InstanceReporter } from './instance-report.ts';

/** The sources of the page `/metrics`. */
interface MetricSources extends Pick<AppOptions, 'gateway' | 'gate' | 'version'> {
  readonly policy: PolicyFigures;
  readonly store: Pick<OpenStore, 'activity' | 'instance' | 'news'>;
  readonly health: Pick<Health, 'samples'>;
  readonly reporter: Pick<InstanceReporter, 'live'>;
  readonly leadership: Leadership;
  readonly conversations: KeptConversations;
  readonly guardHealth: GuardHealth;
}

/**
 * Combines the metric families of all parts of the server to the page `/metrics`.
 * @param families the families of requests, the log and traces
 * @returns a function that makes the text of the page
 */
export function openMetrics(
  { gateway, gate, conversations, policy, store, health, version, reporter, leadership, guardHealth }: MetricSources,
  families: readonly Family[],
): () => string {
  return metricsPage([
    ...policyFamilies(policy, version),
    ...families,
    ...gateFamilies(gate, gateway.inFlight),
    ...conversationFamilies(conversations),
    ...endpointFamilies(() => health.samples()),
    ...taskFamilies(() => gateway.lease()),
    ...guardFamilies(guardHealth, () => gateway.lease().snapshot.guards),
    ...scoreFamilies(gateway.scores),
    ...refusalFamilies(gateway.records.refusals),
    ...ledgerFamilies(gateway.ledger),
    ...paymentFamilies(gateway.payments),
    ...storeFamilies(store.activity),
    ...instanceFamilies(store),
    ...clusterFamilies(store.instance, () => reporter.live, gateway.ledger.rank),
    ...leaderFamilies(leadership, () => gateway.records.prunedAt),
    ...watchProcess().families,
  ]);
}
