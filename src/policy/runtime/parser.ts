import { workerAddress } from '../../host/program.ts';
import type { PolicyFile } from '../load.ts';
import type { ParsedFiles } from './parse-files.ts';
import type { ParseRequest } from './parse-worker.ts';

/** The longest time to parse a policy, ms. */
const PARSE_MS = 10_000;
/** After this time without work, the worker ends and frees its memory, ms. */
const IDLE_MS = 10_000;

type WorkerReply = { readonly parsed: ParsedFiles } | { readonly error: string };

/**
 * Makes a parser with one worker, which starts on demand. A parser parses one policy at a time, for at most `parseMs`. State: policy
 * folder.
 */
export function createParser(parseMs = PARSE_MS) {
  let worker: Worker | null = null;
  let idle: ReturnType<typeof setTimeout> | undefined;

  function end(): void {
    clearTimeout(idle);
    worker?.terminate();
    worker = null;
  }

  function started(): Worker {
    clearTimeout(idle);
    worker ??= new Worker(workerAddress('./parse-worker.ts', import.meta.url));
    return worker;
  }

  function endWhenIdle(): void {
    clearTimeout(idle);
    idle = setTimeout(end, IDLE_MS);
  }

  return {
    /** Starts the worker, so that the next parse need not wait for the start. */
    warm(): void {
      if (worker !== null) return;
      started();
      endWhenIdle();
    },
    /**
     * Parses a policy in a worker. `parse` throws if the worker fails or takes too long. The policy's own errors are in the result of
     * `parse`.
     */
    async parse(files: readonly PolicyFile[], before: string | null): Promise<ParsedFiles> {
      try {
        const answer = await ask(started(), { files, before }, parseMs);
        if ('error' in answer) throw new Error(answer.error);
        endWhenIdle();
        return answer.parsed;
      } catch (cause) {
        end();
        throw cause;
      }
    },
    close: end,
  };
}

function ask(worker: Worker, request: ParseRequest, parseMs: number): Promise<WorkerReply> {
  const { promise, resolve, reject } = Promise.withResolvers<WorkerReply>();
  const late = () => reject(new Error(`The policy could not be parsed within ${parseMs / 1000} s.`));
  const timer = setTimeout(late, parseMs);
  worker.onmessage = ({ data }: MessageEvent<WorkerReply>) => resolve(data);
  worker.onerror = ({ message }) => reject(new Error(`The policy could not be parsed: ${message}`));
  worker.postMessage(request);
  return promise.finally(() => clearTimeout(timer));
}
