import type { Environment } from '../../policy/load.ts';

/** Most bytes of all objects that are read at once. */
const BYTES_MAX = 67_108_864;

/** A failure of git. The message is git's own first line, without a full stop. */
export class GitError extends Error {
  override readonly name = 'GitError';
}

/** The object of a name such as `HEAD:policies/models.yaml`. Links within the repository are followed. */
export type GitObject =
  | { readonly kind: 'tree' | 'blob'; readonly id: string; readonly size: number }
  /** `outside`: a link that leads out of the repository. */
  | { readonly kind: 'missing' | 'outside' };

/**
 * Reads objects of a repository, and nothing else: neither its index nor its working tree, so that no hook, filter or
 * program that its configuration names is ever run, and nothing is fetched.
 */
export type Repository = Awaited<ReturnType<typeof openRepository>>;

/** Finds the repository that holds a folder, which exists. Throws GitError where there is none, or no git. */
export async function openRepository(folder: string, env: Environment) {
  const told = await git(['rev-parse', '--show-toplevel', '--show-prefix'], folder, env);
  const [top = '', prefix = ''] = text(told).split('\n');
  const cat = (form: string, names: readonly string[]) =>
    git(['cat-file', form, '--follow-symlinks'], top, env, names.map((name) => `${name}\n`).join(''));
  return {
    /** The folder of its working tree. */
    top,
    /** The path of the folder that it was found by: `policies/`, or empty for the top. */
    prefix,
    /** Names hold no line breaks. */
    async find(names: readonly string[]): Promise<GitObject[]> {
      if (names.length === 0) return [];
      return objectsIn(text(await cat('--batch-check', names)), names.length);
    },
    /** Reads the contents of blobs. Throws GitError for another object. */
    async read(ids: readonly string[]): Promise<Uint8Array[]> {
      if (ids.length === 0) return [];
      return contentsIn(await cat('--batch', ids), ids.length);
    },
    /** The names in a tree, with whether each is a file or a link. */
    async list(tree: string) {
      const listed = await git(['ls-tree', '-z', '--full-tree', '--end-of-options', tree], top, env);
      return text(listed)
        .split('\0')
        .filter((entry) => entry !== '')
        .map((entry) => ({ name: entry.slice(entry.indexOf('\t') + 1), isFile: /^1[02]0/.test(entry) }));
    },
  };
}

const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** The only variables that git gets: others could lead it to another repository, as within a hook. */
const FROM_HERE = ['PATH', 'HOME', 'XDG_CONFIG_HOME', 'TMPDIR'];
const FIXED = {
  LC_ALL: 'C',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_TERMINAL_PROMPT: '0',
  // An object that a partial clone lacks is missing: fetching it would run what the configuration says.
  GIT_NO_LAZY_FETCH: '1',
  GIT_ALLOW_PROTOCOL: 'none',
};

async function git(args: readonly string[], folder: string, env: Environment, input = ''): Promise<Uint8Array> {
  const told = FROM_HERE.flatMap((name) => {
    const value = env.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  const child = start(['git', '--no-pager', '-c', 'core.fsmonitor=false', ...args], {
    cwd: folder,
    env: { ...Object.fromEntries(told), ...FIXED },
    stdin: new Blob([input]),
  });
  const [out, err, code] = await Promise.all([bounded(child.stdout), new Response(child.stderr).text(), child.exited]);
  if (code === 0) return out;
  // Warnings may come first.
  const lines = err.split('\n');
  const said = lines.find((line) => /^(?:fatal|error): /.test(line)) ?? lines[0] ?? '';
  throw new GitError(said.replace(/^(?:fatal|error): /, '').replace(/\.$/, '') || `git ended with ${code}`);
}

function start(command: string[], options: { cwd: string; env: Record<string, string>; stdin: Blob }) {
  try {
    return Bun.spawn(command, { ...options, stdout: 'pipe', stderr: 'pipe' });
  } catch {
    throw new GitError('git is not installed');
  }
}

async function bounded(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of stream) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > BYTES_MAX) throw new GitError(`its content has more than ${BYTES_MAX} bytes`);
  }
  return Buffer.concat(chunks);
}

/** Reads lines such as `<id> blob 12`, and `symlink 9` with the link's target on the line after. */
function objectsIn(told: string, count: number): GitObject[] {
  const lines = told.split('\n');
  const found: GitObject[] = [];
  for (let at = 0; found.length < count; at++) {
    const line = lines[at];
    if (line === undefined) throw new GitError('git returned an incomplete answer');
    const [, id, kind, size] = /^([0-9a-f]{40,64}) (\w+) (\d+)$/.exec(line) ?? [];
    if (id !== undefined && (kind === 'tree' || kind === 'blob')) found.push({ kind, id, size: Number(size) });
    else if (/^(?:symlink|dangling|loop|notdir) \d+$/.test(line)) {
      // The text after it may have line breaks of its own.
      for (let left = Number(line.split(' ')[1]); left >= 0; left -= Buffer.byteLength(lines[at]!) + 1) at++;
      found.push({ kind: line.startsWith('symlink') ? 'outside' : 'missing' });
    } else found.push({ kind: 'missing' });
  }
  return found;
}

/** Reads headers such as `<id> blob 12`, each followed by so many bytes and a line break. */
function contentsIn(told: Uint8Array, count: number): Uint8Array[] {
  const contents: Uint8Array[] = [];
  for (let at = 0; contents.length < count; ) {
    const end = told.indexOf(10, at);
    const header = text(told.subarray(at, end));
    const size = Number(/^[0-9a-f]+ blob (\d+)$/.exec(header)?.[1] ?? Number.NaN);
    if (Number.isNaN(size)) throw new GitError(`git cannot read ${header}`);
    contents.push(told.subarray(end + 1, end + 1 + size));
    at = end + 1 + size + 1;
  }
  return contents;
}
