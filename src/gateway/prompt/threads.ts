import type { StreamPart } from '../../contract/parts.ts';
import { type AskedAddOns, joinedAddOns } from '../../core/add-ons.ts';
import { DAY_MS } from '../../core/clock.ts';
import type { AttemptRecord } from '../../core/decision-record.ts';
import { SignalboxError } from '../../core/errors.ts';
import type { Facts } from '../../core/facts.ts';
import { isObject } from '../../core/object.ts';
import type { Usage } from '../../core/usage.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import type { Repositories } from '../../store/repositories.ts';
import type { Store, Write } from '../../store/store.ts';
import type { ThreadRow } from '../../store/threads.ts';

/** Answers of a key that its threads may go on from, and for how long, ms. */
const MOST = 1_000;
const KEPT_MS = DAY_MS;

/** Characters of an ID at most, as in requests. */
const ID_MAX = 256;

/** An answer that a thread may go on from. */
interface ThreadAnswer {
  readonly id: string;
  /** The attempt that gave it. */
  readonly attempt: AttemptRecord;
  readonly usage: Usage;
  /** The facts of its request. */
  readonly facts: Facts;
}

/** The part of a store that keeps threads. */
type ThreadStore = Pick<Store, 'written'> & Pick<Repositories, 'threads'>;

/**
 * Knows which service keeps the history behind an answer, by the answer's ID, so that the next turn goes there. In the store,
 * within the caller's key, bounded in number and age: a caller who names an answer that is gone sends the whole conversation.
 * State: threads.
 */
export class Threads {
  readonly #store: ThreadStore;
  readonly #now: () => number;

  /** @param now ms since 1970 */
  constructor(store: ThreadStore, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** Keeps an answer that a thread may go on from. @returns what is written with the answer's settlement */
  keep(keyId: string, { id, attempt, usage, facts }: ThreadAnswer, { originOf }: Runtime): readonly Write[] {
    const { model, provider } = attempt;
    const tokens = usage.inputTokens + usage.outputTokens;
    const place = { keyId, answer: id, model, provider, origin: originOf(provider) };
    const row = { ...place, tokens, addOns: addOnsToKeep(facts), time: this.#now() };
    return this.#store.threads.put(row, MOST);
  }

  /**
   * Finds the answer that a request goes on from.
   * @throws SignalboxError `thread_not_found`; StoreError
   */
  async find(keyId: string, answerId: string): Promise<ThreadRow> {
    const { threads } = this.#store;
    let kept = await threads.find(keyId, answerId);
    // The next turn can overtake the settlement of the one before.
    if (!kept && (await this.#store.written())) kept = await threads.find(keyId, answerId);
    if (kept && kept.time > this.#now() - KEPT_MS) return kept;
    throw notFound('It is older than a day, or of another key.');
  }

  /** Deletes what is too old. Rejects with StoreError. */
  async prune(): Promise<void> {
    await this.#store.threads.prune(this.#now() - KEPT_MS);
  }
}

/**
 * Adds to the facts of a request where its history is.
 * @param kept the answer that it goes on from
 * @throws SignalboxError `thread_not_found`
 */
export function withHistory(facts: Facts, kept: ThreadRow, { snapshot, originOf }: Runtime): Facts {
  // A request that names another model gets that one, if the same service has it.
  const model = facts.pinned ? facts.model : kept.model;
  const { endpoints = [] } = snapshot.models[snapshot.modelIndex.get(model) ?? -1] ?? {};
  const own = endpoints.flatMap(({ provider }, at) =>
    provider === kept.provider && originOf(provider) === kept.origin ? [at] : [],
  );
  if (own.length === 0)
    throw notFound(`The service that has it does not serve \`${model}\`, or is no longer in the policy.`);
  const addOns = joinedAddOns(kept.addOns ?? undefined, facts.addOns);
  return {
    ...facts,
    ...(addOns && { addOns }),
    inputTokens: facts.inputTokens + kept.tokens,
    inputTokensMax: facts.inputTokensMax + kept.tokens,
    thread: { model, endpoints: own, tokens: kept.tokens },
  };
}

/** The add-ons of a history. Their fields are not of the turn that goes on with it. */
const addOnsToKeep = ({ addOns }: Facts): AskedAddOns | null =>
  addOns ? { ...addOns, unpriced: addOns.unpriced.length > 0 ? ['thread'] : [] } : null;

/** Hears the ID of an answer that goes out as its service sent it. */
export class AnswerId {
  /** Null before it is heard. */
  value: string | null = null;

  hear(parts: readonly StreamPart[]): void {
    for (const part of parts) {
      if (this.value !== null) return;
      if (part.type !== 'passthrough') continue;
      const { message, id } = part.event;
      // A whole answer, or the event that begins one.
      const own = isObject(message) ? message.id : id;
      if (typeof own === 'string' && own !== '' && own.length <= ID_MAX) this.value = own;
    }
  }
}

/** The error of a history that is not to be found. Clients that have the conversation then send it whole, in a new thread. */
export const notFound = (why: string): SignalboxError =>
  new SignalboxError(
    'thread_not_found',
    `The history of this thread cannot be found. ${why} Send the whole conversation with \`thread: {"type": "create"}\`.`,
    { param: 'thread.previous_message_id' },
  );

/** The error of a thread where none can be kept. Clients that have the conversation then send it whole, without a thread. */
export const unsupportedThread = (why: string): SignalboxError =>
  new SignalboxError(
    'unsupported_parameter',
    `${why} Send all messages without \`thread\` (in the SDK’s tool runner: \`thread: false\`).`,
    { param: 'thread', details: { error_code: 'thread_unsupported_request', unsupported: ['thread'] } },
  );
