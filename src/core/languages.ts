import { closest } from './edit-distance.ts';
import { LINGUIST } from './linguist.ts';

/**
 * Programming languages by the names that policies, keys and records have had since the first version, with other names
 * in lower case. Where Linguist gives one of these to another language, what stands here wins.
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

/** Every name, in lower case, with the canonical one, which is in it too. */
const CANONICAL = new Map<string, string>();
/** Canonical names of what is shown rather than programmed: JSON, CSV, XML. */
const DATA = new Set<string>();

for (const [name, aliases] of Object.entries(NAMED)) for (const one of [name, ...aliases]) CANONICAL.set(one, name);
for (const entry of LINGUIST.replaceAll('\n', '').split(';')) {
  if (entry === '') continue;
  const isData = entry.startsWith('=');
  const listed = entry.slice(isData ? 1 : 0).split('|');
  const names = [...listed, ...listed.map((one) => one.replaceAll(' ', '-'))];
  // A language that has a name here keeps it, and takes Linguist's other names for it.
  const name = CANONICAL.get(names[0]!) ?? names[0]!;
  for (const one of names) if (!CANONICAL.has(one)) CANONICAL.set(one, name);
  if (isData) DATA.add(name);
}

const plain = (name: string): string => name.trim().toLowerCase().replace(/\s+/g, ' ');

/** The one name of a programming language: `JS` and `Node.js` give `javascript`. An unknown one keeps its own, in lower case. */
export function canonicalLanguage(name: string): string {
  const own = plain(name);
  return CANONICAL.get(own) ?? own;
}

/** Whether a name or alias is of a language that is programmed, marked up or queried in: one of GitHub's Linguist. */
export const isKnownLanguage = (name: string): boolean => CANONICAL.has(plain(name));

/** Whether a text in that language is code, and not only data: JSON, CSV, XML. */
export const isCodeLanguage = (name: string): boolean => isKnownLanguage(name) && !DATA.has(canonicalLanguage(name));

/** No longer name is looked for among those that are alike, nor one that begins otherwise. */
const NEAREST_LENGTH = 32;

/** The canonical name of the language that was most likely meant; null where none is like it. The time is bounded. */
export function nearestLanguage(name: string): string | null {
  const own = plain(name);
  if (own.length < 2 || own.length > NEAREST_LENGTH) return null;
  const alike = CANONICAL.keys().filter((other) => other[0] === own[0]);
  const meant = closest(own, alike, own.length < 5 ? 1 : 2);
  return meant === null ? null : canonicalLanguage(meant);
}

/** Every canonical name. */
export const knownLanguages = (): ReadonlySet<string> => new Set(CANONICAL.values());
