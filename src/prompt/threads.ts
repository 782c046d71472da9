import type { StreamPart } from '../contract/parts.ts';
import { type AskedAddOns, joinedAddOns } from '../core/add-ons.ts';
import type { AttemptRecord } from '../core/decision-record.ts';
import { SignalboxError } from '../core/errors.ts';
import type { Facts } from '../core/facts.ts';
import { isObject } from '../core/object.ts';
import type { Usage } from '../core/usage.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { RecentByKey } from './recent-by-key.ts';

/** Answers that threads may go on from, of one key and of all; with their IDs some 20 MB. */
const LIMITS = { most: 1_000, mostOfAll: 50_000, idleMs: 86_400_000 };

/** Characters of an ID at most, as in requests. */
const ID_MAX = 256;

/** The place of a history that a service keeps. */
interface KeptHistory {
  /** ID of the model that wrote its last answer. */
  readonly model: string;
  readonly provider: string;
  /** The provider's address and key: another account has none of its histories. */
  readonly origin: string;
  /** Tokens up to the end of that answer. */
  readonly tokens: number;
  /** What its turns let the service bill beside tokens: its tools and cache marks stay in force. */
  readonly addOns?: AskedAddOns;
}

/** An answer that a thread may go on from. */
interface ThreadAnswer {
  readonly id: string;
  /** The attempt that gave it. */
  readonly attempt: AttemptRecord;
  readonly usage: Usage;
  /** The facts of its request. */
  readonly facts: Facts;
}

/**
 * Remembers which service keeps the history behind an answer, by the answer's ID, so that the next turn goes there. Within
 * the caller's key, bounded in number and age, and local to the process: who names an answer that is forgotten is told to send
 * the whole conversation.
 */
export class Threads {
  readonly #histories: RecentByKey<KeptHistory>;

  /** @param clock ms, never goes back */
  constructor(clock: () => number, limits = LIMITS) {
    this.#histories = new RecentByKey(clock, limits);
  }

  /** Remembers an answer that a thread may go on from. */
  note(keyId: string, { id, attempt, usage, facts: { addOns } }: ThreadAnswer, { originOf }: Runtime): void {
    const { model, provider } = attempt;
    const tokens = usage.inputTokens + usage.outputTokens;
    this.#histories.set(keyId, id, { model, provider, origin: originOf(provider), tokens, addOns });
  }

  /**
   * Adds to the facts of a request where its history is.
   * @param answerId the answer that it goes on from
   * @throws SignalboxError `thread_not_found`
   */
  place(keyId: string, answerId: string, facts: Facts, { snapshot, originOf }: Runtime): Facts {
    const kept = this.#histories.get(keyId, answerId);
    if (!kept) throw notFound('It is older than a day, of another key, or was forgotten by a restart.');
    // A request that names another model gets that one, if the same service has it.
    const model = facts.pinned ? facts.model : kept.model;
    const { endpoints = [] } = snapshot.models[snapshot.modelIndex.get(model) ?? -1] ?? {};
    const own = endpoints.flatMap(({ provider }, at) =>
      provider === kept.provider && originOf(provider) === kept.origin ? [at] : [],
    );
    if (own.length === 0)
      throw notFound(`The service that has it does not serve \`${model}\`, or is no longer in the policy.`);
    const addOns = joinedAddOns(keptAddOns(kept), facts.addOns);
    return {
      ...facts,
      ...(addOns && { addOns }),
      inputTokens: facts.inputTokens + kept.tokens,
      inputTokensMax: facts.inputTokensMax + kept.tokens,
      thread: { model, endpoints: own, tokens: kept.tokens },
    };
  }
}

/** The add-ons of a history. Their fields are not of the turn that goes on with it. */
const keptAddOns = ({ addOns }: KeptHistory): AskedAddOns | undefined =>
  addOns && { ...addOns, unpriced: addOns.unpriced.length > 0 ? ['thread'] : [] };

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
