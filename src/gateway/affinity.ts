import { CAPABILITIES } from '../core/capability.ts';
import type { Turn } from '../core/conversation.ts';
import type { CachedTokens, Facts } from '../core/facts.ts';
import type { ModelRequest } from '../core/model-request.ts';
import type { Endpoint, Model, PolicySnapshot } from '../core/snapshot.ts';
import { hashOfTurn } from './message-hash.ts';
import { bearsState } from './reasoning-state.ts';
import { markOfTurn } from './said.ts';

/** Answers that are remembered at most; with their keys and hashes some 14 MB. */
const ANSWERS_MAX = 50_000;
/** How many earlier turns of a conversation are looked up. */
const TURNS_MAX = 32;

/** Who answered a prompt. */
interface Answered {
  /** ID of the model. */
  readonly model: string;
  readonly family: string;
  readonly provider: string;
  /** The provider's own name of the model. */
  readonly upstream: string;
  /** Tells what the answer said; see `Said`. */
  readonly mark: number;
  /** Of the prompt, as charged, what the provider's cache may have: whether it takes so little. */
  readonly inputTokens: number;
  /** The same as it was estimated: estimates are off by as much every time, and the next turn is one again. */
  readonly expectedTokens: number;
  /** When the prompt was sent there, ms on the clock: the cache counts from its reading, however long the answer took. */
  readonly at: number;
}

/**
 * Which models have answered which prompts of whom: so that the next turn of a conversation knows whose provider
 * has most of it in its cache, and who wrote its messages. Holds hashes, no text. Local to the process, bounded:
 * what was used least recently goes first.
 */
export class Affinity {
  readonly #clock: () => number;
  readonly #answers: Answers;
  /** Nobody outside can look for two prompts with one hash. */
  readonly #seed = crypto.getRandomValues(new BigUint64Array(1))[0]!;

  /** `clock`: ms, never goes back. */
  constructor(clock: () => number, answersMax = ANSWERS_MAX) {
    this.#clock = clock;
    this.#answers = new Answers(answersMax);
  }

  /** How many answers are remembered. */
  get size(): number {
    return this.#answers.size;
  }

  /** The history of the prompt of a key's request. Nothing is read before it is asked for. */
  history(keyId: string, request: ModelRequest): PromptHistory {
    return new PromptHistory(keyId, request, this.#answers, this.#clock, this.#seed);
  }
}

/** The earlier answers to a prompt and its beginnings. Its text is hashed once, when first needed. */
export class PromptHistory {
  /** ID of its caller's key. */
  readonly keyId: string;
  readonly #request: ModelRequest;
  readonly #answers: Answers;
  readonly #clock: () => number;
  readonly #seed: bigint;
  #hashed: Hashed | null = null;
  /** Of the earlier turns that were asked for and known. */
  readonly #used = new Set<string>();

  constructor(keyId: string, request: ModelRequest, answers: Answers, clock: () => number, seed: bigint) {
    this.keyId = keyId;
    this.#request = request;
    this.#answers = answers;
    this.#clock = clock;
    this.#seed = seed;
  }

