import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, isAbsolute, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Plugin } from '../../contract/kinds.ts';
import * as contract from '../../contract/plugin.ts';
import { isObject, objectOf } from '../../core/json/object.ts';
import { lazy } from '../../core/lazy.ts';
import { claimFiles } from './owners.ts';
import { assertContract } from './registry.ts';

/** The longest time that the top level of a module may take, ms. */
const IMPORT_MS = 5_000;

/** A module of the operator that is loaded. */
export interface PluginModule {
  /** The name of the module in the policy: a path relative to the policy's folder, or a package. */
  readonly specifier: string;
  /** The exports of the module that are plugins. */
  readonly plugins: readonly Plugin[];
  /** The hash of the module's file and of all files that it imports by relative paths. */
  readonly hash: string;
  /**
   * The first of the module's files that is outside the policy's folder, relative to the folder, after following links; null for none and
   * for packages.
   */
  readonly outside: string | null;
}

/** Maps each specifier to its module, or to the error that prevented it from loading. */
export type PluginModules = ReadonlyMap<string, PluginModule | Error>;

/** Loads the operator's plugins in one process. Loaded code of a plugin stays in the process until a restart. */
export interface PluginLoader {
  /** Loads the modules. `load` never throws. `folder` is the absolute path of the policy's folder. */
  load(specifiers: readonly string[], folder: string): Promise<PluginModules>;
  /**
   * Returns the plugins of a module for a past policy; null if its code no longer has this hash. `recall` never throws. `recall` does not
   * change which files are watched.
   */
  recall(specifier: string, folder: string, hash: string): Promise<Pick<PluginModule, 'plugins'> | null>;
  /** Returns the specifiers whose code on disk differs from the loaded code. */
  outdated(): string[];
  /** Returns all files of the plugins' code, including plugins that failed to load. */
  files(): readonly string[];
}

/** Loads each module once. State: plugin code. */
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
      const fresh = { specifier, hash, ...(await importPlugins(file, hash)), outside };
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
        if (known) return known;
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

/** Resolves the specifier of a module to a file. The error names the places that Signalbox searched for the module. */
function locate(specifier: string, folder: string): string {
  if (isPath(specifier)) {
    const file = resolve(folder, specifier);
    if (!existsSync(file)) throw new Error(`the file ${file} does not exist`);
    return Bun.resolveSync(file, folder);
  }
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  // Without a check that the package is installed, Bun could download the package.
  const home = [folder, process.cwd()].find((start) => isInstalled(name, start));
  if (!home) {
    const meant = existsSync(resolve(folder, specifier))
      ? `; to load a file of the policy folder, write \`./${specifier}\``
      : '';
    throw new Error(
      `the package \`${name}\` is not installed: it is in no \`node_modules\` of the policy folder, the working folder, or a folder above them${meant}`,
    );
  }
  return Bun.resolveSync(specifier, home);
}

/**
 * Finds the first file outside the folder. `firstOutside` follows links, so that links within the folder, as in a ConfigMap, do not count
 * as outside.
 */
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

/** Returns a module and all its relative imports, sorted. `codeFiles` skips files that cannot be read or resolved. */
function codeFiles(entry: string): string[] {
  const found = new Set<string>();
  const open = [entry];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    if (found.has(file)) continue;
    found.add(file);
    try {
      for (const path of importsOf(file)) if (isPath(path)) open.push(Bun.resolveSync(path, dirname(file)));
    } catch {
      // The import itself reports a syntax error or a missing file.
    }
  }
  return [...found].sort();
}

/** Returns the specifiers that a module imports, without type imports. `importsOf` throws if the file cannot be read or parsed. */
export function importsOf(file: string): string[] {
  return importsIn(file, () => readFileSync(file)).map((path) =>
    path.startsWith('file:') ? fileURLToPath(path) : path,
  );
}

/**
 * Returns the specifiers in the code of a module; its path determines the language. A file that is no module has no specifiers. `importsIn`
 * throws if the code cannot be parsed.
 */
export function importsIn(path: string, code: () => Uint8Array): string[] {
  const [, language, x] = /\.[cm]?([jt])s(x?)$/.exec(path) ?? [];
  if (language === undefined) return [];
  // Bun runs JavaScript and TypeScript files in the same way: JavaScript may contain JSX, whatever its file extension.
  const loader = language === 'j' ? 'jsx' : x ? 'tsx' : 'ts';
  return new Bun.Transpiler({ loader }).scanImports(code()).map((one) => one.path);
}

function hashFiles(files: readonly string[]): string {
  const hasher = new Bun.CryptoHasher('sha256');
  for (const file of files) hasher.update(existsSync(file) ? readFileSync(file) : '').update('\0');
  return hasher.digest('hex').slice(0, 16);
}

/**
 * Makes `signalbox/plugin` importable for plugins outside this package. Modules belong to the process, so one call of `shareContract` is
 * enough.
 */
const shareContract = lazy(() =>
  Bun.plugin({
    name: 'signalbox/plugin',
    setup: (build) => void build.module('signalbox/plugin', () => ({ exports: { ...contract }, loader: 'object' })),
  }),
);

async function importPlugins(file: string, hash: string): Promise<Pick<PluginModule, 'plugins'>> {
  shareContract();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`it did not finish loading within ${IMPORT_MS} ms`)), IMPORT_MS);
  });
  try {
    // Bun caches failed imports by specifier. With the hash in the specifier, Bun can load a fixed file again.
    const module: Readonly<Record<string, unknown>> = await Promise.race([import(`${file}?${hash}`), late]);
    return { plugins: pluginsIn(module) };
  } catch (cause) {
    throw new Error(reasonOf(cause), { cause });
  } finally {
    clearTimeout(timer);
  }
}

/** Returns the plugins among a module's exports, each once. `pluginsIn` throws if a plugin breaks the contract. */
function pluginsIn(module: Readonly<Record<string, unknown>>): readonly Plugin[] {
  const plugins = [...new Set(Object.values(module))].filter(looksLikePlugin);
  for (const plugin of plugins) assertContract(plugin);
  return plugins;
}

const looksLikePlugin = (value: unknown): value is Plugin =>
  typeof value === 'object' && value !== null && 'kind' in value && 'prepare' in value;

/** Returns the error of a build or of a module's top level, on one line. */
function reasonOf(cause: unknown): string {
  const first: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  const { message, position } = objectOf(first);
  const at = isObject(position) && 'line' in position ? ` (line ${position.line})` : '';
  return `${(typeof message === 'string' ? message : String(first)).split('\n')[0]}${at}`;
}
