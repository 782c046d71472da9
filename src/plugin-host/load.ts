import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, extname, isAbsolute, join, relative, resolve } from 'node:path';
import * as contract from '../contract/plugin.ts';
import { claimFiles } from './owners.ts';
import { assertContract, type Plugin } from './registry.ts';

/** Longest wait for a module's own top level, ms. */
const IMPORT_MS = 5_000;

/** A module of an operator's own, as it was loaded. */
export interface PluginModule {
  /** As the policy names it: a path relative to the policy's folder, or a package. */
  readonly specifier: string;
  /** All that it exports and the contract admits. */
  readonly plugins: readonly Plugin[];
  /** Names the code: that of its file and of all files it imports by a relative path. */
  readonly hash: string;
  /** The first of these files that is outside the policy's folder, as seen from there, links followed; null for none, and of a package. */
  readonly outside: string | null;
}

/** The modules of a policy, by specifier; an Error tells why one could not be had. */
export type PluginModules = ReadonlyMap<string, PluginModule | Error>;

/** Loads the operators' plugins of one process. What is loaded stays: code that changes takes effect at a restart. */
export interface PluginLoader {
  /** Never throws. `folder` is the policy's, absolute. */
  load(specifiers: readonly string[], folder: string): Promise<PluginModules>;
  /** The plugins of a module if its code still has this hash, for a policy of the past; else null. Never throws, and what is watched and loaded stays as it is. */
  recall(specifier: string, folder: string, hash: string): Promise<readonly Plugin[] | null>;
  /** Specifiers whose code on disk is no longer what was loaded. */
  outdated(): string[];
  /** The files that count as the plugins' code, of plugins that failed too. */
  files(): readonly string[];
}

export function createPluginLoader(): PluginLoader {
  const loaded = new Map<string, PluginModule>();
  let watched = new Map<string, readonly string[]>();

  async function loadOne(specifier: string, folder: string): Promise<PluginModule | Error> {
    try {
      const file = locate(specifier, folder);
      const files = codeFiles(file);
      watched.set(file, files);
      const outside = isPath(specifier) ? firstOutside(files, folder) : null;
      const known = loaded.get(file);
      if (known) return { ...known, specifier, outside };
      const hash = hashFiles(files);
      claimFiles(files, specifier);
      const fresh = { specifier, hash, plugins: await importPlugins(file, hash), outside };
      loaded.set(file, fresh);
      return fresh;
    } catch (cause) {
      return cause instanceof Error ? cause : new Error(String(cause));
    }
  }

  return {
    async load(specifiers, folder) {
      watched = new Map();
      const found = new Map<string, PluginModule | Error>();
      for (const specifier of specifiers) found.set(specifier, await loadOne(specifier, folder));
      return found;
    },
    async recall(specifier, folder, hash) {
      try {
        const file = locate(specifier, folder);
        const known = loaded.get(file);
        const present = known?.hash ?? hashFiles(codeFiles(file));
        if (present !== hash) return null;
        if (known) return known.plugins;
        claimFiles(codeFiles(file), specifier);
        return await importPlugins(file, hash);
      } catch {
        return null;
      }
    },
    outdated: () =>
      [...watched.keys()].flatMap((file) => {
        const known = loaded.get(file);
        return known && hashFiles(codeFiles(file)) !== known.hash ? [known.specifier] : [];
      }),
    files: () => [...watched.values()].flat(),
  };
}

/** The file behind a specifier. Throws an Error that says where it was looked for. */
function locate(specifier: string, folder: string): string {
  if (isPath(specifier)) {
    const file = resolve(folder, specifier);
    if (!existsSync(file)) throw new Error(`there is no file ${file}`);
    return Bun.resolveSync(file, folder);
  }
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  // Only what is installed: a gateway fetches no code.
  const home = [folder, process.cwd()].find((start) => isInstalled(name, start));
  if (!home) {
    const meant = existsSync(resolve(folder, specifier)) ? `; a file begins with a dot: \`./${specifier}\`` : '';
    throw new Error(`the package \`${name}\` is not installed beside the policy or the working folder${meant}`);
  }
  return Bun.resolveSync(specifier, home);
}

