import { readFileSync, realpathSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { setCommandName } from '../core/command-name.ts';
import { PACKAGE_NAME, PROGRAM_FORM } from '../host/program.ts';

/**
 * Finds the name with which the user started this program. `main.ts` imports this file first, because other modules use the name in texts
 * that they create while they load. The launcher passes its path in SIGNALBOX_COMMAND. A binary knows its own path.
 */
const NAME = 'signalbox';

const started = PROGRAM_FORM === 'binary' ? process.execPath : process.env.SIGNALBOX_COMMAND;
if (started) setCommandName(wordFor(started));

function wordFor(file: string): string {
  const [, project, hash] = PROGRAM_FORM === 'package' ? inPackages(resolve(file)) : [];
  if (project !== undefined && hash !== undefined) return `npx --yes ${quoted(askedOf(project) ?? PACKAGE_NAME)}`;
  const below = relative(process.cwd(), file);
  // Outside the project, `npx signalbox` could install a package of a stranger. A path cannot.
  if (project !== undefined) return quoted(below.startsWith('..') ? resolve(file) : below);
  const found = Bun.which(NAME);
  if (found && isSame(found, file)) return NAME;
  if (PROGRAM_FORM !== 'binary') return quoted(file.includes('/') ? file : `./${file}`);
  return quoted(below.startsWith('..') ? file : `./${below}`);
}

/** Finds the project whose packages include the program, and the folder of npx; nothing if npm installed the program globally. */
function inPackages(file: string): readonly (string | undefined)[] {
  return /^(.*?(?:\/_npx\/([^/]+))?)\/node_modules\/\.bin\/[^/]+$/.exec(file) ?? [];
}

/** Reads what the user asked npx for: a name, a version or a file. npx notes it in the folder of the installation. */
function askedOf(project: string): string | null {
  try {
    const noted: { readonly _npx?: { readonly packages?: unknown } } | null = JSON.parse(
      readFileSync(`${project}/package.json`, 'utf8'),
    );
    const asked = noted?._npx?.packages;
    return Array.isArray(asked) && typeof asked[0] === 'string' ? asked[0] : null;
  } catch {
    return null;
  }
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
  return /^[\w./@~-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
