import { existsSync, mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative, resolve } from 'node:path';
import { UsageError } from '../../core/usage-error.ts';
import { importsIn, type PluginLoader } from '../../plugin-host/load.ts';
import { FILE_BYTES_MAX, isPolicyFile, PolicySourceError, readBundle } from '../../runtime/source.ts';
import { GitError, openRepository, type Repository } from './git.ts';
import type { Scratch } from './scratch.ts';
import type { PolicySource, PolicyWorkspace } from './tools.ts';

/** A folder in a commit. */
interface CommitFolder {
  readonly repository: Repository;
  /** As the operator names the commit. */
  readonly ref: string;
  /** ID of the commit's tree. */
  readonly root: string;
  /** The folder in it; empty for the top. */
  readonly path: string;
}

/**
 * Finds the policy of `HEAD~1` or `main:path/to/folder`, and writes it to a folder of its own, so that its own plugins load.
 * Returns the reason where there is no such commit; throws UsageError for a commit without such a folder.
 */
export async function gitPlace(
  said: string,
  workspace: PolicyWorkspace,
  scratch: Scratch,
): Promise<PolicySource | string> {
  if (/\p{Cc}/u.test(said) || said.startsWith(':')) return 'it is not the name of a commit';
  const found = await orTold(committed(said, workspace), ({ message }) => `git finds nothing: ${message}`);
  if (typeof found === 'string') return found;
  return orTold(laidOut(said, found, workspace.judge.loader, scratch), ({ message }) => {
    throw new UsageError(`git cannot read all of ${said}: ${message}.`);
  });
}

async function orTold<T>(work: Promise<T>, tell: (error: GitError) => string): Promise<T | string> {
  try {
    return await work;
  } catch (cause) {
    if (cause instanceof GitError) return tell(cause);
    throw cause;
  }
}

/** A ref alone means the folder of the workspace as it was then. */
async function committed(said: string, { folder, judge }: PolicyWorkspace): Promise<CommitFolder | string> {
  const colon = said.indexOf(':');
  const [ref, stated] = colon < 0 ? [said, null] : [said.slice(0, colon), said.slice(colon + 1)];
  // A folder may be gone that the commit had.
  const from = stated === null ? nearest(resolve(folder)) : resolve('.');
  const repository = await openRepository(from, judge.env);
  const path = stated === null ? inside(repository, relative(from, resolve(folder))) : stating(repository, stated);
  if (path === null) throw new UsageError(`${said}: that folder is not in the repository ${repository.top}.`);
  const [commit, tree] = await repository.find([`${ref}^{tree}`, `${ref}:${path}`]);
  if (commit?.kind !== 'tree') return `git knows no commit \`${ref}\` in ${repository.top}`;
  if (tree?.kind !== 'tree') {
    throw new UsageError(`${ref} has no folder ${path} in ${repository.top}; name another as ${ref}:path/to/folder.`);
  }
  return { repository, ref, root: commit.id, path };
}

const nearest = (folder: string): string => (existsSync(folder) ? folder : nearest(dirname(folder)));

/** As git reads it: from the top, or with `./` from the working folder. */
const stating = (repository: Repository, path: string): string | null =>
  /^\.{1,2}(?:\/|$)/.test(path) ? inside(repository, path) : within(path);

const inside = ({ prefix }: Repository, path: string): string | null => within(posix.join(prefix, path));

/** A path in the repository, in its simplest form; null for one that leads out of it. */
function within(path: string): string | null {
  const plain = posix.normalize(path).replace(/\/$/, '');
  if (plain === '..' || plain.startsWith('../') || plain.startsWith('/')) return null;
  return plain === '.' ? '' : plain;
}

async function laidOut(
  label: string,
  found: CommitFolder,
  loader: PluginLoader,
  scratch: Scratch,
): Promise<PolicySource> {
  const { repository, ref, root, path } = found;
  const base = scratch.make();
  const folder = join(base, path);
  mkdirSync(folder, { recursive: true });
  const [tree] = await repository.find([`${root}:${path}`]);
  const listed = tree?.kind === 'tree' ? await repository.list(tree.id) : [];
  const names = listed.filter(({ name, isFile }) => isFile && isPlain(name) && isPolicyFile(name));
  await layOut(
    names.map(({ name }) => posix.join(path, name)),
    found,
    base,
  );
  const shown = (text: string) => text.replaceAll(`${base}/`, `${ref}:`).replaceAll(base, `${ref}:`);
  try {
    const bundle = await readBundle(folder);
    const files = bundle.files.map((file) => ({ ...file, path: shown(resolve(file.path)) }));
    const load = loading(found, base, loader, shown);
    return { label, kind: 'git', bundle: { ...bundle, files }, folder, loader: { ...loader, load } };
  } catch (cause) {
    if (cause instanceof PolicySourceError) {
      throw new UsageError(shown(cause.message).replace('; name another with --policies', ''));
    }
    throw cause;
  }
}

