import { join } from 'node:path';

/** A client on a thread of its own that asks for one thing again and again, and notices when a server stands still. */
export interface Bystander {
  /** The longest wait for an answer since the last call, in ms, the request that is under way included. */
  worstMs(): Promise<number>;
  stop(): void;
}

/** Starts it; `url` is asked by GET, and each answer that is not a success counts as the longest wait of all. */
export function startBystander(url: string): Bystander {
  const worker = new Worker(join(import.meta.dir, 'bystander.fixture.ts'), { argv: [url] });
  return {
    worstMs: () =>
      new Promise((resolve) => {
        worker.onmessage = ({ data }: MessageEvent<number>) => resolve(data);
        worker.postMessage('');
      }),
    stop: () => worker.terminate(),
  };
}
