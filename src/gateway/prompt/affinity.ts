import { ListValues } from '../../core/json/list-memory.ts';
import type { OriginalPath } from '../../core/json/original.ts';
import type { Endpoint, Model, PolicySnapshot, Provider } from '../../core/policy/snapshot.ts';
import type { SpreadKey } from '../../core/policy/spread.ts';
import { CAPABILITIES } from '../../core/request/capability.ts';
import type { Turn } from '../../core/request/conversation.ts';
import type { CachedTokens, ConversationPlace, Facts } from '../../core/request/facts.ts';
import type { ModelRequest } from '../../core/request/model-request.ts';
import { markOfTurn } from './answer-mark.ts';
import { AnswerTable, answererOf, type PromptAnswer } from './answer-table.ts';
import { hashOfTurn } from './message-hash.ts';
import { bearsState, bearsStateAt } from './reasoning-state.ts';

/** The most answers that are remembered; these answers take 4 MB. */
const ANSWERS_MAX = 50_000;
/** The most earlier turns of a conversation that are looked up. */
const TURNS_MAX = 32;

/**
 * Remembers which models answered which prompts of each key. For a repeat or the next turn of a conversation, the affinity finds the
 * provider whose cache has most of the prompt, and the models that wrote the messages. It stores hashes, no text. It is local to the
 * process and bounded: the least recently used answer is removed first. State: affinity.
 */
export class Affinity {
  readonly #clock: () => number;
  readonly #answers: AnswerTable;
  /** The seed is secret, so that no caller can search for two prompts with the same hash. */
  readonly #seed = crypto.getRandomValues(new BigUint64Array(1))[0]!;
  readonly #secret: Uint8Array;

  /**
   * @param clock ms, never decreases
   * @param secret the secret of the database, which all servers share. It places conversations at endpoints.
   */
  constructor(clock: () => number, answersMax = ANSWERS_MAX, secret: Uint8Array = new Uint8Array(32)) {
    this.#clock = clock;
    this.#answers = new AnswerTable(answersMax);
    this.#secret = secret;
  }

  /** The number of remembered answers. */
  get size(): number {
    return this.#answers.size;
  }