/** Links within the folder lead nowhere else, such as those of a ConfigMap. */
function firstOutside(files: readonly string[], folder: string): string | null {
  const root = realpathSync(folder);
  const paths = files.map((file) => relative(root, realpathSync(file)));
  return paths.find((path) => path.startsWith('../') || isAbsolute(path)) ?? null;
}

const isPath = (specifier: string): boolean => /^\.{0,2}\//.test(specifier);

function isInstalled(name: string, start: string): boolean {
  for (let at = start; ; at = dirname(at)) {
    if (existsSync(join(at, 'node_modules', name))) return true;
    if (at === dirname(at)) return false;
  }
}

const LOADERS = { '.ts': 'ts', '.tsx': 'tsx', '.jsx': 'jsx', '.js': 'js', '.mjs': 'js', '.mts': 'ts' } as const;

/** A module and all that it imports by relative paths, sorted. What cannot be read or resolved is left to the import. */
function codeFiles(entry: string): string[] {
  const found = new Set<string>();
  const open = [entry];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    try {
      for (const path of importsOf(file)) if (isPath(path)) open.push(Bun.resolveSync(path, dirname(file)));
    } catch {
      // A syntax error or a missing file: the import reports it.
    }
  }
  return [...found].sort();
}

/** What a module imports, as it names it; types alone are no import. Throws for what cannot be read as code. */
export function importsOf(file: string): string[] {
  const loader = Object.entries(LOADERS).find(([ending]) => extname(file) === ending)?.[1];
  if (!loader) return [];
  return new Bun.Transpiler({ loader }).scanImports(readFileSync(file, 'utf8')).map(({ path }) => path);
}

function hashFiles(files: readonly string[]): string {
  const hasher = new Bun.CryptoHasher('sha256');
  for (const file of files) hasher.update(existsSync(file) ? readFileSync(file) : '').update('\0');
  return hasher.digest('hex').slice(0, 16);
}

let contractIsShared = false;

/** A plugin outside this package finds `signalbox/plugin` too. */
function shareContract(): void {
  if (contractIsShared) return;
  contractIsShared = true;
  Bun.plugin({
    name: 'signalbox/plugin',
    setup: (build) => void build.module('signalbox/plugin', () => ({ exports: { ...contract }, loader: 'object' })),
  });
}

async function importPlugins(file: string, hash: string): Promise<Plugin[]> {
  shareContract();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not finish loading within ${IMPORT_MS} ms`)), IMPORT_MS);
  });
  try {
    // A failed import is remembered by its name: the hash lets a mended file be tried again.
    const module: Readonly<Record<string, unknown>> = await Promise.race([import(`${file}?${hash}`), late]);
    return pluginsIn(module);
  } catch (cause) {
    throw new Error(reasonOf(cause), { cause });
  } finally {
    clearTimeout(timer);
  }
}

/** The plugins among a module's exports, each once. Throws an Error for one that breaks the contract. */
function pluginsIn(module: Readonly<Record<string, unknown>>): Plugin[] {
  const found = new Set(Object.values(module).filter(claimsToBePlugin));
  for (const plugin of found) assertContract(plugin);
  return [...found];
}

/** Whatever is the default export, or has a kind and a name, means to be one; the contract is checked after. */
const claimsToBePlugin = (value: unknown): value is Plugin =>
  typeof value === 'object' && value !== null && 'kind' in value && 'prepare' in value;

/** What a build or a top level complains of, on one line. */
function reasonOf(cause: unknown): string {
  const first = cause instanceof AggregateError ? cause.errors[0] : cause;
  const message = first instanceof Error || hasMessage(first) ? first.message : String(first);
  const at = hasPosition(first) ? ` (line ${first.position.line})` : '';
  return `${message.split('\n')[0]}${at}`;
}

const hasMessage = (value: unknown): value is { message: string } =>
  typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string';

const hasPosition = (value: unknown): value is { position: { line: number } } =>
  typeof value === 'object' &&
  value !== null &&
  'position' in value &&
  typeof value.position === 'object' &&
  value.position !== null &&
  'line' in value.position;
