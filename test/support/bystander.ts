import { join } from 'node:path';

/** A client on a separate thread that sends the same request again and again, to notice when a server stops responding. */
export interface Bystander {
  /** Returns the longest wait for an answer since the previous call, in ms. The request in progress counts. */
  worstMs(): Promise<number>;
  stop(): void;
}

/** Starts a client that sends `GET url`. An answer without success counts as an infinite wait. */
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
