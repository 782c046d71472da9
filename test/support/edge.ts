import { shipped } from '../../plugins/index.ts';
import { Idempotency, type IdempotencyOptions } from '../../src/access/idempotency/idempotency.ts';
import type { Keys } from '../../src/access/keys.ts';
import { openPeople } from '../../src/access/people.ts';
import { everyOperation } from '../../src/admin/groups.ts';
import { ByteRoom } from '../../src/core/byte-room.ts';
import { LinkedSet } from '../../src/core/linked-set.ts';
import { openaiChat } from '../../src/dialects/openai-chat/surface.ts';
import { AnswerCache } from '../../src/gateway/cache/answer-cache.ts';
import { AnswerTurns } from '../../src/gateway/exchange/answer-turns.ts';
import type { FundingSource } from '../../src/gateway/money/funding.ts';
import { Affinity } from '../../src/gateway/prompt/affinity.ts';
import { Conversations } from '../../src/gateway/prompt/conversations.ts';
import { Sessions } from '../../src/gateway/prompt/sessions.ts';
import { Threads } from '../../src/gateway/prompt/threads.ts';
import { openRecords } from '../../src/gateway/records/records.ts';
import { Scores } from '../../src/gateway/records/scores.ts';
import { CountPlaces } from '../../src/gateway/request/count-places.ts';
import { createRegistry } from '../../src/host/plugins/registry.ts';
import type { Log } from '../../src/host/telemetry/log.ts';
import { processTimers } from '../../src/host/telemetry/process-timers.ts';
import { createApp } from '../../src/http/app.ts';
import type { X402Gateway } from '../../src/http/x402/services.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { x402Funding } from '../../src/payments/funding/funding.ts';
import type { X402Parts } from '../../src/payments/funding/gateway.ts';
import type { Payments } from '../../src/payments/service.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import { buildRuntime, type Runtime } from '../../src/policy/runtime/runtime.ts';
import { hashOf } from '../../src/policy/runtime/source.ts';
import type { OpenStore } from '../../src/store/driver.ts';
import { snapshotOf } from '../policy/support.ts';
import { unobserved } from './observer.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from './policies.ts';

/** The value of a variable of the tests' environment. */
export const variable = (name: string): string | undefined => (name in UPSTREAM_ENV ? UPSTREAM_KEY : undefined);

/** A policy with one model, `best`, on one upstream, ready to serve. */
export function runtimeOf(upstream: string, more: string): Runtime {
  const registry = createRegistry(shipped);
  const text = testPolicy({ fake: upstream }, { best: { endpoints: ['fake'] } }, more);
  const context = { env: { get: variable }, ...registry, revisionOf: hashOf };
  return buildRuntime(snapshotOf(loadPolicy([{ path: 'policy.yaml', text }], context)), registry, { get: variable });
}

export interface EdgeParts {
  readonly store: OpenStore;
  readonly keys: Keys;
  readonly ledger: Ledger;
  readonly payments: Payments;
  readonly log: Log;
  /** Returns the active runtime. */
  readonly lease: () => Runtime;
  /** Chooses who pays; keys and x402 by default. */
  readonly fundingOf?: (parts: X402Parts) => FundingSource;
  /** Replaces options of idempotency, to make a mutant. */
  readonly change?: (options: IdempotencyOptions) => IdempotencyOptions;
  readonly isDraining?: () => boolean;
}

/** Opens the HTTP edge for chats over parts that a test has opened, without log, metrics or traces. */
export async function openEdge({ store, keys, ledger, payments, log, lease, ...more }: EdgeParts) {
  const { fundingOf = x402Funding, change = (options) => options, isDraining = () => false } = more;
  const { instance } = store;
  const { now } = instance;
  const clock = () => performance.now();
  const nextId = () => instance.nextId();
  const never = () => {
    throw new Error('not asked for here');
  };
  const funded = { lease, leaseOf: lease, ledger, payments, keys, log, now };
  const turns = new AnswerTurns();
  const gateway: X402Gateway = {
    ...funded,
    funding: fundingOf(funded),
    records: openRecords({ store, tables: store.records, now }),
    scores: new Scores(store, nextId),
    affinity: new Affinity(clock),
    threads: new Threads(store, now, new Uint8Array(32)),
    conversations: new Conversations(store, now),
    sessions: new Sessions(clock),
    counter: { count: async () => null },
    cache: new AnswerCache({ store, turns, secret: new Uint8Array(32), now, onError: never }),
    turns,
    countPlaces: new CountPlaces(),
    past: { find: async () => lease() },
    renewedPrices: () => null,
    nextId,
    clock,
    inFlight: new LinkedSet(),
    answers: new ByteRoom(),
    isLeaving: false,
    isEnding: false,
    get isDraining() {
      return isDraining();
    },
  };
  const idempotency = new Idempotency(
    change({
      ...{ store, now, instance, timers: processTimers },
      isOpen: ledger.isOpen.bind(ledger),
      giveBack: ledger.giveBack.bind(ledger),
    }),
  );
  const app = createApp({
    built: () => null,
    surfaces: [openaiChat],
    operations: await everyOperation(),
    gateway,
    policy: { lease, status: never, reload: never },
    keys,
    people: { people: await openPeople({ store, now }), keys },
    idempotency,
    store,
    authenticate: keys.authenticate,
    version: 'test',
    ...unobserved(gateway),
  });
  return {
    app,
    gateway,
    idempotency,
    async close() {
      payments.close();
      keys.close();
      await ledger.close();
    },
  };
}
