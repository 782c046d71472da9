import { join } from 'node:path';

/** Builds the console if its sources have changed since the last build, as `deploy/install.sh` does before `npm test`. */
export function buildConsoleHere(): void {
  const { exitCode, stderr } = Bun.spawnSync([join(import.meta.dir, '../../deploy/console.sh')]);
  if (exitCode !== 0) throw new Error(`the console cannot be built: ${stderr.toString()}`);
}
