import type { Log } from '../telemetry/log.ts';
import type { FirstKey } from './first-key.ts';
import type { Terminal } from './host.ts';
import { type Start, welcome } from './welcome.ts';

/** Says that the server listens. On a terminal it shows the first key, once; elsewhere the key would end in a log. */
export function announce(start: Start, firstKey: FirstKey | null, log: Log, out: Terminal): void {
  if (out.isTerminal) {
    out.write(welcome(start, firstKey?.key ?? null));
    firstKey?.shown();
    return;
  }
  if (start.leftOut.length > 0) log.info('providers left out', { providers: start.leftOut.join(', ') });
  log.info('listening', { address: start.address, providers: start.providers });
}
