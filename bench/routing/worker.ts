import type { PoolReport } from './report.ts';
import { type PoolTask, runPool } from './run-pool.ts';

/** What a worker says: how far it is, what it found, or why it could not. */
export type Said = { readonly progress: string } | { readonly report: PoolReport } | { readonly failed: string };

declare const self: Worker;

self.onmessage = async ({ data }: MessageEvent<PoolTask>) => {
  const say = (said: Said) => self.postMessage(said);
  try {
    say({ report: await runPool(data, (progress) => say({ progress })) });
  } catch (error) {
    say({ failed: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  }
};
