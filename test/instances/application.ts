import { shipped } from '../../plugins/index.ts';
import { Idempotency, type IdempotencyOptions } from '../../src/access/idempotency/idempotency.ts';
import { openKeys } from '../../src/access/keys.ts';
import { openPeople } from '../../src/access/people.ts';
import { ByteRoom } from '../../src/core/byte-room.ts';
import { LinkedSet } from '../../src/core/linked-set.ts';
import { createApp } from '../../src/http/app.ts';
import type { X402Gateway } from '../../src/http/x402/services.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { x402Funding } from '../../src/money/x402/funding.ts';
import { openPayments } from '../../src/payments/service.ts';
import { createRegistry } from '../../src/plugin-host/registry.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import { Affinity } from '../../src/prompt/affinity.ts';
import { KeptLengths } from '../../src/prompt/kept-lengths.ts';
import { Sessions } from '../../src/prompt/sessions.ts';
import { Threads } from '../../src/prompt/threads.ts';
import { openRecords } from '../../src/records/records.ts';
import { Scores } from '../../src/records/scores.ts';
import { CountPlaces } from '../../src/request/count-places.ts';
import { buildRuntime } from '../../src/runtime/runtime.ts';
import { hashOf } from '../../src/runtime/source.ts';
import type { OpenStore } from '../../src/store/driver.ts';
import { ALONE } from '../../src/store/leaders.ts';
import { openaiChat } from '../../src/surface/openai-chat/surface.ts';
import { processTimers } from '../../src/telemetry/process-timers.ts';
import { keyBudgets } from '../ledger/support.ts';
import { type Answer, answerOf } from '../support/answers.ts';
import { unobserved } from '../support/observer.ts';
import { testPolicy, UPSTREAM_ENV, UPSTREAM_KEY } from '../support/policies.ts';

/** An answer, or an error. */
export interface Told {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Answer;
}

export type Application = Awaited<ReturnType<typeof startApplication>>;

const never = () => {
  throw new Error('not asked for here');
};

function runtimeOf(url: string, gateway: string) {
  const registry = createRegistry(shipped);
  const env = (name: string): string | undefined => (name in UPSTREAM_ENV ? UPSTREAM_KEY : undefined);
  const text = testPolicy({ fake: url }, { best: { endpoints: ['fake'] } }, gateway);
  const settings = { env: { get: env }, ...registry, revisionOf: hashOf };
  const { snapshot } = loadPolicy([{ path: 'policy.yaml', text }], settings);
  return { snapshot: snapshot!, runtime: buildRuntime(snapshot!, registry, env), env };
}

/**
 * Serves over a handle of a store. Stopping it leaves the handle open.
 * @param change makes a mutant of its idempotency
 * @param section the section `gateway` of its policy
 */
export async function startApplication(
  store: OpenStore,
  url: string,
  change: (options: IdempotencyOptions) => IdempotencyOptions = (options) => options,
  section = 'gateway: { retries_max: 0 }\n',
) {
  const { snapshot, runtime, env } = runtimeOf(url, section);
  const lease = () => runtime;
  const { instance } = store;
  const { now } = instance;
  const clock = () => performance.now();
  const write = () => {};
  const log = { info: write, warn: write, error: write };
  let recount = async () => {};
  const keys = await openKeys({ store, now, onChange: () => recount() });
  const terms = () => ({ ...snapshot, budgets: [...snapshot.budgets, ...keyBudgets(keys.budgets())] });
  const { news } = store;
  const ledger = await openLedger({ books: await store.openBooks(now), terms: terms(), now, news, onAlarm: write });
  recount = async () => void (await ledger.prepare(terms()))();
  const nextId = () => instance.nextId();
  const deposit = ledger.deposit.bind(ledger);
  const payments = await openPayments({ store, instance, now, nextId, env, deposit, log });
  const lengths = { store, lead: ALONE, timers: processTimers, onError: never };
  const questionLengths = await KeptLengths.open(lengths);
  const funded = { lease, leaseOf: lease, ledger, payments, keys, log, now };
  const gateway: X402Gateway = {
    ...funded,
    funding: x402Funding(funded),
    records: openRecords({ store, tables: store.records, now }),
    scores: new Scores(store, nextId),
    questionLengths,
    affinity: new Affinity(clock),
    threads: new Threads(store, now),
    sessions: new Sessions(clock),
    counter: { count: async () => null },
    countPlaces: new CountPlaces(),
    past: { find: async () => runtime },
    nextId,
    clock,
    inFlight: new LinkedSet(),
    answers: new ByteRoom(),
    isLeaving: false,
    isEnding: false,
    isDraining: false,
  };
  const idempotency = new Idempotency(
    change({
      ...{ store, now, instance, timers: processTimers },
      isOpen: ledger.isOpen.bind(ledger),
      giveBack: ledger.giveBack.bind(ledger),
    }),
  );
  const people = { people: await openPeople({ store, now }), keys };
  const app = createApp({
    built: () => null,
    surfaces: [openaiChat],
    gateway,
    policy: { lease, status: never, reload: never },
    keys,
    people,
    idempotency,
    store,
    authenticate: keys.authenticate,
    version: 'test',
    ...unobserved(gateway),
  });
  app.listen({ port: 0, hostname: '127.0.0.1' });
  return {
    idempotency,
    keys,
    ledger,
    payments,
    makeKey: async () => (await keys.create({ name: 'app', scopes: ['chat'] })).key,
    async ask(key: string, name: string, content = 'How far is the moon?'): Promise<Told> {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}`, 'idempotency-key': name };
      const body = JSON.stringify({ model: 'best', messages: [{ role: 'user', content }], max_tokens: 100 });
      const target = `http://127.0.0.1:${app.server?.port}/v1/chat/completions`;
      const response = await fetch(target, { method: 'POST', body, headers });
      return { status: response.status, headers: response.headers, body: await answerOf(response) };
    },
    async stop() {
      await app.stop(true);
      payments.close();
      keys.close();
      await questionLengths.close();
      await ledger.close();
    },
  };
}
