import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { commitOf } from '../src/server/version.ts';
import { buildConsole } from './console.ts';

/**
 * `npm run build`: Signalbox as one program that needs neither Bun nor node_modules. `--outfile` says where it goes,
 * `--target` for which machine it is, `--commit` of which commit sources without a clone are. The same sources, dependencies and Bun make the same bytes.
 */
const ROOT = join(import.meta.dir, '..');

/** The package of Bun for each machine that package-lock.json knows one for, and what Bun calls it. */
const TARGETS = {
  'linux-x64': { compile: 'bun-linux-x64', from: '@oven/bun-linux-x64' },
  'linux-arm64': { compile: 'bun-linux-arm64', from: '@oven/bun-linux-aarch64' },
  'linux-x64-musl': { compile: 'bun-linux-x64-musl', from: '@oven/bun-linux-x64-musl' },
  'linux-arm64-musl': { compile: 'bun-linux-arm64-musl', from: '@oven/bun-linux-aarch64-musl' },
} as const;
type Target = keyof typeof TARGETS;

/** The program, and the workers that it starts by their files' names: all of them lie flat in the one folder that it holds. */
const ENTRIES = [
  'src/main.ts',
  'src/policy/runtime/parse-worker.ts',
  'src/server/audit-worker.ts',
  'src/providers/tokenizer/count-worker.ts',
  'src/tools/plugin/trial-worker.ts',
];
/** Folders that it reads at run time; each is there by its last name. */
const FOLDERS = ['policies', 'src/tools/plugin/templates', 'dist/console', 'docs'];

/** Bun's own flags, as the first line of main.ts has them; what is an environment variable there, main.ts sets. */
const FLAGS = ['--no-install', '--max-http-header-size=262144'];

async function build(outfile: string, target: Target | null, commit: string): Promise<void> {
  process.chdir(ROOT);
  await buildConsole();
  const scratch = mkdtempSync(join(tmpdir(), 'signalbox-build-'));
  try {
    const runtime =
      target === null ? {} : { target: TARGETS[target].compile, executablePath: await runtimeOf(target, scratch) };
    await Bun.build({
      entrypoints: ENTRIES,
      target: 'bun',
      // A command reads no more of the program than it needs.
      splitting: true,
      format: 'esm',
      // Without it, parsing takes a third of a start. Earlier Buns made programs that crashed on other machines.
      bytecode: target === null,
      naming: { entry: '[name].[ext]', chunk: '[name]-[hash].[ext]', asset: '[name]-[hash].[ext]' },
      minify: { syntax: true, whitespace: true },
      // Where it runs is known when it runs, not when it is built.
      define: { 'process.env.NODE_ENV': 'process.env.NODE_ENV', BUILT_COMMIT: JSON.stringify(commit) },
      compile: {
        ...runtime,
        outfile,
        assets: FOLDERS,
        execArgv: FLAGS,
        // Files of the folder that it is started in are no settings of it, and no code to run.
        autoloadDotenv: false,
        autoloadBunfig: false,
        // Plugins may have names for their own files in tsconfig.json, and packages say in package.json where they begin.
        autoloadTsconfig: true,
        autoloadPackageJson: true,
      },
    });
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Bun for another machine: its package on npm, which must be the one that package-lock.json knows. */
async function runtimeOf(target: Target, scratch: string): Promise<string> {
  const { from } = TARGETS[target];
  const lock: Lock = await Bun.file('package-lock.json').json();
  const { version, integrity } = lock.packages[`node_modules/${from}`] ?? {};
  if (version !== Bun.version || integrity === undefined)
    throw new Error(`package-lock.json has no ${from} of Bun ${Bun.version}, which builds; run npm ci.`);
  run('npm', 'pack', '--silent', '--pack-destination', scratch, `${from}@${version}`);
  const archive = readdirSync(scratch).find((name) => name.endsWith('.tgz'));
  if (archive === undefined) throw new Error(`npm did not bring ${from}@${version}.`);
  const hash = new Bun.CryptoHasher('sha512').update(readFileSync(join(scratch, archive))).digest('base64');
  if (`sha512-${hash}` !== integrity)
    throw new Error(`${from}@${version} is not the one that package-lock.json names.`);
  run('tar', '-xzf', join(scratch, archive), '-C', scratch);
  return join(scratch, 'package/bin/bun');
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

function run(...command: readonly string[]): string {
  const { stdout, stderr, exitCode } = Bun.spawnSync([...command]);
  if (exitCode !== 0) throw new Error(`${command.join(' ')} failed: ${stderr.toString().trim()}`);
  return stdout.toString().trim();
}

/** The commit of these sources; `.dirty` behind it where git is there and finds that files differ from it. */
function commitHere(): string {
  const commit = commitOf(ROOT);
  try {
    return commit !== '' && run('git', '-C', ROOT, 'status', '--porcelain', '-uno') !== '' ? `${commit}.dirty` : commit;
  } catch {
    return commit;
  }
}

const isTarget = (name: string): name is Target => Object.hasOwn(TARGETS, name);

const text = { type: 'string' } as const;
const { values } = parseArgs({ options: { target: text, outfile: text, commit: text } });
const { target } = values;
const commit = values.commit?.slice(0, 8) || commitHere();
if (target !== undefined && !isTarget(target)) {
  process.stderr.write(`build: There is no target ${target}; there are ${Object.keys(TARGETS).join(', ')}.\n`);
  process.exit(1);
}
const outfile = resolve(
  values.outfile ?? join(ROOT, 'dist', target === undefined ? 'signalbox' : `signalbox-${target}`),
);
await build(outfile, target ?? null, commit);
const megabytes = (statSync(outfile).size / 1_000_000).toFixed(1);
const hash = new Bun.CryptoHasher('sha256').update(readFileSync(outfile)).digest('hex');
const about = `Signalbox ${manifest.version}${commit && `+${commit}`}, Bun ${Bun.version}, ${megabytes} MB`;
process.stdout.write(`${relative(process.cwd(), outfile)}: ${about}\nsha256 ${hash}\n`);
