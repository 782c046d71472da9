import type { Tokenizer } from '../../core/request/tokenizer.ts';
import { workerAddress } from '../../host/program.ts';
import type { CountAnswer, CountRequest } from './count-worker.ts';

/** The maximum time of a count that a request waits for, including the time to load the vocabulary, in ms. */
const DEADLINE_MS = 1_000;
/** The maximum time of a count that no request waits for, in ms. */
export const PATIENT_COUNT_MS = 30_000;
/** The maximum number of characters of a count, all texts together, so that one count does not delay other counts. */
const CHARACTERS_MAX = 1_000_000;
/** After this idle time, in ms, the worker is ended to free its memory. */
const IDLE_MS = 60_000;

export interface TokenCounter {
  /**
   * Returns the maximum number of tokens that these texts can take wherever they are used; null if the deadline passes. `count` never
   * rejects.
   */
  count(name: Tokenizer, texts: readonly string[]): Promise<number | null>;
}

/**
 * Creates a counter with one worker, which starts when it is needed. Neither the counter nor its worker keeps the process alive. State:
 * token counter.
 * @param deadlineMs the maximum time of a count
 */
export function createTokenCounter(onError: (message: string) => void, deadlineMs = DEADLINE_MS): TokenCounter {
  let worker: Worker | null = null;
  let idle: ReturnType<typeof setTimeout> | undefined;
  let lastId = 0;
  const waiting = new Map<number, (tokens: number | null) => void>();

  function ensureWorker(): Worker {
    clearTimeout(idle);
    idle = setTimeout(end, IDLE_MS);
    idle.unref();
    if (worker !== null) return worker;
    const begun = new Worker(workerAddress('./count-worker.ts', import.meta.url));
    worker = begun;
    begun.unref();
    begun.onmessage = ({ data: { id, tokens, error } }: MessageEvent<CountAnswer>) => {
      if (error !== undefined) onError(error);
      waiting.get(id)?.(tokens);
    };
    /** The next count starts another worker. */
    const onGone = (why: string) => {
      if (worker !== begun) return;
      onError(why);
      end();
    };
    begun.onerror = ({ message }) => onGone(message);
    begun.addEventListener('close', () => onGone('the worker that counts has ended'));
    return begun;
  }

  function end(): void {
    clearTimeout(idle);
    worker?.terminate();
    worker = null;
    for (const answer of waiting.values()) answer(null);
  }

  return {
    count(name, texts) {
      if (texts.reduce((sum, { length }) => sum + length, 0) > CHARACTERS_MAX) return Promise.resolve(null);
      return new Promise((resolve) => {
        const id = ++lastId;
        const timer = setTimeout(() => waiting.get(id)?.(null), deadlineMs);
        waiting.set(id, (tokens) => {
          clearTimeout(timer);
          waiting.delete(id);
          resolve(tokens);
        });
        const request: CountRequest = { id, name, texts, until: Date.now() + deadlineMs };
        try {
          ensureWorker().postMessage(request);
        } catch (cause) {
          onError(String(cause));
          waiting.get(id)?.(null);
        }
      });
    },
  };
}
