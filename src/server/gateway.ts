import { Idempotency } from '../access/idempotency/idempotency.ts';
import type { Keys } from '../access/keys.ts';
import { Levels, Lines } from '../access/levels.ts';
import { statedLimits } from '../access/limits/newest.ts';
import type { People } from '../access/people.ts';
import { clusterStatus } from '../admin/use-cases/cluster.ts';
import { decisionEvent } from '../admin/use-cases/events.ts';
import { instanceStatus } from '../admin/use-cases/instance.ts';
import type { ServeOptions } from '../admin/use-cases/serve-options.ts';
import { ByteRoom } from '../core/byte-room.ts';
import type { DecisionRecord } from '../core/decision/record.ts';
import { LinkedSet } from '../core/linked-set.ts';
import { addressOf } from '../core/money/holder-address.ts';
import type { KeyBudgets } from '../core/people/caller.ts';
import type { PolicySnapshot } from '../core/policy/snapshot.ts';
import { messageOf } from '../core/thrown.ts';
import { HOUR_MS } from '../core/time/clock.ts';
import type { Timers } from '../core/time/timers.ts';
import { UsageError } from '../core/usage-error.ts';
import { AnswerCache } from '../gateway/cache/answer-cache.ts';
import { AnswerTurns } from '../gateway/exchange/answer-turns.ts';
import { GuardHealth } from '../gateway/guards/guard-health.ts';
import { Affinity } from '../gateway/prompt/affinity.ts';
import { Conversations, isRead } from '../gateway/prompt/conversations.ts';
import { Sessions } from '../gateway/prompt/sessions.ts';
import { Threads } from '../gateway/prompt/threads.ts';
import { isCounted, keepIndexed } from '../gateway/records/keep-indexed.ts';
import { openRecords } from '../gateway/records/records.ts';
import { Scores } from '../gateway/records/scores.ts';
import { CountPlaces } from '../gateway/request/count-places.ts';
import { findRunning, type RequestContext } from '../gateway/request/request-context.ts';
import type { Log } from '../host/telemetry/log.ts';
import type { ServerStatus } from '../http/app-options.ts';
import type { EventFeed } from '../http/event-feed.ts';
import type { X402Gateway } from '../http/x402/services.ts';
import { holderBudgets, holdersOf } from '../ledger/holder-budgets.ts';
import { type Ledger, openLedger } from '../ledger/ledger.ts';
import { x402Funding } from '../payments/funding/funding.ts';
import { loadSecret } from '../payments/seal.ts';
import { openPayments, type Payments } from '../payments/service.ts';
import type { PolicyCandidate } from '../policy/runtime/candidate.ts';
import type { Runtime } from '../policy/runtime/runtime.ts';
import { createTokenCounter } from '../providers/tokenizer/counter.ts';
import type { OpenStore } from '../store/driver.ts';
import type { Instance } from '../store/instance.ts';
import { type Lead, Leadership } from '../store/leaders.ts';
import { overloadedBy } from '../store/unwritten.ts';
import { Audits } from './audits.ts';
import { keepDeclarations } from './declarations.ts';
import { logAlert, logRecovered } from './events.ts';
import type { Host } from './host.ts';
import { openPolicyDesk } from './policy-desk.ts';
import { openPolicies } from './policy-home.ts';
import { type ServerPolicyTools, saveRevision, type TermsOf, untilEnforced } from './policy-reload.ts';
import { noteFirstPolicy } from './policy-trail.ts';
import { Sweep } from './sweep.ts';
import { prune, watchClock } from './upkeep.ts';

/** The interval at which keys write when they were last used, and try again to apply changes that failed, ms. */
export const REFRESH_MS = 400;
const PRUNE_EVERY_MS = HOUR_MS;
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

/**
 * Opens payments, and turns them on as the first policy says.
 * @throws UsageError if payments cannot be turned on
 */
async function takePayments(
  { runtime: { snapshot } }: PolicyCandidate,
  ledger: Ledger,
  nextId: () => number,
  { store, log, host: { env, timers } }: GatewayResources,
  lead: Lead,
): Promise<Payments> {
  const payments = await openPayments({
    ...{ store, instance: store.instance, now: store.instance.now, nextId, env, log, timers, lead },
    deposit: (holder, deposit, also) => ledger.deposit(holder, deposit, also),
  });
  try {
    (await payments.prepare(snapshot.payments))();
  } catch (cause) {
    throw new UsageError(`Cannot accept payments: ${messageOf(cause)}`);
  }
  return payments;
}

/**
 * Opens the ledger with the terms of the first policy. The organization, teams, users and keys have budgets of their own in addition to the
 * budgets of the policy.
 */
