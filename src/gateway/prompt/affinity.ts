import { CAPABILITIES } from '../../core/capability.ts';
import type { CachedTokens, Facts } from '../../core/facts.ts';
import type { ModelRequest } from '../../core/model-request.ts';
import type { OriginalPath } from '../../core/original.ts';
import type { Endpoint, Model, PolicySnapshot } from '../../core/snapshot.ts';
import { markOfTurn } from './answer-mark.ts';
import { AnswerTable, answererOf, type PromptAnswer } from './answer-table.ts';
import { hashOfTurn } from './message-hash.ts';
import { bearsState } from './reasoning-state.ts';

/** Remembered answers: 4 MB. */
const ANSWERS_MAX = 50_000;
/** Earlier turns of a conversation that are looked up. */
const TURNS_MAX = 32;

/**
 * Remembers which models answered which prompts of each key, so that a repeat and the next turn of a conversation find the
 * provider that has most of it in its cache, and the writers of its messages. Holds hashes, no text. Local to the process and
 * bounded: the least recently used answer goes first. State: affinity.
 */
export class Affinity {
  readonly #clock: () => number;
  readonly #answers: AnswerTable;
  /** Secret, so that no caller can search for two prompts with one hash. */
  readonly #seed = crypto.getRandomValues(new BigUint64Array(1))[0]!;

  /** @param clock ms, never goes back */
  constructor(clock: () => number, answersMax = ANSWERS_MAX) {
    this.#clock = clock;
    this.#answers = new AnswerTable(answersMax);
  }

  /** Number of remembered answers. */
  get size(): number {
    return this.#answers.size;
  }

  /** Returns the history of the prompt of a key's request. Reads the prompt when first needed. */
  history(keyId: string, request: ModelRequest): PromptHistory {
    return new PromptHistory(keyId, request, this.#answers, this.#clock, this.#seed);
  }
}

/** The earlier answers to a prompt and its beginnings. Its text is hashed once, when first needed. */
export class PromptHistory {
  /** ID of its caller's key. */
  readonly keyId: string;
  readonly #request: ModelRequest;
  readonly #answers: AnswerTable;
  readonly #clock: () => number;
  readonly #seed: bigint;
  #hashes: PromptHashes | null = null;
  #bearsState: boolean | null = null;
  /** Hashes of the earlier turns that were looked up and found; null for none. */
  #used: Set<bigint> | null = null;

  constructor(keyId: string, request: ModelRequest, answers: AnswerTable, clock: () => number, seed: bigint) {
    this.keyId = keyId;
    this.#request = request;
    this.#answers = answers;
    this.#clock = clock;
    this.#seed = seed;
  }

  /** Whether any turn bears state that not every model can read. */
  get bearsState(): boolean {
    this.#bearsState ??= bearsState(this.#request);
    return this.#bearsState;
  }

