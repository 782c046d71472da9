import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { basename, dirname } from 'node:path';
import { importsOf } from '../../host/plugins/load.ts';
import type { LawReport } from '../conformance/law.ts';

/** More files than any plugin has together with its packages. */
const FILES_MAX = 2_000;

/** Ways to reach the runtime without an import. */
const WAYS =
  /\bprocess(?:\??\.|\[")(?:getBuiltinModule|binding|dlopen)\b|\b(?:Bun|Deno)(?:\??\.|\[")[A-Za-z]\w*|\bimport\.meta\.require\b/g;

const TEXT = /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/g;

/** Empties strings that contain a space, because they are text for people and not code. */
const withoutProse = (code: string): string => code.replace(TEXT, (text) => (/\s/.test(text) ? '""' : text));

/**
 * Checks the code of a plugin and of the packages that it imports. Random cases would not find code that reads a file in one of a million
 * requests.
 *
 * @param files paths of the plugin's own files
 */
export function codeLaw(files: readonly string[]): LawReport {
  const says = 'the code imports no runtime modules, which give access to files, clocks, randomness and the network';
  const found = new Set(files);
  const faults: string[] = [];
  let read = 0;
  // The loop adds files to this set.
  for (const file of found) {
    if (read === FILES_MAX) {
      faults.push(`the plugin has more than ${FILES_MAX} files, so the imports of the other files were not checked`);
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

/** Returns nothing for a file that cannot be parsed or does not exist, because importing the file reports that. */
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

/** Leaves out the plugin contract, which is part of Signalbox. */
const resolved = (name: string, folder: string): string[] =>
  name === 'signalbox/plugin' || isBuiltin(name) ? [] : unlessBroken(() => [Bun.resolveSync(name, folder)]);
