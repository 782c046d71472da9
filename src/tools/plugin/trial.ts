import type { Plugin } from '../../contract/kinds.ts';
import { workerAddress } from '../../host/program.ts';
import type { LawReport } from '../conformance/law.ts';
import type { Sample } from '../conformance/samples.ts';

/** The plugin to test, with its cases. */
export interface Trial {
  /** A path or a package name, resolved from the folder. */
  readonly specifier: string;
  readonly folder: string;
  readonly seed: number;
  readonly runs: number;
  /** Recorded answers, by name of their provider. Answers under `''` are for any provider. */
  readonly samples: Readonly<Record<string, readonly Sample[]>>;
}

export interface PluginReport extends Pick<Plugin, 'kind' | 'name' | 'status'> {
  readonly laws: readonly LawReport[];
}

/** The messages of the worker, in order. */
export type TrialMessage =
  | { readonly tells: 'plugin'; readonly plugin: Omit<PluginReport, 'laws'> }
  | { readonly tells: 'trying'; readonly law: string }
  | { readonly tells: 'law'; readonly report: LawReport }
  | { readonly tells: 'refused'; readonly why: string }
  | { readonly tells: 'done' };

/**
 * Loads and tests the plugin of a trial in a new worker. If a law takes longer than `lawMs`, for example because of an endless loop, the
 * worker is ended and the report says so for that law.
 *
 * @throws Error of one sentence if nothing can be loaded
 */
export async function tried(trial: Trial, lawMs: number): Promise<PluginReport[]> {
  const worker = new Worker(workerAddress('./trial-worker.ts', import.meta.url));
  const reports: (PluginReport & { readonly laws: LawReport[] })[] = [];
  let trying = 'loading';
  const over = Promise.withResolvers<void>();
  const giveUp = (says: string, fault: string) => {
    const laws = reports.at(-1)?.laws;
    if (!laws) return over.reject(new Error(fault));
    laws.push({ law: trying, says, outcome: 'broken', fault, example: null });
    over.resolve();
  };
  const late = () => giveUp('the plugin ends', `the plugin did not end within ${lawMs / 1_000} s`);
  const gone = () => giveUp('the plugin does not end the process', 'the plugin ended the process');
  let timer = setTimeout(late, lawMs);
  worker.onmessage = ({ data }: MessageEvent<TrialMessage>) => {
    clearTimeout(timer);
    if (data.tells === 'done') return over.resolve();
    if (data.tells === 'refused') return over.reject(new Error(data.why));
    timer = setTimeout(late, lawMs);
    if (data.tells === 'plugin') reports.push({ ...data.plugin, laws: [] });
    else if (data.tells === 'trying') trying = data.law;
    else reports.at(-1)?.laws.push(data.report);
  };
  worker.onerror = ({ message }) => over.reject(new Error(message));
  worker.addEventListener('close', gone);
  worker.postMessage(trial);
  try {
    await over.promise;
  } finally {
    clearTimeout(timer);
    worker.removeEventListener('close', gone);
    worker.terminate();
  }
  return reports;
}
