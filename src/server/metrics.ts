import type { Gateway } from '../gateway/gateway.ts';
import type { PolicyAdmin } from '../http/admin.ts';
import { gateFamilies } from '../http/edge-metrics.ts';
import { endpointFamilies } from '../http/endpoint-metrics.ts';
import type { Gate } from '../http/gate.ts';
import { policyFamilies } from '../http/policy-metrics.ts';
import { storeFamilies } from '../http/store-metrics.ts';
import { taskFamilies } from '../http/task-metrics.ts';
import { learningFamilies } from '../learning/metrics.ts';
import { ledgerFamilies } from '../ledger/metrics.ts';
import { paymentFamilies } from '../payments/metrics.ts';
import type { StoreActivity } from '../store/activity.ts';
import type { Family } from '../telemetry/families.ts';
import { watchProcess } from '../telemetry/process.ts';
import type { EndpointSample } from '../upstream/health/health.ts';

/** What the page of metrics looks at. */
export interface Watched {
  readonly gateway: Gateway;
  readonly gate: Gate;
  readonly policy: PolicyAdmin;
  readonly store: { readonly activity: StoreActivity };
  endpoints(): Iterable<EndpointSample>;
  readonly version: string;
}

/** The page at `/metrics`, with all that any room tells of itself. `families`: what is counted of requests, of the log and of traces. */
export function openMetrics(
  { gateway, gate, policy, store, endpoints, version }: Watched,
  families: readonly Family[],
): () => Promise<string> {
  const all = [
    ...policyFamilies(policy, version),
    ...families,
    ...gateFamilies(gate, gateway.inFlight),
    ...endpointFamilies(endpoints),
    ...taskFamilies(() => gateway.lease()),
    ...learningFamilies(gateway.learner),
    ...ledgerFamilies(gateway.ledger),
    ...paymentFamilies(gateway.payments),
    ...storeFamilies(store.activity),
    ...watchProcess().families,
  ];
  // Its library takes an eighth of the start to load: whom nobody scrapes does not wait for it.
  let page: Promise<() => Promise<string>> | null = null;
  return async () => {
    page ??= import('../telemetry/page.ts').then(({ metricsPage }) => metricsPage(all));
    return (await page)();
  };
}
