import { resolve } from 'node:path';
import { workerAddress } from '../../host/program.ts';
import type { StoreExamination } from '../driver.ts';
import { StoreError } from '../store.ts';

/** The order to the worker. */
export interface ExaminationOrder {
  readonly path: string;
  readonly withinMs: number;
}

/** The answer of the worker: the result, or why the database cannot be read, in one sentence. */
export type ExaminationReply = StoreExamination | { readonly error: string };

/** Examines a database in a worker of its own, because SQLite reads a large table without a pause. Rejects with StoreError. */
export async function examineFile(path: string, withinMs: number): Promise<StoreExamination> {
  const { promise, resolve: finish, reject } = Promise.withResolvers<ExaminationReply>();
  const worker = new Worker(workerAddress('./examine-worker.ts', import.meta.url));
  worker.unref();
  worker.onmessage = ({ data }: MessageEvent<ExaminationReply>) => finish(data);
  worker.onerror = ({ message }) => reject(new StoreError(`Cannot read the database ${resolve(path)}: ${message}.`));
  worker.postMessage({ path, withinMs } satisfies ExaminationOrder);
  try {
    const reply = await promise;
    if ('error' in reply) throw new StoreError(reply.error);
    return reply;
  } finally {
    worker.terminate();
  }
}