  /** The facts, with the tokens that are likely to be in caches still: of each model's longest turn. Writes nothing. */
  recall(facts: Facts, snapshot: PolicySnapshot): Facts {
    if (this.#answers.size === 0 || isTooShort(facts, snapshot)) return facts;
    if (!this.#request.conversation.turns.some(isAnswer)) return facts;
    const now = this.#clock();
    const cached = new Map<string, CachedTokens>();
    for (const hash of [...this.#read().turns.values()].slice(-TURNS_MAX).reverse()) {
      for (const answered of this.#find(hash)) {
        const { model, expectedTokens: tokens } = answered;
        if (!cached.has(model) && isCached(answered, snapshot, now)) cached.set(model, { model, tokens });
      }
    }
    if (cached.size === 0) return facts;
    return { ...facts, cached: [...cached.values()].sort((a, b) => (a.model < b.model ? -1 : 1)) };
  }

  /** The family that wrote the assistant's turn of this index; null where none is known, or more than one may have. */
  writerOf(index: number): string | null {
    const turn = this.#read().turns.get(index);
    if (turn === undefined) return null;
    // Another may have answered the same elsewhere: it is the message that was answered with.
    const mark = markOfTurn(this.#request.conversation.turns[index]!);
    const families = new Set(this.#find(turn).flatMap((one) => (one.mark === mark ? [one.family] : [])));
    const [family = null] = families;
    return families.size === 1 ? family : null;
  }

  /** The answer to what was sent at `at` is whole. What is too short for a cache is kept only where its reasoning may come back. */
  answeredBy(
    model: Model,
    { provider, upstream }: Endpoint,
    read: Pick<Answered, 'inputTokens' | 'expectedTokens' | 'at' | 'mark'>,
    { providers }: PolicySnapshot,
  ): void {
    for (const key of this.#used) this.#answers.touch(key);
    const cache = providers.get(provider)?.cache;
    const isCacheable = cache !== undefined && cache.ttlMs > 0 && read.inputTokens >= cache.tokensMin;
    const mayReason = (model.capabilities & CAPABILITIES.reasoning.bit) !== 0;
    if (!isCacheable && !mayReason && !bearsState(this.#request)) return;
    const { id, family } = model;
    this.#answers.add(this.#key(this.#read().whole), { model: id, family, provider, upstream, ...read });
  }

  #find(hash: bigint): readonly Answered[] {
    const key = this.#key(hash);
    const found = this.#answers.of(key);
    if (found.length > 0) this.#used.add(key);
    return found;
  }

  /** By the key as it is: whatever hashes do, no caller meets what another has asked. */
  #key(hash: bigint): string {
    return `${hash} ${this.keyId}`;
  }

  #read(): Hashed {
    this.#hashed ??= hashesOf(this.#request, this.#seed);
    return this.#hashed;
  }
}

/** Answers by the key of their prompt. One prompt may have been answered by several models. */
class Answers {
  readonly #most: number;
  readonly #byPrompt = new Map<string, readonly Answered[]>();
  /** Goes along as the oldest are taken away: to look for the first anew would pass all that were removed. */
  #oldest = this.#byPrompt.keys();
  /** Entries that were put at the end since it went on. */
  #moved = 0;
  size = 0;

  constructor(most: number) {
    this.#most = most;
  }

  of(key: string): readonly Answered[] {
    return this.#byPrompt.get(key) ?? [];
  }

  add(key: string, answered: Answered): void {
    const before = this.of(key);
    const others = before.filter(({ model }) => model !== answered.model);
    this.#putLast(key, [...others, answered]);
    this.size += others.length + 1 - before.length;
    while (this.size > this.#most) this.#forgetOldest();
  }

  /** Makes it the one that was used last. */
  touch(key: string): void {
    const found = this.#byPrompt.get(key);
    if (found) this.#putLast(key, found);
  }

  #putLast(key: string, answers: readonly Answered[]): void {
    this.#byPrompt.delete(key);
    this.#byPrompt.set(key, answers);
    // While it stands still it keeps every table that the map has outgrown.
    if (++this.#moved < this.#most) return;
    this.#oldest = this.#byPrompt.keys();
    this.#moved = 0;
  }

  #forgetOldest(): void {
    this.#moved = 0;
    const key = this.#oldest.next().value!;
    this.size -= this.of(key).length;
    this.#byPrompt.delete(key);
  }
}

interface Hashed {
  /** Of all that stands before an assistant message, by its index, in order. */
  readonly turns: ReadonlyMap<number, bigint>;
  /** Of the whole prompt. */
  readonly whole: bigint;
}

const isAnswer = ({ role }: Turn): boolean => role === 'assistant';

/** 64 bits each, chained: a hash is seeded with that of all before. No two prompts feed it the same texts. */
function hashesOf(request: ModelRequest, seed: bigint): Hashed {
  const { turns: all, tools } = request.conversation;
  const { answerFormat: format } = request.settings;
  // A format that asks for nothing puts nothing before the turns.
  const form = format && format.type !== 'text' ? request.originalAt(format.at) : null;
  const before = tools.length > 0 || form ? JSON.stringify([tools.map(({ at }) => request.originalAt(at)), form]) : '';
  const turns = new Map<number, bigint>();
  let hash = Bun.hash.rapidhash(before, seed);
  for (const [index, turn] of all.entries()) {
    if (isAnswer(turn)) turns.set(index, hash);
    hash = hashOfTurn(turn, request, hash);
  }
  return { turns, whole: hash };
}

/** Whether no provider caches so little. */
function isTooShort({ inputTokens, images, audioBytes }: Facts, { providers }: PolicySnapshot): boolean {
  if (images > 0 || audioBytes > 0) return false;
  for (const { cache } of providers.values()) if (cache.ttlMs > 0 && inputTokens >= cache.tokensMin) return false;
  return true;
}

/** Whether the provider that a request would go to is likely to have the prompt in its cache still. */
function isCached(answered: Answered, { models, modelIndex, providers }: PolicySnapshot, now: number): boolean {
  const endpoint = models[modelIndex.get(answered.model) ?? -1]?.endpoints[0];
  if (endpoint?.provider !== answered.provider || endpoint.upstream !== answered.upstream) return false;
  const { ttlMs, tokensMin } = providers.get(endpoint.provider)!.cache;
  return now - answered.at < ttlMs && answered.inputTokens >= tokensMin;
}
