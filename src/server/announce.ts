import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Keys } from '../access/keys.ts';
import { UsageError } from '../cli/options.ts';
import { SCOPES } from '../core/caller.ts';
import type { Log } from '../telemetry/log.ts';
import type { Terminal } from './host.ts';
import { type Start, welcome } from './welcome.ts';

/**
 * Makes the first key where there is none: last of all, for a start that fails must not leave a key that nobody saw.
 * On a terminal it is shown once; elsewhere it would end in a log, so it goes to a file of the owner's.
 */
export async function announce(start: Start, keys: Keys, data: string, log: Log, out: Terminal): Promise<void> {
  const first = (await keys.list()).length === 0;
  const create = async () => (await keys.create({ name: 'admin', scopes: SCOPES })).key;
  if (out.isTerminal) {
    out.write(welcome(start, first ? await create() : null));
    return;
  }
  if (first) {
    const file = join(data, 'admin.key');
    if (existsSync(file))
      throw new UsageError(`${file} exists, but the database knows no key; move it away and start again.`);
    writeFileSync(file, '', { mode: 0o600 });
    writeFileSync(file, `${await create()}\n`);
    log.info('the first API key was written', { file });
  }
  if (start.leftOut.length > 0) log.info('providers left out', { providers: start.leftOut.join(', ') });
  log.info('listening', { address: start.address, providers: start.providers });
}
