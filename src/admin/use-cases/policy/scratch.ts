import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Temporary folders. `using` removes them. If this process ends earlier, another process removes them. */
export type Scratch = ReturnType<typeof createScratch>;

export function createScratch() {
  let base: string | null = null;
  let count = 0;
  let dismiss = () => {};
  return {
    /** Creates a private folder. The path of the folder contains no links. */
    make(): string {
      if (base === null) {
        base = realpathSync(mkdtempSync(join(tmpdir(), 'signalbox-past-')));
        dismiss = removeAfter(base);
      }
      const folder = join(base, `${count++}`);
      mkdirSync(folder);
      return folder;
    },
    [Symbol.dispose](): void {
      if (base !== null) rmSync(base, { recursive: true, force: true });
      dismiss();
    },
  };
}

/**
 * Starts a process that removes a folder when this process has ended. A plugin that runs from the folder may end this process or loop, so
 * that none of its signal handlers runs. The other process is detached, so that Ctrl-C does not reach it.
 */
function removeAfter(folder: string): () => void {
  const wait = 'trap "" HUP INT TERM; read -r _; rm -rf -- "$1"';
  const watcher = spawn('/bin/sh', ['-c', wait, 'sh', folder], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  // Without a shell, the folder is removed only if the work ends normally.
  watcher.on('error', () => {});
  watcher.stdin.on('error', () => {});
  watcher.unref();
  return () => watcher.stdin.end();
}
