import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shipped } from '../../plugins/index.ts';
import { openKeys } from '../../src/access/keys.ts';
import type { ChatRequest } from '../../src/api/chat-request.ts';
import { ByteRoom } from '../../src/core/byte-room.ts';
import { type Caller, SCOPES } from '../../src/core/caller.ts';
import type { Decision } from '../../src/core/decision.ts';
import type { DecisionOutcome } from '../../src/core/decision-record.ts';
import type { Facts } from '../../src/core/facts.ts';
import { createIds, idText } from '../../src/core/id.ts';
import { LinkedSet } from '../../src/core/linked-set.ts';
import type { X402Gateway } from '../../src/http/x402/services.ts';
import type { Learner } from '../../src/learning/learner.ts';
import { openLearner } from '../../src/learning/open.ts';
import { openLedger } from '../../src/ledger/ledger.ts';
import { x402Funding } from '../../src/money/x402/funding.ts';
import { openPayments } from '../../src/payments/service.ts';
import { createRegistry } from '../../src/plugin-host/registry.ts';
import { loadPolicy } from '../../src/policy/load.ts';
import { Affinity } from '../../src/prompt/affinity.ts';
import { Sessions } from '../../src/prompt/sessions.ts';
import { Threads } from '../../src/prompt/threads.ts';
import { openRecords } from '../../src/records/records.ts';
import { CountPlaces } from '../../src/request/count-places.ts';
import { tryDecision } from '../../src/request/decide.ts';
import { recordDecision, recordedOf } from '../../src/request/decision-record.ts';
import { giveFeedback } from '../../src/request/feedback.ts';
import type { Gateway } from '../../src/request/gateway.ts';
import { exampleOf } from '../../src/request/learn-from-answer.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { buildRuntime, type Runtime } from '../../src/runtime/runtime.ts';
import { NO_INSTANCE } from '../../src/store/instance.ts';
import { openSqliteBooks } from '../../src/store/sqlite/books/books.ts';
import { ledgerMigrations } from '../../src/store/sqlite/books/schema.ts';
import { openSqlite } from '../../src/store/sqlite/database.ts';
import { accessMigrations } from '../../src/store/sqlite/keys.ts';
import { learningMigrations } from '../../src/store/sqlite/learning/schema.ts';
import { paymentMigrations } from '../../src/store/sqlite/payments.ts';
import { recordsMigrations } from '../../src/store/sqlite/records/schema.ts';
import type { Store } from '../../src/store/store.ts';
import { chatFacts, questionOf, routeFacts } from '../../test/support/chat-body.ts';
import { chatRequest } from '../../test/support/model-request.ts';
import { WEIGHTS } from './policy.ts';

const CALLER: Caller = {
  keyId: 'bench',
  scopes: new Set(SCOPES),
  labels: {},
  models: null,
  limits: null,
  budgets: [],
};

/** A prompt, and its task where the caller states one. */
export interface ChatInput {
  readonly prompt: string;
  readonly task: string | null;
}

/** A chat with a recorded decision and answer. */
export interface Chat {
  /** `dec_…` */
  readonly decision: string;
  /** ID of the model. */
  readonly model: string;
}

interface Parts {
  readonly store: Store;
  readonly learner: Learner;
  readonly gateway: Gateway;
  close(): Promise<void>;
}

/**
 * Signalbox without HTTP and without upstreams: its use cases decide, record and score chats, over a
 * database on disk.
 */
export class RealPath {
  readonly #folder: string;
  readonly #runtime: Runtime;
  #parts: Parts;

  private constructor(folder: string, runtime: Runtime, parts: Parts) {
    this.#folder = folder;
    this.#runtime = runtime;
    this.#parts = parts;
  }

  static async open(policy: string): Promise<RealPath> {
    const runtime = runtimeOf(policy);
    const folder = mkdtempSync(join(tmpdir(), 'signalbox-routing-'));
    return new RealPath(folder, runtime, await openParts(folder, runtime));
  }

  /** Stops and starts like a server, so that only stored state is left. */
  async reopen(): Promise<void> {
    await this.#parts.close();
    this.#parts = await openParts(this.#folder, this.#runtime);
  }

