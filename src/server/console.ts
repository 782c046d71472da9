import { type BuiltConsole, readBuiltConsole } from '../http/console/built.ts';
import type { Log } from '../telemetry/log.ts';

/** The files of the console, read when a page is asked for, so that they may be built later. The log says where they are missing at the start. */
export function openConsole(log: Pick<Log, 'warn'>): () => BuiltConsole | null {
  if (!readBuiltConsole()) log.warn('the console is not built, so /console is not served', { run: 'npm run console' });
  return () => readBuiltConsole();
}
