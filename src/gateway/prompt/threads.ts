import { createHmac } from 'node:crypto';
import type { StreamPart } from '../../contract/parts.ts';
import { isObject } from '../../core/json/object.ts';
import { type AskedAddOns, joinedAddOns } from '../../core/money/add-ons.ts';
import type { Usage } from '../../core/money/usage.ts';
import type { Facts } from '../../core/request/facts.ts';
import { threadNotFound } from '../../core/request/thread-errors.ts';
import { DAY_MS } from '../../core/time/clock.ts';
import type { Runtime } from '../../policy/runtime/runtime.ts';
import type { Upstream } from '../../policy/runtime/upstream.ts';
import type { Repositories } from '../../store/repositories.ts';
import type { Store, Write } from '../../store/store.ts';
import type { ThreadRow } from '../../store/threads.ts';

/** The most answers of a key that the key's threads may continue from, and how long the answers are kept, ms. */
const MOST = 1_000;
const KEPT_MS = DAY_MS;

/** The most characters of an ID, as in requests. */
const ID_MAX = 256;

/** An answer that a thread may continue from. */
interface ThreadAnswer {
  readonly id: string;
  /** The upstream that gave the answer. */
  readonly upstream: Pick<Upstream, 'model' | 'provider' | 'account'>;
  readonly usage: Usage;
  /** The facts of the request that was answered. */
  readonly facts: Facts;
}

/** The part of a store that stores threads. */
type ThreadStore = Pick<Store, 'written'> & Pick<Repositories, 'threads'>;

/**
 * Stores which provider keeps the history of a conversation, by the ID of its last answer, so that the next turn goes to that provider.
 * Threads belong to the caller's key, and are bounded in number and age. If a caller names an answer that is gone, it must send the whole
 * conversation. State: threads.
 */
export class Threads {
  readonly #store: ThreadStore;
  readonly #now: () => number;
  readonly #secret: Uint8Array;

  /** @param now ms since 1970 @param secret the secret of the database */
  constructor(store: ThreadStore, now: () => number, secret: Uint8Array) {
    this.#store = store;
    this.#now = now;
    this.#secret = secret;
  }

  /** Stores an answer that a thread may continue from. @returns the writes to store together with the answer's settlement */
  keep(keyId: string, { id, upstream, usage, facts }: ThreadAnswer): readonly Write[] {
    const { model, provider, account } = upstream;
    const tokens = usage.inputTokens + usage.outputTokens;
    const place = { keyId, answer: id, model: model.id, provider: provider.name, origin: this.originOf(account) };
    const row = { ...place, tokens, addOns: addOnsToKeep(facts), time: this.#now() };
    return this.#store.threads.put(row, MOST);
  }

  /**
   * Finds the answer that a request continues from.
   * @throws SignalboxError `thread_not_found`; StoreError
   */
  async find(keyId: string, answerId: string): Promise<ThreadRow> {
    const { threads } = this.#store;
    let kept = await threads.find(keyId, answerId);
    // The next turn can arrive before the settlement of the previous turn is stored.
    if (!kept && (await this.#store.written())) kept = await threads.find(keyId, answerId);
    if (kept && kept.time > this.#now() - KEPT_MS) return kept;
    throw threadNotFound('It is older than a day, or belongs to another key.');
  }

  /** Returns the keyed hash under which threads of an account are stored, so that the database has no plain hash of an API key. */
  originOf(account: string): string {
    return createHmac('sha256', this.#secret).update(`thread origin\0${account}`).digest('base64url').slice(0, 22);
  }

  /** Deletes answers that are too old. Rejects with StoreError. */
  async prune(): Promise<void> {
    await this.#store.threads.prune(this.#now() - KEPT_MS);
  }
}

/**
 * Adds to the facts of a request the provider that has the request's history.
 * @param kept the answer that it continues from
 * @param originOf see `Threads.originOf`
 * @throws SignalboxError `thread_not_found`
 */
export function withHistory(
  facts: Facts,
  kept: ThreadRow,
  { snapshot, upstreams }: Pick<Runtime, 'snapshot' | 'upstreams'>,
  originOf: Threads['originOf'],
): Facts {
  // If the request names another model, that model is used, provided that the same provider serves it.
  const model = facts.named?.includes(kept.model) === false ? facts.model : kept.model;
  const ofModel = upstreams[snapshot.modelIndex.get(model) ?? -1] ?? [];
  const own = ofModel.flatMap(({ provider, account, at }) =>
    provider.name === kept.provider && originOf(account) === kept.origin ? [at] : [],
  );
  if (own.length === 0)
    throw threadNotFound(`The provider that has it does not serve \`${model}\`, or is no longer in the policy.`);
  const addOns = joinedAddOns(kept.addOns ?? undefined, facts.addOns);
  return {
    ...facts,
    ...(addOns && { addOns }),
    inputTokens: facts.inputTokens + kept.tokens,
    inputTokensMax: facts.inputTokensMax + kept.tokens,
    thread: { model, endpoints: own, tokens: kept.tokens },
  };
}

/** Returns the add-ons of a history. The fields of these add-ons are not in the turn that continues the history. */
function addOnsToKeep({ addOns }: Facts): AskedAddOns | null {
  if (!addOns) return null;
  const { unitsAt: _, tier: _tier, ...kept } = addOns;
  return { ...kept, unpriced: addOns.unpriced.length > 0 ? ['thread'] : [] };
}

/** Reads the ID of an answer that is passed through as its provider sent it. */
export class AnswerId {
  /** The ID of the answer; null until the ID was read. */
  value: string | null = null;

  hear(parts: readonly StreamPart[]): void {
    for (const part of parts) {
      if (this.value !== null) return;
      if (part.type !== 'passthrough') continue;
      const { message, id } = part.event;
      // The event of the provider is a complete answer, or begins an answer.
      const own = isObject(message) ? message.id : id;
      if (typeof own === 'string' && own !== '' && own.length <= ID_MAX) this.value = own;
    }
  }
}