  async close(): Promise<void> {
    await this.#parts.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** A chat with a pinned model, or with the chosen one. */
  async chat(input: ChatInput, model: string | null): Promise<Chat> {
    const { gateway, learner } = this.#parts;
    const runtime = this.#runtime;
    const { facts, features, decision } = await this.#decide(input, model, true);
    const outcome = answered(decision, runtime);
    const recorded = recordedOf({ stream: false, routing: {} }, CALLER, runtime.snapshot);
    gateway.records.append(recordDecision(gateway, 'chat', decision, recorded, runtime.snapshot, outcome));
    learner.noteAnswer(runtime, exampleOf({ runtime, caller: CALLER, decision, features }));
    const chosen = runtime.snapshot.models[decision.ranked[0].model]!.id;
    if (facts.pinned && chosen !== model) throw new Error(`${chosen} answered for ${model}`);
    return { decision: idText('dec_', decision.id), model: chosen };
  }

  /** Scores chats in their order. */
  async score(scores: readonly { readonly chat: Chat; readonly score: number }[]): Promise<void> {
    const { gateway, store } = this.#parts;
    await store.flush();
    const given = scores.map(({ chat, score }) => giveFeedback(gateway, { decision_id: chat.decision, score }, CALLER));
    for (const { result } of await Promise.all(given)) {
      if (result !== 'learnt') throw new Error(`a score was ${result}, not learnt`);
    }
  }

  /** Q of the given models in a decision that is not recorded. */
  async qualities(input: ChatInput, models: readonly string[]): Promise<number[]> {
    const { decision } = await this.#decide(input, null, false);
    return models.map((id) => decision.quality[this.#runtime.snapshot.modelIndex.get(id)!]!);
  }

  /** The tasks that a prompt may be, with their shares. */
  tasksOf(prompt: string): readonly { readonly task: string; readonly share: number }[] {
    const { task, mix } = this.#factsOf({ prompt, task: null }, null);
    return mix.length === 0 ? [{ task, share: 1 }] : mix;
  }

  #factsOf({ prompt, task }: ChatInput, model: string | null): Facts {
    const messages: ChatRequest['messages'] = [{ role: 'user', content: prompt }];
    const rest = { messages, model: model ?? 'auto', ...(model === null && { route_strategy: WEIGHTS }) };
    const { snapshot } = this.#runtime;
    return task === null
      ? chatFacts(rest, CALLER, snapshot)
      : routeFacts({ ...rest, task_type: task }, CALLER, snapshot);
  }

  async #decide(input: ChatInput, model: string | null, isMade: boolean) {
    const { gateway, learner } = this.#parts;
    const messages: ChatRequest['messages'] = [{ role: 'user', content: input.prompt }];
    const facts = this.#factsOf(input, model);
    const features = learner.memories.read(this.#runtime, questionOf(messages));
    const terms = { runtime: this.#runtime, caller: CALLER, windowsOnly: false };
    const { outcome: decision } = tryDecision(gateway, { facts, features }, chatRequest({ messages }), terms, isMade);
    if (isRefusal(decision)) throw new Error('the request was refused');
    // As a chat does after its hold.
    if (isMade) learner.memories.noteRequest(this.#runtime, decision.facts, features);
    return { facts, features, decision };
  }
}

function runtimeOf(text: string): Runtime {
  const registry = createRegistry(shipped);
  const env = { get: () => undefined };
  const { snapshot, diagnostics } = loadPolicy([{ path: 'policy.yaml', text }], {
    env,
    ...registry,
    revisionOf: (content) => Bun.hash(content).toString(36),
  });
  if (!snapshot) throw new Error(diagnostics.map(({ message }) => message).join('\n'));
  return buildRuntime(snapshot, registry, env.get);
}

async function openParts(folder: string, runtime: Runtime): Promise<Parts> {
  const migrations = [accessMigrations, ledgerMigrations, recordsMigrations, paymentMigrations, learningMigrations];
  const store = await openSqlite(join(folder, 'signalbox.db'), migrations);
  const now = Date.now;
  const clock = () => performance.now();
  const write = (message: string, fields?: object) => console.error(message, fields ?? '');
  const log = { info: () => {}, warn: write, error: write };
  const keys = await openKeys({ store, now });
  const ledger = await openLedger({
    books: await openSqliteBooks({ store, now }),
    terms: runtime.snapshot,
    now,
    onAlarm: write,
  });
  const records = openRecords({ store, tables: store.records, now });
  const nextId = createIds(now, 0);
  const payments = await openPayments({
    instance: NO_INSTANCE,
    store,
    now,
    nextId,
    env: () => undefined,
    deposit: ledger.deposit.bind(ledger),
    log,
  });
  const faults: unknown[] = [];
  const learner = await openLearner({
    store,
    now,
    nextId,
    onFault: (_estimator, _where, error) => faults.push(error),
    onError: (error) => faults.push(error),
  });
  const lease = () => runtime;
  const funded = { lease, leaseOf: lease, ledger, payments, keys, log, now };
  const gateway: X402Gateway = {
    ...funded,
    funding: x402Funding(funded),
    records,
    past: { find: async () => runtime },
    learner,
    affinity: new Affinity(clock),
    threads: new Threads(store, now),
    sessions: new Sessions(clock),
    counter: { count: async () => null },
    countPlaces: new CountPlaces(),
    nextId,
    clock,
    inFlight: new LinkedSet(),
    answers: new ByteRoom(),
    isLeaving: false,
    isEnding: false,
    isDraining: false,
  };
  const close = async () => {
    await learner.close();
    payments.close();
    keys.close();
    await ledger.close();
    await store.close();
    // Signalbox continues after a failure, which would falsify the figures.
    if (faults.length > 0) throw faults[0];
  };
  return { store, learner, gateway, close };
}

/** The record of a chat with a complete answer. Nothing was sent. */
function answered({ ranked: [{ model: at, endpoints }] }: Decision, { snapshot }: Runtime): DecisionOutcome {
  const { id: model, endpoints: all } = snapshot.models[at]!;
  const endpoint = endpoints[0]!;
  const { provider, upstream } = all[endpoint]!;
  return {
    status: 'completed',
    error: null,
    attempts: [
      {
        model,
        provider,
        upstream,
        startMs: 1,
        ms: 1,
        firstPartMs: 1,
        failure: null,
        endpoint,
        requestId: null,
        finishReasons: [],
      },
    ],
    usage: null,
    estimated: true,
    charged: 0,
    saved: 0,
    firstPartMs: 1,
    totalMs: 1,
    cappedBy: null,
    usageReplaced: false,
  };
}
