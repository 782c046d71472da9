/** Other names of programming languages, in lower case, with the canonical one. The only place to add one. */
const ALIASES: Readonly<Record<string, readonly string[]>> = {
  assembly: ['asm', 'assembler'],
  bash: ['sh', 'shell', 'zsh', 'shellscript'],
  c: ['ansi c', 'c99', 'c11'],
  clojure: ['clj'],
  cobol: [],
  cpp: ['c++', 'cxx', 'cplusplus', 'c plus plus'],
  csharp: ['c#', 'cs', 'c-sharp', 'c sharp'],
  css: [],
  dart: [],
  elixir: ['ex', 'exs'],
  erlang: ['erl'],
  fortran: [],
  fsharp: ['f#', 'fs', 'f-sharp'],
  go: ['golang'],
  haskell: ['hs'],
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

const CANONICAL = new Map<string, string>(
  Object.entries(ALIASES).flatMap(([name, aliases]) => aliases.map((alias) => [alias, name] as const)),
);

/** The one name of a programming language: `JS` and `Node.js` give `javascript`. An unknown one keeps its own, in lower case. */
export function canonicalLanguage(name: string): string {
  const plain = name.trim().toLowerCase().replace(/\s+/g, ' ');
  return CANONICAL.get(plain) ?? plain;
}

/** Whether a name or alias is of a programming language that this table knows. */
export function isKnownLanguage(name: string): boolean {
  return Object.hasOwn(ALIASES, canonicalLanguage(name));
}
