import type { ModelRequest } from '../../core/model-request.ts';
import type { Example } from '../../learning/answer.ts';
import type { PromptHistory } from '../../prompt/affinity.ts';

/** Time after an answer in which the same request counts as a retry, ms. */
const AT_ONCE_MS = 30_000;
/** Time in which a repeated retry does not count again, ms: a program may send one request all day. */
const AGAIN_MS = 3_600_000;
/** Remembered answers, and remembered retries. */
const REMEMBERED_MAX = 10_000;

/**
 * Finds answers that were followed at once by the same request of the same key: its caller was not content. Holds hashes
 * and examples, no text. Local to the process and bounded: the oldest go first.
 */
export class Retries {
  readonly #clock: () => number;
  readonly #answers: Recent<Example>;
  readonly #blamed: Recent<true>;

  /** @param clock ms, never goes back */
  constructor(clock: () => number, most = REMEMBERED_MAX) {
    this.#clock = clock;
    this.#answers = new Recent(AT_ONCE_MS, most);
    this.#blamed = new Recent(AGAIN_MS, most);
  }

  /** Notes the begin of a request, by its `retryName`. Returns the example of the answer that it retries; null for none. */
  begun(name: string): Example | null {
    const now = this.#clock();
    const earlier = this.#answers.get(name, now);
    if (!earlier || this.#blamed.get(name, now)) return null;
    this.#blamed.set(name, true, now);
    return earlier;
  }

  /** Notes the complete answer to a request, by its `retryName`. */
  ended(name: string, example: Example): void {
    this.#answers.set(name, example, this.#clock());
  }
}

/**
 * The name of a request without the form in which its answer is sent: its retry has the same. The key's ID is a part: even with
 * equal hashes no caller retries another's answer.
 */
export function retryName(
  { model, conversation, settings, routing, extras }: ModelRequest,
  prompt: PromptHistory,
): string {
  const rest = JSON.stringify([model, settings, routing, extras, conversation.toolChoice]);
  return `${Bun.hash.rapidhash(rest, prompt.hash)} ${prompt.keyId}`;
}

/** Entries of the last while, bounded in number. */
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
    // In batches: each search for the oldest passes all deleted entries.
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
