import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, dirname } from 'node:path';
import { importsOf } from '../../host/plugins/load.ts';
import type { LawReport } from '../conformance/law.ts';

/** More files than any plugin with its packages has. */
const FILES_MAX = 2_000;

/** Ways to the runtime without an import. */
const WAYS =
  /\bprocess(?:\??\.|\[")(?:getBuiltinModule|binding|dlopen)\b|\b(?:Bun|Deno)(?:\??\.|\[")[A-Za-z]\w*|\bimport\.meta\.require\b/g;

const TEXT = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g;

/** Empties texts with a space in them: they are for people, not code. */
const withoutProse = (code: string): string => code.replace(TEXT, (text) => (/\s/.test(text) ? '""' : text));

/**
 * Checks the code of a plugin and of the packages that it imports: no case finds code that reads a file in one request of
 * a million.
 *
 * @param files paths of the plugin's own files
 */
export function codeLaw(files: readonly string[]): LawReport {
  const says = 'its code imports no runtime modules, which give access to files, clocks, randomness and the network';
  const found = new Set(files);
  const faults: string[] = [];
  let read = 0;
  // The set grows while it is read.
  for (const file of found) {
    if (read === FILES_MAX) {
      faults.push(`it has more files than the ${FILES_MAX} that were read, and what the others import is not known`);
      break;
    }
    read++;
    const imports = unlessBroken(() => importsOf(file));
    const where = basename(file);
    faults.push(...imports.filter((name) => isBuiltin(name)).map((name) => `${where} imports \`${name}\``));
    faults.push(...unlessBroken(() => waysIn(file)).map((way) => `${where} uses \`${way}\``));
    for (const one of imports.flatMap((name) => resolved(name, dirname(file)))) found.add(one);
  }
  if (faults.length === 0) return { law: 'imports', says, outcome: 'holds', fault: null, example: null };
  return { law: 'imports', says, outcome: 'broken', fault: faults.sort().join(', '), example: null };
}

/** Returns nothing of a file that cannot be parsed, or is not there: importing it reports that. */
function unlessBroken(read: () => string[]): string[] {
  try {
    return read();
  } catch {
    return [];
  }
}

function waysIn(file: string): string[] {
  const loader = /\.[cm]?tsx?$/.test(file) ? 'tsx' : 'jsx';
  const code = new Bun.Transpiler({ loader }).transformSync(readFileSync(file, 'utf8'));
  return [...new Set(withoutProse(code).match(WAYS) ?? [])].map((way) => way.replace(/\?\.|\["/, '.'));
}

/** Leaves out the contract, which is Signalbox's own. */
const resolved = (name: string, folder: string): string[] =>
  name === 'signalbox/plugin' || isBuiltin(name) ? [] : unlessBroken(() => [Bun.resolveSync(name, folder)]);
