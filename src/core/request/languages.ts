import { closest } from '../text/edit-distance.ts';
import { LINGUIST } from './linguist.ts';

/**
 * Programming languages under the names that policies, keys and records have used since the first version, with their aliases in lower
 * case. If Linguist assigns one of these names to another language, this table wins.
 */
const NAMED: Readonly<Record<string, readonly string[]>> = {
  assembly: ['asm', 'assembler'],
  bash: ['sh', 'shell', 'zsh', 'shellscript'],
  c: ['ansi c', 'c99', 'c11'],
  clojure: ['clj'],
  cobol: [],
  cpp: ['c++', 'cxx', 'cplusplus', 'c plus plus'],
  csharp: ['c#', 'cs', 'c-sharp', 'c sharp'],
  css: [],
  dart: [],
  dockerfile: ['docker'],
  elixir: ['ex', 'exs'],
  erlang: ['erl'],
  fortran: [],
  fsharp: ['f#', 'fs', 'f-sharp'],
  go: ['golang'],
  haskell: ['hs'],
  hcl: ['tf', 'terraform'],
  html: ['html5'],
  java: [],
  javascript: ['js', 'ecmascript', 'es6', 'jsx', 'node', 'nodejs', 'node.js'],
  julia: ['jl'],
  kotlin: ['kt', 'kts'],
  lua: [],
  matlab: ['octave'],
  objectivec: ['objective-c', 'objc', 'obj-c', 'objective c'],
  ocaml: ['ml'],
  perl: ['pl'],
  php: [],
  powershell: ['ps', 'ps1', 'pwsh'],
  python: ['py', 'python3', 'python2', 'py3'],
  r: ['rlang', 'r-lang'],
  ruby: ['rb'],
  rust: ['rs', 'rustlang'],
  scala: [],
  solidity: [],
  sql: ['mysql', 'postgresql', 'postgres', 'plpgsql', 'tsql', 't-sql', 'sqlite'],
  swift: ['swiftlang'],
  typescript: ['ts', 'tsx'],
  visualbasic: ['vb', 'vb.net', 'visual basic', 'visual basic .net'],
  yaml: ['yml'],
};

/** Maps every name, in lower case, to its canonical name. The map includes canonical names. */
const CANONICAL = new Map<string, string>();
/** Canonical names of languages for data and documents rather than programs: JSON, CSV, XML. */
const DATA = new Set<string>();

for (const [name, aliases] of Object.entries(NAMED)) for (const one of [name, ...aliases]) CANONICAL.set(one, name);
for (const entry of LINGUIST.replaceAll('\n', '').split(';')) {
  if (entry === '') continue;
  const isData = entry.startsWith('=');
  const listed = entry.slice(isData ? 1 : 0).split('|');
  const names = [...listed, ...listed.map((one) => one.replaceAll(' ', '-'))];
  // A language in the table `NAMED` keeps its name there, and gets Linguist's other names as aliases.
  const name = CANONICAL.get(names[0]!) ?? names[0]!;
  for (const one of names) if (!CANONICAL.has(one)) CANONICAL.set(one, name);
  if (isData) DATA.add(name);
}

const plain = (name: string): string => name.trim().toLowerCase().replace(/\s+/g, ' ');

/**
 * Returns the canonical name of a programming language: `JS` and `Node.js` give `javascript`. `canonicalLanguage` returns an unknown name
 * in lower case.
 */
export function canonicalLanguage(name: string): string {
  const own = plain(name);
  return CANONICAL.get(own) ?? own;
}

/** Whether a name or alias is a programming, markup or query language in GitHub's Linguist. */
export const isKnownLanguage = (name: string): boolean => CANONICAL.has(plain(name));

/** Whether a text in that language is code rather than only data (JSON, CSV, XML). */
export const isCodeLanguage = (name: string): boolean => isKnownLanguage(name) && !DATA.has(canonicalLanguage(name));

/** The longest name for which similar names are searched. Signalbox compares only names with the same first letter. */
const NEAREST_LENGTH = 32;

/**
 * Returns the canonical name of the language that was most likely intended; null if no name is similar. The time of the search for a
 * similar name is bounded.
 */
export function nearestLanguage(name: string): string | null {
  const own = plain(name);
  if (own.length < 2 || own.length > NEAREST_LENGTH) return null;
  const alike = CANONICAL.keys().filter((other) => other[0] === own[0]);
  const meant = closest(own, alike, own.length < 5 ? 1 : 2);
  return meant === null ? null : canonicalLanguage(meant);
}

/** Returns every canonical name of a language. */
export const knownLanguages = (): ReadonlySet<string> => new Set(CANONICAL.values());