/** A tree may have been made by anybody: a name leads nowhere else. */
const isPlain = (name: string): boolean => !/[/\p{Cc}]/u.test(name);

/** Writes files of a commit under `base`; those that it does not have are left out, unless they are broken links. */
async function layOut(
  paths: readonly string[],
  { repository, root }: CommitFolder,
  base: string,
): Promise<WrittenFile[]> {
  const found = await repository.find(paths.map((path) => `${root}:${path}`));
  const blobs = paths.flatMap((path, at) => {
    const object = found[at]!;
    const file = join(base, path);
    if (object.kind === 'tree' || (object.kind === 'missing' && !isPolicyFile(posix.basename(path)))) return [];
    mkdirSync(dirname(file), { recursive: true });
    // The reader of the folder reports it.
    if (object.kind === 'blob') return [{ path, file, ...object }];
    symlinkSync('missing', file);
    return [];
  });
  const small = blobs.filter(({ size }) => size <= FILE_BYTES_MAX);
  const contents = await repository.read(small.map(({ id }) => id));
  for (const [at, { file }] of small.entries()) writeFileSync(file, contents[at]!);
  for (const { file, size } of blobs.filter((one) => one.size > FILE_BYTES_MAX)) {
    writeFileSync(file, '');
    truncateSync(file, size);
  }
  return small.map(({ path }, at) => ({ path, content: contents[at]! }));
}

interface WrittenFile {
  readonly path: string;
  readonly content: Uint8Array;
}

/** Loads plugins of the commit itself where they are named by relative paths, and packages as they are installed now. */
function loading(found: CommitFolder, base: string, loader: PluginLoader, shown: (text: string) => string) {
  let fetched: Promise<Error | null> | null = null;
  const load: PluginLoader['load'] = async (specifiers, folder) => {
    const own = specifiers.filter((one) => isRelative(one));
    fetched ??= layOutCode(own, found, base);
    const outside = await fetched;
    const safe = outside ? specifiers.filter((one) => !isRelative(one)) : specifiers;
    const loaded = await loader.load(safe, folder);
    return new Map(
      specifiers.map((name) => {
        const one = loaded.get(name) ?? outside ?? new Error('it was not loaded');
        return [name, one instanceof Error ? new Error(shown(one.message)) : one] as const;
      }),
    );
  };
  return load;
}

const isRelative = (specifier: string): boolean => /^\.{1,2}\//.test(specifier);

/** Code that reaches out of the repository would find whatever lies beside the folder for a while: then it gives an Error. */
async function layOutCode(specifiers: readonly string[], found: CommitFolder, base: string): Promise<Error | null> {
  const { repository, path } = found;
  linkPackages(join(repository.top, path), base);
  const seen = new Set<string>();
  let wanted = specifiers.map((specifier) => posix.join(path, specifier));
  while (wanted.length > 0) {
    const outside = wanted.find((one) => within(one) === null);
    if (outside !== undefined)
      return new Error(`${outside} is not in the repository, so its earlier version cannot be loaded`);
    const fresh = [...new Set(wanted.flatMap(candidates))].filter((one) => !seen.has(one));
    for (const one of fresh) seen.add(one);
    const written = await layOut(fresh, found, base);
    wanted = written.flatMap(importsOf);
  }
  return null;
}

/** Links the packages that are installed beside the policy now. */
function linkPackages(folder: string, base: string): void {
  const modules = join(folder, 'node_modules');
  if (existsSync(modules)) symlinkSync(modules, join(base, 'node_modules'));
  else if (folder !== dirname(folder)) linkPackages(dirname(folder), base);
}

const ENDINGS = ['', '.ts', '.tsx', '.mts', '.js', '.mjs', '.jsx', '.json', '/index.ts', '/index.js'];

/** The files that an import may mean. */
function candidates(path: string): string[] {
  const plain = within(path) ?? '';
  if (plain === '' || /\p{Cc}/u.test(plain)) return [];
  const written = plain.replace(/\.(m?)jsx?$/, '.$1ts');
  return [...ENDINGS.map((ending) => plain + ending), ...(written === plain ? [] : [written])];
}

/** Returns the relative imports of a module; none for one that cannot be parsed, which its import reports. */
function importsOf({ path, content }: WrittenFile): string[] {
  try {
    const imports = importsIn(path, () => content).filter(isRelative);
    return imports.map((one) => posix.join(posix.dirname(path), one));
  } catch {
    return [];
  }
}