  /**
   * Returns a secret that all turns of a conversation have, on every server. A request without a message of the user has the secret of its
   * key.
   * @param request as the caller sent it
   */
  conversationSecret(keyId: string, request: ModelRequest): Uint8Array {
    const { turns, hash } = beginningOf(request);
    return new Bun.CryptoHasher('sha256', this.#secret)
      .update(`placeholders\0${keyId}\0${turns === 0 ? '' : hash}`)
      .digest();
  }

  /** Returns the history of the prompt of a key's request. It is read when it is first needed. */
  history(keyId: string, request: ModelRequest): PromptHistory {
    return new PromptHistory(keyId, request, this.#answers, this.#clock, this.#seed, this.#secret);
  }
}

/** The first messages of a conversation, up to the first one of the user. */
interface Beginning {
  /** How many they are; 0 if the user sent none. */
  readonly turns: number;
  readonly hash: bigint;
  /** The places that the hash contains. */
  readonly whole: Set<OriginalPath>;
}

function beginningOf(request: ModelRequest): Beginning {
  const { turns } = request.conversation;
  const count = turns.findIndex(({ role }) => role === 'user') + 1;
  const whole = new Set<OriginalPath>();
  return { turns: count, hash: hashOn(turns.slice(0, count), request, 0n, whole), whole };
}

const hashOn = (turns: readonly Turn[], request: ModelRequest, seed: bigint, whole: Set<OriginalPath>): bigint =>
  turns.reduce((hash, turn) => hashOfTurn(turn, request, hash, whole), seed);

/** The earlier answers to a prompt and to its beginnings. The text of a prompt is hashed once, when the hash is first needed. */
export class PromptHistory {
  /** The ID of the caller's key. */
  readonly keyId: string;
  readonly #request: ModelRequest;
  readonly #answers: AnswerTable;
  readonly #clock: () => number;
  readonly #seed: bigint;
  /** See `hashesOf`. */
  #hashes: readonly bigint[] | null = null;
  #bearsState: boolean | null = null;
  #beginning: Beginning | null = null;
  #place: ConversationPlace | null = null;
  /** The mark of the whole prompt; undefined until it is read. */
  #question: string | null | undefined = undefined;
  /** The hashes of the earlier turns that were looked up and found; null for none. */
  #used: Set<bigint> | null = null;

  readonly #secret: Uint8Array;

  constructor(
    keyId: string,
    request: ModelRequest,
    answers: AnswerTable,
    clock: () => number,
    seed: bigint,
    secret: Uint8Array,
  ) {
    this.#secret = secret;
    this.keyId = keyId;
    this.#request = request;
    this.#answers = answers;
    this.#clock = clock;
    this.#seed = seed;
  }

  /** Whether any turn has state that only some models can read. */
  get bearsState(): boolean {
    this.#bearsState ??= bearsState(this.#request);
    return this.#bearsState;
  }

  /**
   * Adds to the facts the tokens that are probably in caches, for each model: the whole prompt if it is a repeat, else the longest
   * beginning that the model has already answered. The call changes no remembered answer.
   */
  recall(facts: Facts, snapshot: PolicySnapshot): Facts {
    if (this.#answers.size === 0 || isTooShort(facts, snapshot, estimateOf(snapshot))) return facts;
    const now = this.#clock();
    const cached = new Map<string, CachedTokens>();
    for (const hash of this.#latestHashes()) {
      for (const answer of this.#find(hash)) {
        const { by, expectedTokens: tokens } = answer;
        const { model } = by;
        const at = cached.has(model) ? -1 : cachedAt(answer, snapshot, now);
        if (at >= 0) cached.set(model, at === 0 ? { model, tokens } : { model, tokens, at });
      }
    }
    if (cached.size === 0) return facts;
    return { ...facts, cached: [...cached.values()].sort((a, b) => (a.model < b.model ? -1 : 1)) };
  }

  /**
   * Returns the number that places the conversation of the request among endpoints: an HMAC of the hash of its first messages, up to the
   * first one of the user. All turns of a conversation have the same number, on every server. Null if it is too short for any cache.
   */
  conversation(facts: Facts, snapshot: PolicySnapshot): SpreadKey | null {
    if (isTooShort(facts, snapshot, ESTIMATE_MIN)) return null;
    const { turns, hash } = this.#readBeginning();
    if (turns === 0) return null;
    const digest = new Bun.CryptoHasher('sha256', this.#secret).update(`conversation\0${this.keyId}\0${hash}`).digest();
    return { high: digest.readUInt32BE(0), low: digest.readUInt32BE(4) };
  }

  /**
   * Returns the request's place in its conversation. All turns have the same ID, on every server, also if the prompt is short. The callers
   * of a key may begin with the same words, so the names of user and session that they send are part of the ID.
   */
  place(): ConversationPlace {
    if (this.#place) return this.#place;
    const { conversation, settings, headers } = this.#request;
    const names = JSON.stringify([this.keyId, settings.user ?? null, headers.run.session]);
    const id = this.#markOf('conversation', names, this.#readBeginning().hash);
    // An assistant's turn at the end is the beginning of the answer, which the caller wrote.
    const { turns } = conversation;
    let answers = 0;
    for (let at = 0; at < turns.length - 1; at++) if (turns[at]!.role === 'assistant') answers++;
    this.#place = { id, answers };
    return this.#place;
  }

  /** Returns a keyed hash of the whole prompt, the same on every server; null if it does not end with a question of the user. */
  question(): string | null {
    if (this.#question === undefined) {
      const { turns } = this.#request.conversation;
      const { turns: count, hash, whole } = this.#readBeginning();
      const tools = Bun.hash.rapidhash(this.#request.toolsText, hash);
      const isAsked = turns.at(-1)?.role === 'user';
      this.#question = isAsked
        ? this.#markOf('question', this.place().id, hashOn(turns.slice(count), this.#request, tools, whole))
        : null;
    }
    return this.#question;
  }

  #readBeginning(): Beginning {
    this.#beginning ??= beginningOf(this.#request);
    return this.#beginning;
  }

  #markOf(kind: string, names: string, hash: bigint): string {
    const digest = new Bun.CryptoHasher('sha256', this.#secret)
      .update(`mark of a ${kind}\0${names}\0${hash}`)
      .digest('base64url');
    return digest.slice(0, MARK_LENGTH);
  }

  /**
   * Returns the family of the model that wrote the assistant's turn at this index; null if it is unknown or several families may have
   * written it.
   */
  writerOf(index: number): string | null {
    return onlyOne(this.#writersOf(index).map(({ by }) => by.family));
  }

  /**
   * Returns the account at which the assistant's turn at this index was written; null if it is unknown, or has no meaning (see
   * `stateAccount`).
   */
  accountOf(index: number): string | null {
    return onlyOne(this.#writersOf(index).map(({ by }) => by.account));
  }

  /**
   * Returns the account at which the conversation continues with this model: the account that wrote the last state of the conversation, or
   * that probably has its prompt in the cache. Returns null if there is no such account.
   */
  accountFor(model: string, snapshot: PolicySnapshot): string | null {
    if (this.#answers.size === 0) return null;
    const writer = this.stateWriter();
    if (writer !== null) return writer;
    const now = this.#clock();
    for (const hash of this.#latestHashes()) {
      for (const answer of this.#find(hash)) {
        const { by } = answer;
        if (by.model === model && by.account !== null && cachedAt(answer, snapshot, now) >= 0) return by.account;
      }
    }
    return null;
  }

  /** Returns the account that wrote the last state of the conversation; null if it has no state, or the account is unknown. */
  stateWriter(): string | null {
    if (this.#answers.size === 0 || !this.bearsState) return null;
    for (const index of this.#latestTurns()) {
      const account = bearsStateAt(this.#request, index) ? this.accountOf(index) : null;
      if (account !== null) return account;
    }
    return null;
  }

  /** The indexes of the assistant's last turns, the last one first. */
  #latestTurns(): readonly number[] {
    const { turns } = this.#request.conversation;
    const latest: number[] = [];
    for (let index = turns.length - 1; index >= 0 && latest.length < TURNS_MAX; index--)
      if (turns[index]!.role === 'assistant') latest.push(index);
    return latest;
  }

  /** The hashes of the whole prompt, and of the text before each of the assistant's last turns, the longest first. */
  #latestHashes(): readonly bigint[] {
    const hashes = this.#read();
    return [hashes.at(-1)!, ...this.#latestTurns().map((index) => hashes[index]!)];
  }

  /** Several models may have answered the prompt before a turn. The mark of an answer shows which model wrote the turn. */
  #writersOf(index: number): readonly PromptAnswer[] {
    const turn = this.#request.conversation.turns[index];
    if (turn?.role !== 'assistant') return [];
    const mark = markOfTurn(turn);
    return this.#find(this.#read()[index]!).filter((one) => one.mark === mark);
  }

  /**
   * Whether a complete answer to a prompt of this length may be kept, or the request has read other answers; see `noteAnswer`.
   * @param inputTokens at least as many as the provider's cache has
   */
  keeps(model: Model, { cache }: Pick<Provider, 'cache'>, inputTokens: number): boolean {
    return mayReason(model) || isCacheable(cache, inputTokens) || this.#used !== null || this.bearsState;
  }

  /**
   * Notes a complete answer. If the prompt is too short for a cache, the answer is kept only if its reasoning may come back in a later
   * request.
   * @param read the prompt as the endpoint read it
   * @param answer its mark is read only if the answer is kept
   */
  noteAnswer(
    { model, endpoint, account = null }: AnsweringEndpoint,
    read: Pick<PromptAnswer, 'inputTokens' | 'expectedTokens' | 'at'>,
    answer: Pick<PromptAnswer, 'mark'>,
    { providers }: PolicySnapshot,
  ): void {
    if (this.#used) for (const hash of this.#used) this.#answers.touch(hash, this.keyId);
    const isCached = isCacheable(providers.get(endpoint.provider)?.cache, read.inputTokens);
    if (!isCached && !mayReason(model) && !this.bearsState) return;
    const { inputTokens, expectedTokens, at } = read;
    const by = answererOf(model, endpoint, account);
    this.#answers.add(this.#read().at(-1)!, this.keyId, { by, inputTokens, expectedTokens, at, mark: answer.mark });
  }

  /** The key's ID is part of the lookup, so that no caller finds another caller's answers, even with equal hashes. */
  #find(hash: bigint): readonly PromptAnswer[] {
    const found = this.#answers.of(hash, this.keyId);
    if (found.length > 0) {
      this.#used ??= new Set();
      this.#used.add(hash);
    }
    return found;
  }

  #read(): readonly bigint[] {
    this.#hashes ??= hashesOf(this.#request, this.#seed);
    return this.#hashes;
  }
}

/** The endpoint that gave an answer. */
interface AnsweringEndpoint {
  readonly model: Model;
  readonly endpoint: Endpoint;
  /** The account of its key, see `stateAccount`. */
  readonly account?: string | null;
}

/** Whether a prompt is long enough for the cache of a provider. */
const isCacheable = (cache: Provider['cache'] | undefined, inputTokens: number): boolean =>
  cache !== undefined && cache.ttlMs > 0 && inputTokens >= cache.tokensMin;

const mayReason = ({ capabilities }: Model): boolean => (capabilities & CAPABILITIES.reasoning.bit) !== 0;

/** Returns the only value of a list; null for none or for different ones. */
function onlyOne(values: readonly (string | null)[]): string | null {
  const [value = null, ...others] = new Set(values);
  return others.length === 0 ? value : null;
}

/** The characters of a mark: 96 bits, so that no two conversations have the same. */
const MARK_LENGTH = 16;

/** The hashes of lists of turns, by the hash of what is before them. */
const knownLists = new ListValues<Turn, bigint>();

/**
 * Returns the hash of the text before each turn, and at the end the hash of the whole prompt. Each hash is the seed of the next. No two
 * different prompts produce the same sequence of texts.
 */
function hashesOf(request: ModelRequest, seed: bigint): readonly bigint[] {
  const { turns: all } = request.conversation;
  const { answerFormat: format } = request.settings;
  // The format `text` adds nothing to the prompt before the turns.
  const form = format && format.type !== 'text' ? request.originalAt(format.at) : null;
  const before = Bun.hash.rapidhash(form ? JSON.stringify(form) : '', Bun.hash.rapidhash(request.toolsText, seed));
  // Only turns of the same message have the same place, and they are kept or hashed together.
  const whole = new Set<OriginalPath>();
  const hashes = knownLists.of(all, before, (turn, _, values) =>
    values.push(hashOfTurn(turn, request, values.at(-1) ?? before, whole)),
  );
  return [before, ...hashes];
}

/** An estimate of a prompt may have as few of its tokens as this share. */
const ESTIMATE_MIN = 0.75;

/** The share of its tokens that an estimate has at least. Without a spread model, estimates count as exact, as in earlier versions. */
const estimateOf = ({ models }: PolicySnapshot): number =>
  models.some(({ spread }) => spread !== undefined) ? ESTIMATE_MIN : 1;

/** Whether a prompt is so short that no provider caches it. */
const isTooShort = (
  { inputTokens, images, audioBytes }: Facts,
  { cachedTokensMin }: PolicySnapshot,
  estimate: number,
): boolean => inputTokens < cachedTokensMin * estimate && images === 0 && audioBytes === 0;

/**
 * Returns the index of the endpoint that gave the answer, if it probably still has the prompt in its cache; else -1. With several keys of one
 * provider, it is the endpoint with the first key. If the endpoints of the model are tried in their order, only the first one counts.
 */
function cachedAt(
  { by, at, inputTokens }: PromptAnswer,
  { models, modelIndex, providers }: PolicySnapshot,
  now: number,
): number {
  const model = models[modelIndex.get(by.model) ?? -1];
  if (!model) return -1;
  const most = model.spread === undefined ? 1 : model.endpoints.length;
  for (let index = 0; index < most; index++) {
    const endpoint = model.endpoints[index]!;
    if (endpoint.provider !== by.provider || endpoint.upstream !== by.upstream) continue;
    const { ttlMs, tokensMin } = providers.get(endpoint.provider)!.cache;
    return now - at < ttlMs && inputTokens >= tokensMin ? index : -1;
  }
  return -1;
}
