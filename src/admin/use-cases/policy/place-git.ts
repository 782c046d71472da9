import { existsSync, mkdirSync, readdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, posix, relative, resolve } from 'node:path';
import { UsageError } from '../../../core/usage-error.ts';
import type { PluginLoader } from '../../../host/plugins/load.ts';
import type { Environment } from '../../../policy/load.ts';
import { PolicySourceError, readBundle } from '../../../policy/runtime/source.ts';
import type { Scratch } from './scratch.ts';
import { isFolder, type PolicySource, type PolicyWorkspace } from './tools.ts';

/** The time limit of one run of git, ms. Checking out a large repository takes seconds. */
const GIT_MS = 60_000;
/** The most output of one run of git, bytes. Git prints only IDs and paths for these commands, never contents. */
const OUTPUT_BYTES_MAX = 65_536;

/** A failed run of git. The message is git's own first line, without a full stop. */
export class GitError extends Error {
  override readonly name = 'GitError';
}

/** A folder in a commit. */
interface CommitFolder {
  /** The operator's name for the commit. */
  readonly ref: string;
  /** The folder of the repository's working tree. */
  readonly top: string;
  /** The folder with all objects of the repository. */
  readonly objects: string;
  /** `sha1` or `sha256`. */
  readonly objectFormat: string;
  /** The ID of the commit's tree. */
  readonly tree: string;
  /** The path of the folder in the tree; empty for the top of the tree. */
  readonly path: string;
}

/**
 * Finds the policy of `HEAD~1` or `main:path/to/folder`, and checks it out into a temporary folder, so that its own plugins can be loaded.
 * @returns the reason if there is no such commit
 * @throws UsageError if the commit has no such folder
 */
