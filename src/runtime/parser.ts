import type { PolicyFile } from '../policy/load.ts';
import type { ParsedFiles } from './parse-files.ts';
import type { ParseRequest } from './parse-worker.ts';

/** Limit of the time to parse a policy, ms. */
const PARSE_MS = 10_000;
/** An unused worker ends after this time and frees its memory, ms. */
const IDLE_MS = 10_000;

export interface PolicyParser {
  /** Starts the worker, so that the next parse need not wait for it. */
  warm(): void;
  /** Parses in a worker. Throws if the worker fails or takes too long. The policy's own errors are in the result. */
  parse(files: readonly PolicyFile[], before: string | null): Promise<ParsedFiles>;
  close(): void;
}

type WorkerReply = { readonly parsed: ParsedFiles } | { readonly error: string };

/** A parser with one worker, started on demand. It parses one policy at a time. */
export function createParser(): PolicyParser {
  let worker: Worker | null = null;
  let idle: ReturnType<typeof setTimeout> | undefined;

  function end(): void {
    clearTimeout(idle);
    worker?.terminate();
    worker = null;
  }

  function started(): Worker {
    clearTimeout(idle);
    worker ??= new Worker(new URL('./parse-worker.ts', import.meta.url).href);
    return worker;
  }

  function endWhenIdle(): void {
    clearTimeout(idle);
    idle = setTimeout(end, IDLE_MS);
  }

  return {
    warm() {
      if (worker !== null) return;
      started();
      endWhenIdle();
    },
    async parse(files, before) {
      try {
        const answer = await ask(started(), { files, before });
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

function ask(worker: Worker, request: ParseRequest): Promise<WorkerReply> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(
      () => reject(new Error(`The policy could not be parsed within ${PARSE_MS / 1000} s.`)),
      PARSE_MS,
    );
    worker.onmessage = ({ data }: MessageEvent<WorkerReply>) => {
      clearTimeout(timer);
      resolve(data);
    };
    worker.onerror = ({ message }) => {
      clearTimeout(timer);
      reject(new Error(`The policy could not be parsed: ${message}`));
    };
    worker.postMessage(request);
  });
}
