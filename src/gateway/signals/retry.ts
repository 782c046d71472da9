import type { ModelRequest } from '../../core/model-request.ts';
import type { Example } from '../../learning/learner.ts';
import { hashOfTurn } from '../message-hash.ts';

/** How soon after an answer the same question speaks against it, ms. */
const AT_ONCE_MS = 30_000;
/** How long the same question does not count again, ms: a program that asks it all day means nothing by it. */
const AGAIN_MS = 3_600_000;
/** Answers, and questions that have counted, that are remembered at most. */
const REMEMBERED_MAX = 10_000;

/**
 * Which answers were followed at once by the same request of the same key: whoever asks so was not content. Holds
 * hashes and what was kept of the decision, no text. Local to the process, bounded: the oldest go first.
 */
export class Retries {
  readonly #clock: () => number;
  readonly #answers: Recent<Example>;
  readonly #blamed: Recent<true>;
  readonly #hashes = new WeakMap<ModelRequest, bigint>();
  /** Nobody outside can look for two requests with one hash. */
  readonly #seed = crypto.getRandomValues(new BigUint64Array(1))[0]!;

  /** `clock`: ms, never goes back. */
  constructor(clock: () => number, most = REMEMBERED_MAX) {
    this.#clock = clock;
    this.#answers = new Recent(AT_ONCE_MS, most);
    this.#blamed = new Recent(AGAIN_MS, most);
  }

  /** A request begins: gives what is known of the answer that it speaks against; null for none. */
  begun(keyId: string, request: ModelRequest): Example | null {
    const now = this.#clock();
    const name = this.#nameOf(keyId, request);
    const earlier = this.#answers.get(name, now);
    if (!earlier || this.#blamed.get(name, now)) return null;
    this.#blamed.set(name, true, now);
    return earlier;
  }

  /** The answer to a request is whole. */
  ended(keyId: string, request: ModelRequest, example: Example): void {
    this.#answers.set(this.#nameOf(keyId, request), example, this.#clock());
  }

  /** By the key as it is: whatever hashes do, nobody speaks against what another was answered. */
  #nameOf(keyId: string, request: ModelRequest): string {
    let hash = this.#hashes.get(request);
    if (hash === undefined) {
      hash = hashOf(request, this.#seed);
      this.#hashes.set(request, hash);
    }
    return `${hash} ${keyId}`;
  }
}

/** Of all that a request says, but for the way in which its answer is sent. */
function hashOf(request: ModelRequest, seed: bigint): bigint {
  const { model, conversation, settings, routing, extras } = request;
  const { turns, tools, toolChoice } = conversation;
  const offered = tools.map(({ at }) => request.originalAt(at));
  const rest = JSON.stringify([model, settings, routing, extras, offered, toolChoice]);
  return turns.reduce((hash, turn) => hashOfTurn(turn, request, hash), Bun.hash.rapidhash(rest, seed));
}

/** What was put in within a time, and at most so many. */
class Recent<T> {
  readonly #forMs: number;
  readonly #most: number;
  /** In the order of time. */
  readonly #entries = new Map<string, { readonly value: T; readonly at: number }>();
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(forMs: number, most: number) {
    this.#forMs = forMs;
    this.#most = most;
  }

  get(name: string, now: number): T | null {
    const entry = this.#entries.get(name);
    return entry && now - entry.at <= this.#forMs ? entry.value : null;
  }

  set(name: string, value: T, now: number): void {
    this.#entries.delete(name);
    this.#entries.set(name, { value, at: now });
    // In lots: each look at the oldest goes past all that were deleted before it.
    if (this.#entries.size > this.#most || now - this.#sweptAt >= this.#forMs / 8) this.#sweep(now);
  }

  #sweep(now: number): void {
    this.#sweptAt = now;
    let surplus = this.#entries.size > this.#most ? this.#entries.size - Math.floor(this.#most * 0.875) : 0;
    for (const [name, { at }] of this.#entries) {
      if (--surplus < 0 && now - at <= this.#forMs) return;
      this.#entries.delete(name);
    }
  }
}