export async function gitPlace(
  said: string,
  workspace: PolicyWorkspace,
  scratch: Scratch,
): Promise<PolicySource | string> {
  if (/\p{Cc}/u.test(said) || /^[:-]/.test(said)) return 'it is not the name of a commit';
  const found = await orTold(committed(said, workspace), ({ message }) => `git finds no such commit: ${message}`);
  if (typeof found === 'string') return found;
  return orTold(checkedOut(said, found, workspace.judge, scratch), ({ message }) => {
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

/** A ref without a path means the folder of the workspace as it was in that commit. */
async function committed(said: string, { folder, judge }: PolicyWorkspace): Promise<CommitFolder | string> {
  const colon = said.indexOf(':');
  const [ref, stated] = colon < 0 ? [said, null] : [said.slice(0, colon), said.slice(colon + 1)];
  // The folder may exist only in the commit, so the search starts from the nearest existing parent of the folder.
  const from = stated === null ? nearest(resolve(folder)) : resolve('.');
  const ask = (...args: readonly string[]) => git(['rev-parse', ...args], from, judge.env);
  const facts = await ask('--show-toplevel', '--show-prefix', '--git-path', 'objects', '--show-object-format');
  const [top = '', prefix = '', objects = '', objectFormat = ''] = facts.split('\n');
  const isFromHere = stated === null || /^\.{1,2}(?:\/|$)/.test(stated);
  const path = within(isFromHere ? posix.join(prefix, stated ?? relative(from, resolve(folder))) : stated);
  if (path === null) throw new UsageError(`${said}: that folder is not in the repository ${top}.`);
  const find = (name: string) => orTold(ask('--verify', '--end-of-options', name), () => '');
  const tree = await find(`${ref}^{tree}`);
  if (tree === '') return `git knows no commit \`${ref}\` in ${top}`;
  const found = { ref, top, objects: resolve(from, objects), objectFormat, tree: tree.trim(), path };
  if ((await find(`${ref}:${path}`)) === '') throw noFolder(found);
  return found;
}

const nearest = (folder: string): string => (existsSync(folder) ? folder : nearest(dirname(folder)));

/** A path in the repository, normalized; null for a path outside of the repository. */
function within(path: string): string | null {
  const plain = posix.normalize(path).replace(/\/$/, '');
  if (plain === '..' || plain.startsWith('../') || plain.startsWith('/')) return null;
  return plain === '.' ? '' : plain;
}

const noFolder = ({ ref, path, top }: CommitFolder): UsageError =>
  new UsageError(`${ref} has no folder ${path} in ${top}. Name another folder as ${ref}:path/to/folder.`);

async function checkedOut(
  label: string,
  found: CommitFolder,
  { env, loader }: PolicyWorkspace['judge'],
  scratch: Scratch,
): Promise<PolicySource> {
  const { ref, top, path } = found;
  // The folder is nested as deep as in the repository, so that `../` cannot lead to files outside of the temporary folder.
  const holder = scratch.make();
  const base = join(holder, top);
  mkdirSync(base, { recursive: true });
  linkPackages(join(top, path), holder);
  const checkOut = await checkoutOf(found, base, scratch.make(), env);
  await checkOut(path || '.');
  const folder = join(base, path);
  if (!isFolder(folder) || linksIn(folder).length > 0) await checkOut('.');
  if (!isFolder(folder)) throw noFolder(found);
  breakOutwardLinks(folder, base);
  const shown = (text: string) => text.replaceAll(`${base}/`, `${ref}:`).replaceAll(base, `${ref}:`);
  try {
    const bundle = await readBundle(folder);
    const files = bundle.files.map((file) => ({ ...file, path: shown(resolve(file.path)) }));
    const load = loading(path, () => checkOut('.'), loader, shown);
    return { label, kind: 'git', bundle: { ...bundle, files }, folder, loader: { ...loader, load } };
  } catch (cause) {
    if (cause instanceof PolicySourceError) {
      throw new UsageError(shown(cause.message).replace('; name another with --policies', ''));
    }
    throw cause;
  }
}

/**
 * Returns a function that checks out a path of the commit in `base`. The checkout uses a new repository that only borrows the objects of
 * the operator's repository. Its hooks, filters and other configuration therefore do not run, and it stays unchanged.
 */
async function checkoutOf({ objects, objectFormat, tree }: CommitFolder, base: string, own: string, env: Environment) {
  const variables = { GIT_DIR: own, GIT_WORK_TREE: base, GIT_CONFIG_NOSYSTEM: '1', HOME: own, XDG_CONFIG_HOME: own };
  await git(['init', '--quiet', '--template=', `--object-format=${objectFormat}`], base, env, variables);
  writeFileSync(join(own, 'objects/info/alternates'), `${objects}\n`);
  return (path: string) => git(['--literal-pathspecs', 'checkout', '--quiet', tree, '--', path], base, env, variables);
}

const linksIn = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((one) => one.isSymbolicLink())
    .map(({ name }) => join(folder, name));

/**
 * A link to a place outside of the commit would show a current file instead of the file of that time. Breaking the link makes the error
 * visible.
 */
function breakOutwardLinks(folder: string, base: string): void {
  for (const link of linksIn(folder)) {
    if (!existsSync(link) || realpathSync(link).startsWith(`${base}/`)) continue;
    rmSync(link);
    symlinkSync('missing', link);
  }
}

/** Links the packages that are installed for the policy now. */
function linkPackages(folder: string, holder: string): void {
  const modules = join(folder, 'node_modules');
  if (existsSync(modules)) symlinkSync(modules, join(holder, 'node_modules'));
  else if (folder !== dirname(folder)) linkPackages(dirname(folder), holder);
}

/** Loads plugins with relative paths from the commit, and packages in the versions that are installed now. */
function loading(
  path: string,
  checkOutAll: () => Promise<unknown>,
  loader: PluginLoader,
  shown: (text: string) => string,
): PluginLoader['load'] {
  let all: Promise<Error | null> | null = null;
  return async (specifiers, folder) => {
    const obstacles = new Map<string, Error>();
    for (const one of specifiers.filter((name) => /^\.{1,2}\//.test(name))) {
      const file = posix.join(path, one);
      const isOutside = within(file) === null;
      // Nothing may be checked out without waiting for it: the folder is removed when the comparison ends.
      if (!isOutside) {
        all ??= checkOutAll().then(
          () => null,
          (cause: Error) => cause,
        );
      }
      const obstacle = isOutside
        ? new Error(`${file} is not in the repository, so its earlier version cannot be loaded`)
        : await all;
      if (obstacle) obstacles.set(one, obstacle);
    }
    const loaded = await loader.load(
      specifiers.filter((one) => !obstacles.has(one)),
      folder,
    );
    return new Map(
      [...loaded, ...obstacles].map(([name, one]) => [
        name,
        one instanceof Error ? new Error(shown(one.message)) : one,
      ]),
    );
  };
}

/** The only variables that git gets. Other variables, for example inside a git hook, could make git use another repository. */
const PASSED = ['PATH', 'HOME', 'XDG_CONFIG_HOME', 'TMPDIR'];
const FIXED = {
  LC_ALL: 'C',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  // Git must not fetch objects that a partial clone lacks, because fetching would run commands from the configuration.
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
};

/** Runs git and returns its output. @throws GitError if git fails, takes too long or prints too much */
export async function git(
  args: readonly string[],
  cwd: string,
  env: Environment,
  variables: Readonly<Record<string, string>> = {},
): Promise<string> {
  const passed = Object.fromEntries(
    PASSED.flatMap((name) => (env.get(name) === undefined ? [] : [[name, env.get(name)]])),
  );
  const child = start(['git', '--no-pager', ...args], { cwd, env: { ...passed, ...FIXED, ...variables } });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  if (code === 0) return out;
  if (child.signalCode) throw new GitError(`git took more than ${GIT_MS / 1_000} s, or printed too much`);
  // Git may print warnings before the error.
  const lines = err.split('\n');
  const said = lines.find((line) => /^(?:fatal|error): /.test(line)) ?? lines[0] ?? '';
  throw new GitError(said.replace(/^(?:fatal|error): /, '').replace(/\.$/, '') || `git ended with exit code ${code}`);
}

function start(command: string[], options: { cwd: string; env: Record<string, string> }) {
  const bounds = { timeout: GIT_MS, maxBuffer: OUTPUT_BYTES_MAX };
  try {
    return Bun.spawn(command, { ...options, ...bounds, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  } catch {
    throw new GitError('git is not installed. Install git, or check out the commit elsewhere and name its folder');
  }
}
