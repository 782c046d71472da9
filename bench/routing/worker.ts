import type { PoolReport } from './report.ts';
import { type PoolTask, runPool } from './run-pool.ts';

/** A message of a worker: progress, its report, or its failure. */
export type WorkerMessage =
  | { readonly progress: string }
  | { readonly report: PoolReport }
  | { readonly failed: string };

declare const self: Worker;

self.onmessage = ({ data }: MessageEvent<PoolTask>) => {
  const say = (said: WorkerMessage) => self.postMessage(said);
  try {
    say({ report: runPool(data, (progress) => say({ progress })) });
  } catch (error) {
    say({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
};