async function openBudgets({ runtime: { snapshot } }: PolicyCandidate, resources: GatewayResources, lead: Lead) {
  const { store, keys, people, log, host } = resources;
  const { now, idsAbove } = store.instance;
  const { timers } = host;
  const lines = new Lines(keys);
  const terms: TermsOf = (snapshot, at = now()) => {
    const { budgets, ledger, usdPerCredit, organization } = snapshot;
    const ofKeys = keys.budgets(at);
    const own = holderBudgets([...people.budgets(organization), ...holdersOf(ofKeys)], lines);
    const rateLimits = statedLimits(snapshot);
    return { budgets: [...budgets, ...own], ledger, usdPerCredit, rateLimits, until: firstEnd(ofKeys), at };
  };
  const books = await store.openBooks(now);
  const ledger = await openLedger({
    books,
    terms: terms(snapshot),
    now,
    idsAbove,
    instance: store.instance,
    news: store.news,
    timers,
    lines,
    onAlarm: (message, details) => log.error(message, details),
    onAlert: (fund, fraction) => logAlert(log, fund, fraction, books.state().usdPerCredit),
    ...(store.leaders && { leads: () => lead.isHeld }),
  });
  logRecovered(log, ledger.recovered);
  watchClock(log, idsAbove, { now, timers });
  return { ledger, terms };
}

/** Returns when the first budget ends, ms since 1970; Infinity for never. */
const firstEnd = (ofKeys: readonly KeyBudgets[]): number =>
  ofKeys
    .flatMap(({ budgets }) => budgets)
    .reduce((first, { until = first }) => Math.min(first, until), Number.POSITIVE_INFINITY);

/**
 * Opens the decision records; each added record is also sent as an event. `count` counts the requests that wait to be added to the traffic
 * figures.
 */
function openServerRecords(
  { store, keys, feed, host: { timers } }: GatewayResources,
  inFlight: LinkedSet<RequestContext>,
  snapshot: () => PolicySnapshot,
) {
  const { now } = store.instance;
  const keyName = (id: string) => addressOf(id) ?? keys.known(id)?.name ?? null;
  const onAdd = (record: DecisionRecord) => {
    feed.tell(() => decisionEvent(record, { keyName, usdPerCredit: snapshot().usdPerCredit }));
  };
  const count = () => store.traffic.count(now());
  const running = (id: number) => findRunning(inFlight, id);
  return {
    records: openRecords({
      ...{ store, tables: store.records, now, timers, onAdd, running },
      isCounted: () => isCounted(count),
    }),
    count,
  };
}

/** Opens what the store keeps of prompts. Servers that share the store follow the conversations of the others. */
async function openPrompts(resources: GatewayResources, snapshot: () => PolicySnapshot) {
  const { store, host } = resources;
  const { now } = store.instance;
  const conversations = new Conversations(store, now);
  await conversations.pull();
  if (store.leaders) conversations.follow(host.timers, () => isRead(snapshot()));
  return {
    threads: new Threads(store, now, await loadSecret(store)),
    conversations,
  };
}

