import { realpathSync } from 'node:fs';
import { relative } from 'node:path';
import { setCommandName } from '../../core/command-name.ts';

/**
 * Finds the word that the user typed to run this command. `main.ts` imports this file first, so that texts made while modules
 * load have it, too. The launcher passes its path in SIGNALBOX_COMMAND; a standalone program knows its own.
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

/** As a shell reads it back. */
function quoted(path: string): string {
  return /^[\w./~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
