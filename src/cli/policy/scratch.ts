import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UsageError } from '../options.ts';

/** Folders for a while. */
export interface Scratch {
  /** Makes a folder that nobody else can look into. Its path has no links. */
  make(): string;
  /** Does something with them, and removes them in the end, also where Ctrl-C or SIGTERM ends it: then it throws UsageError. */
  use<T>(work: Promise<T>): Promise<T>;
}

/** `ended` is asked only once there is something to remove: from then on, signals do not end the process by themselves. */
export function createScratch(ended: () => AbortSignal): Scratch {
  const made: string[] = [];
  const interrupted = Promise.withResolvers<never>();
  const clear = () => {
    for (const folder of made) rmSync(folder, { recursive: true, force: true });
  };
  return {
    make() {
      if (made.length === 0) {
        // A plugin that is run from there may end the process.
        process.once('exit', clear);
        const giveUp = () => interrupted.reject(new UsageError('It was ended before it was done.'));
        ended().addEventListener('abort', giveUp);
      }
      const folder = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-past-')));
      made.push(folder);
      return folder;
    },
    async use(work) {
      try {
        return await Promise.race([work, interrupted.promise]);
      } finally {
        clear();
        process.off('exit', clear);
      }
    },
  };
}