/** Returns the status that only the running process knows, and the status of the other servers that share its database. */
function statusOf(lease: () => Runtime, { store, host: { version } }: GatewayResources): Omit<ServerStatus, 'health'> {
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

/**
 * Deletes old rows, indexes records and counts traffic, at the start and then regularly, if this instance leads. Returns a function that
 * stops the upkeep.
 */
async function keepUp(
  count: () => Promise<boolean>,
  log: Log,
  { timers, leadership }: { readonly timers: Timers; readonly leadership: Leadership },
  prune: () => Promise<void>,
): Promise<() => void> {
  const [counts, prunes] = [leadership.of('count'), leadership.of('prune')];
  const pruneAsLeader = async () => {
    if (prunes.isHeld) await prune();
  };
  const pruning = timers.every(PRUNE_EVERY_MS, () => void pruneAsLeader());
  await pruneAsLeader();
  const countAsLeader = async () => counts.isHeld && (await count());
  const stopIndexing = keepIndexed(countAsLeader, timers, (error) =>
    log.warn('decision records could not be indexed and counted', { error: String(error) }),
  );
  return () => {
    pruning.close();
    stopIndexing();
  };
}

/** The parts of a server that a dead instance can leave with unfinished work. */
interface SweptParts {
  readonly ledger: Ledger;
  readonly payments: Payments;
  readonly idempotency: Idempotency;
}

const idempotencyOver = (store: OpenStore, ledger: Ledger, timers: Timers): Idempotency =>
  new Idempotency({
    ...{ store, now: store.instance.now, instance: store.instance, timers },
    isOpen: ledger.isOpen.bind(ledger),
    giveBack: ledger.giveBack.bind(ledger),
  });

/** Resolves the unfinished work of dead instances, one part after the other. */
function openSweep(
  { ledger, payments, idempotency }: SweptParts,
  { store: { instance }, log, host: { clock, timers } }: GatewayResources,
  lead: Lead,
): Sweep {
  const onError = (part: string, error: unknown) =>
    log.warn('unfinished work of stopped servers could not be completed', { part, error: String(error) });
  const sweep = new Sweep({ graceMs: ledger.graceMs, instance, clock, timers, onError, lead });
  sweep.add('holds', async () => logRecovered(log, await ledger.sweep()));
  // The sweep resolves payments after holds, because the money of a payment belongs to a hold that must be closed first.
  sweep.add('payments', payments.sweep);
  sweep.add('names', () => idempotency.sweep());
  return sweep;
}

/** The state of requests and prompts that is kept in memory. State: gateway. */
const memoryOf = (
  clock: () => number,
  secret: Uint8Array,
  { store, log }: GatewayResources,
  turns = new AnswerTurns(),
) => ({
  turns,
  cache: new AnswerCache({
    ...{ store, secret, turns, now: store.instance.now },
    onError: (error) => log.warn('old answers of the cache could not be deleted', { error: String(error) }),
  }),
  affinity: new Affinity(clock, undefined, secret),
  sessions: new Sessions(clock),
  countPlaces: new CountPlaces(),
  inFlight: new LinkedSet<RequestContext>(),
  answers: new ByteRoom(),
});

export interface GatewayResources {
  readonly store: OpenStore;
  readonly keys: Keys;
  readonly people: People;
  readonly log: Log;
  readonly host: Host;
  readonly feed: EventFeed;
}

/**
 * Opens the gateway with everything that its use cases need. When the gateway is open, the books are open, orphaned holds are resolved, and
 * the policy follows its source.
 */
export async function openGateway(
  first: PolicyCandidate,
  tools: ServerPolicyTools,
  resources: GatewayResources,
  options: Pick<ServeOptions, 'allowsPolicyWrites' | 'data' | 'database' | 'home' | 'policiesFrom'>,
) {
  const { store, keys, people, log, host, feed } = resources;
  const { clock, timers, err } = host;
  const { now } = store.instance;
  const leadership = new Leadership({ table: store.leaders, instance: store.instance, clock, timers });
  await leadership.begin();
  await people.declare(first.runtime.snapshot.teams);
  people.useOrganization(first.runtime.snapshot.organization);
  const { ledger, terms } = await openBudgets(first, resources, leadership.of('alerts'));
  const stopDeclarations = await keepDeclarations(tools.health.declarations, first.runtime.snapshot, store, log);
  const memory = memoryOf(clock, await loadSecret(store), resources);
  const { records, count } = openServerRecords(resources, memory.inFlight, () => lease().snapshot);
  const nextId = idsOf(store.instance);
  await saveRevision(records, first);
  const payments = await takePayments(first, ledger, nextId, resources, leadership.of('reconcile'));
  const kept = { ledger, payments, people, terms, records, store, now, log, err, timers, feed };
  await noteFirstPolicy(kept, first);
  const policy = openPolicies(first, tools, kept, resources, options);
  const { reloader, leaseOf, past, reporter, rehearse } = policy;
  const idempotency = idempotencyOver(store, ledger, timers);
  const scores = new Scores(store, nextId);
  const prompts = await openPrompts(resources, () => reloader.lease().snapshot);
  const pruned = { records, idempotency, scores, cache: memory.cache, ...prompts, store, now };
  const stopUpkeep = await keepUp(count, log, { timers, leadership }, () =>
    prune(pruned, reloader.lease().snapshot, log),
  );
  const sweep = openSweep({ ledger, payments, idempotency }, resources, leadership.of('sweep'));
  await sweep.begin();
  await policy.begin();
  const publishing = timers.every(PUBLISH_EVERY_MS, () => tools.health.publish());
  const { lease } = reloader;
  const funded = { lease, leaseOf, ledger, payments, keys, log, now };
  const gateway: X402Gateway = {
    ...funded,
    funding: x402Funding(funded),
    records,
    past,
    scores,
    ...prompts,
    ...memory,
    counter: createTokenCounter((error) => log.error('tokens cannot be counted', { error })),
    nextId,
    clock,
    isLeaving: false,
    isEnding: false,
    isDraining: false,
  };
  const policies = openPolicyDesk({ gateway, ...policy, people }, tools, resources, options);
  const audits = new Audits({ place: options, now, timers, log });
  const stop = () => {
    audits.close();
    leadership.stop();
    policies.close();
    gateway.isDraining = true;
    idempotency.stopWaiting();
    stopUpkeep();
    prompts.conversations.close();
    void sweep.stop();
    publishing.close();
    policy.stop();
    stopDeclarations();
  };
  const recount = async (at?: number) => {
    const use = await ledger.prepare(terms(reloader.lease().snapshot, at));
    await untilEnforced(timers, use());
  };
  ledger.renewWith(recount);
  const status = { health: tools.health, ...statusOf(lease, resources) };
  const { desk } = policies;
  const run = { reloader, reporter, rehearse, recount, stop };
  return { gateway, desk, idempotency, status, audits, levels: new Levels(people), leadership, ...run };
}
