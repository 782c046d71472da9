import { Levels } from '../access/levels.ts';
import { clusterStatus } from '../admin/use-cases/cluster.ts';
import { instanceStatus } from '../admin/use-cases/instance.ts';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { GuardHealth } from '../gateway/guards/guard-health.ts';
import { Scores } from '../gateway/records/scores.ts';
import type { ServerStatus } from '../http/app-options.ts';
import type { X402Gateway } from '../http/x402/services.ts';
import { x402Funding } from '../payments/funding/funding.ts';
import type { PolicyCandidate } from '../policy/runtime/candidate.ts';
import type { Runtime } from '../policy/runtime/runtime.ts';
import type { Instance } from '../store/instance.ts';
import { Leadership } from '../store/leaders.ts';
import { overloadedBy } from '../store/unwritten.ts';
import { Audits } from './audits.ts';
import { keepDeclarations } from './declarations.ts';
import { openServerLedger } from './ledger.ts';
import { openMemory, openPrompts } from './memory.ts';
import { openIdempotency, openSweep } from './orphans.ts';
import { openServerPayments } from './payments.ts';
import { openPolicyDesk } from './policy-desk.ts';
import { openPolicies } from './policy-home.ts';
import { type ServerPolicyTools, saveRevision } from './policy-reload.ts';
import { noteFirstPolicy } from './policy-trail.ts';
import { openServerRecords } from './records.ts';
import type { ServerResources } from './resources.ts';
import { openUpkeep } from './upkeep.ts';

/** The interval at which new measurements of endpoints are published to decisions, ms. */
const PUBLISH_EVERY_MS = 1_000;

/** Makes the IDs of requests. The function refuses the request if another server may now use this server's IDs. */
const idsOf = (instance: Instance) => (): number => {
  try {
    return instance.nextId();
  } catch (cause) {
    throw overloadedBy(
      cause,
      'This server may no longer write to the database, so it accepts no requests. Send the request to another server. The operator can see the reason with GET /admin/status.',
    );
  }
};

/** Returns the status that only the running process knows, and the status of the other servers that share its database. */
function statusOf(lease: () => Runtime, { store, host: { version } }: ServerResources): Omit<ServerStatus, 'health'> {
  const guardHealth = new GuardHealth();
  return {
    guardHealth,
    outcomes: (read) => read(store.learning.outcomes),
    instance: (by) => {
      const { revision: policyRevision, guards } = lease().snapshot;
      return instanceStatus(by, store, { version, policyRevision }, guardHealth.among(guards));
    },
    cluster: (by) => clusterStatus(by, store),
  };
}

/** Opens what names the instance that does a job for all instances. */
async function openLeadership({ store, host: { clock, timers }, life }: ServerResources): Promise<Leadership> {
  const leadership = new Leadership({ table: store.leaders, instance: store.instance, clock, timers });
  await leadership.begin();
  life.stops.defer(() => leadership.stop());
  return leadership;
}

/**
 * Opens the gateway with everything that its use cases need. When the gateway is open, the books are open, orphaned holds are resolved, and
 * the policy follows its source.
 */
export async function openGateway(
  first: PolicyCandidate,
  tools: ServerPolicyTools,
  resources: ServerResources,
  options: Pick<ServeOptions, 'allowsPolicyWrites' | 'data' | 'database' | 'home' | 'policiesFrom'>,
) {
  const { store, keys, people, log, host, feed, life } = resources;
  const { clock, timers, err } = host;
  const { now } = store.instance;
  const { snapshot } = first.runtime;
  const leadership = await openLeadership(resources);
  await people.declare(snapshot.teams);
  people.useOrganization(snapshot.organization);
  const { ledger, terms, recount: recountUnder } = await openServerLedger(snapshot, resources, leadership.of('alerts'));
  await keepDeclarations(tools.health.declarations, snapshot, resources);
  const memory = await openMemory(resources);
  const active = () => lease().snapshot;
  const records = openServerRecords(resources, memory.inFlight, active);
  const nextId = idsOf(store.instance);
  await saveRevision(records, first);
  const payments = await openServerPayments(snapshot, ledger, nextId, resources, leadership.of('reconcile'));
  const kept = { ledger, payments, people, terms, records, store, now, log, err, timers, feed };
  await noteFirstPolicy(kept, first);
  const policy = openPolicies(first, tools, kept, resources, options);
  const { reloader, leaseOf, past, reporter, rehearse } = policy;
  const { lease } = reloader;
  const idempotency = openIdempotency(resources, ledger);
  const scores = new Scores(store, nextId);
  const prompts = await openPrompts(resources, active);
  await openUpkeep({ records, idempotency, scores, cache: memory.cache, ...prompts }, resources, leadership, active);
  await openSweep({ ledger, payments, idempotency }, resources, leadership.of('sweep'));
  await policy.begin();
  const publishing = timers.every(PUBLISH_EVERY_MS, () => tools.health.publish());
  life.stops.defer(() => publishing.close());
  const funded = { lease, leaseOf, ledger, payments, keys, log, now };
  const gateway: X402Gateway = {
    ...funded,
    funding: x402Funding(funded),
    records,
    past,
    scores,
    ...prompts,
    ...memory,
    renewedPrices: reloader.followPrices,
    nextId,
    clock,
    isLeaving: false,
    isEnding: false,
    isDraining: false,
  };
  life.stops.defer(() => {
    gateway.isDraining = true;
  });
  const desk = openPolicyDesk({ gateway, ...policy }, tools, resources, options);
  const audits = new Audits({ place: options, now, timers, log });
  life.stops.defer(() => audits.close());
  const recount = (at?: number) => recountUnder(active(), at);
  ledger.renewWith(recount);
  const status = { health: tools.health, ...statusOf(lease, resources) };
  return {
    ...{ gateway, desk, idempotency, status, audits, levels: new Levels(people), leadership },
    ...{ reloader, reporter, rehearse, recount },
  };
}