  /**
   * Returns the facts with the tokens that are probably in caches: of each model's longest prompt, which is this whole one
   * where it is a repeat, else what stood before one of its answers. Changes nothing here.
   */
  recall(facts: Facts, snapshot: PolicySnapshot): Facts {
    if (this.#answers.size === 0 || isTooShort(facts, snapshot)) return facts;
    const now = this.#clock();
    const cached = new Map<string, CachedTokens>();
    const { turns, whole } = this.#read();
    for (const hash of [...[...turns.values()].slice(-TURNS_MAX), whole].reverse()) {
      for (const answer of this.#find(hash)) {
        const { by, expectedTokens: tokens } = answer;
        const { model } = by;
        if (!cached.has(model) && isCached(answer, snapshot, now)) cached.set(model, { model, tokens });
      }
    }
    if (cached.size === 0) return facts;
    return { ...facts, cached: [...cached.values()].sort((a, b) => (a.model < b.model ? -1 : 1)) };
  }

  /** The family that wrote the assistant's turn of this index; null where none is known, or several may have. */
  writerOf(index: number): string | null {
    const turn = this.#read().turns.get(index);
    if (turn === undefined) return null;
    // Several models may have answered the prompt: the mark finds the writer of this message.
    const mark = markOfTurn(this.#request.conversation.turns[index]!);
    const families = new Set(this.#find(turn).flatMap((one) => (one.mark === mark ? [one.by.family] : [])));
    const [family = null] = families;
    return families.size === 1 ? family : null;
  }

  /**
   * Notes a complete answer. A prompt that is too short for a cache is kept only where its reasoning may come back.
   * @param read the prompt as the endpoint read it
   * @param answer its mark is asked for only where the answer is kept
   */
  noteAnswer(
    model: Model,
    endpoint: Endpoint,
    read: Pick<PromptAnswer, 'inputTokens' | 'expectedTokens' | 'at'>,
    answer: Pick<PromptAnswer, 'mark'>,
    { providers }: PolicySnapshot,
  ): void {
    if (this.#used) for (const hash of this.#used) this.#answers.touch(hash, this.keyId);
    const cache = providers.get(endpoint.provider)?.cache;
    const isCacheable = cache !== undefined && cache.ttlMs > 0 && read.inputTokens >= cache.tokensMin;
    const mayReason = (model.capabilities & CAPABILITIES.reasoning.bit) !== 0;
    if (!isCacheable && !mayReason && !this.bearsState) return;
    const { inputTokens, expectedTokens, at } = read;
    const by = answererOf(model, endpoint);
    this.#answers.add(this.#read().whole, this.keyId, { by, inputTokens, expectedTokens, at, mark: answer.mark });
  }

  /** The key's ID is a part: even with equal hashes no caller finds another's answers. */
  #find(hash: bigint): readonly PromptAnswer[] {
    const found = this.#answers.of(hash, this.keyId);
    if (found.length > 0) {
      this.#used ??= new Set();
      this.#used.add(hash);
    }
    return found;
  }

  #read(): PromptHashes {
    this.#hashes ??= hashesOf(this.#request, this.#seed);
    return this.#hashes;
  }
}

interface PromptHashes {
  /** Hashes of the text before each assistant's turn, by the turn's index, in order. */
  readonly turns: ReadonlyMap<number, bigint>;
  /** Hash of the whole prompt. */
  readonly whole: bigint;
}

/** Makes chained 64-bit hashes: each is seeded with the one before. No two prompts feed the same texts. */
function hashesOf(request: ModelRequest, seed: bigint): PromptHashes {
  const { turns: all } = request.conversation;
  const { answerFormat: format } = request.settings;
  // A format that asks for nothing puts nothing before the turns.
  const form = format && format.type !== 'text' ? request.originalAt(format.at) : null;
  const turns = new Map<number, bigint>();
  const whole = new Set<OriginalPath>();
  let hash = Bun.hash.rapidhash(request.toolsText, seed);
  hash = Bun.hash.rapidhash(form ? JSON.stringify(form) : '', hash);
  for (let index = 0; index < all.length; index++) {
    const turn = all[index]!;
    if (turn.role === 'assistant') turns.set(index, hash);
    hash = hashOfTurn(turn, request, hash, whole);
  }
  return { turns, whole: hash };
}

/** Whether no provider caches so short a prompt. */
const isTooShort = ({ inputTokens, images, audioBytes }: Facts, { cachedTokensMin }: PolicySnapshot): boolean =>
  inputTokens < cachedTokensMin && images === 0 && audioBytes === 0;

/** Whether the model's first endpoint is the one that answered, and probably still has the prompt in its cache. */
function isCached(
  { by, at, inputTokens }: PromptAnswer,
  { models, modelIndex, providers }: PolicySnapshot,
  now: number,
): boolean {
  const endpoint = models[modelIndex.get(by.model) ?? -1]?.endpoints[0];
  if (endpoint?.provider !== by.provider || endpoint.upstream !== by.upstream) return false;
  const { ttlMs, tokensMin } = providers.get(endpoint.provider)!.cache;
  return now - at < ttlMs && inputTokens >= tokensMin;
}
