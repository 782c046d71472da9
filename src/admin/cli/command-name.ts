import { realpathSync } from 'node:fs';
import { relative } from 'node:path';
import { setCommandName } from '../../core/command-name.ts';

/**
 * Finds the name with which the user started this program. `main.ts` imports this file first, because other modules use the name in texts
 * that they create while they load. The launcher passes its path in SIGNALBOX_COMMAND. A standalone program knows its own path.
 */
const NAME = 'signalbox';

const started = Bun.isStandaloneExecutable ? process.execPath : process.env.SIGNALBOX_COMMAND;
if (started) setCommandName(wordFor(started));

function wordFor(file: string): string {
  const found = Bun.which(NAME);
  if (found && isSame(found, file)) return NAME;
  if (!Bun.isStandaloneExecutable) return quoted(file.includes('/') ? file : `./${file}`);
  const below = relative(process.cwd(), file);
  return quoted(below.startsWith('..') ? file : `./${below}`);
}

function isSame(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}

/** Quotes a path for a shell. */
function quoted(path: string): string {
  return /^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
