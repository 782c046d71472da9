import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { SHIPPED_FOLDERS } from '../src/host/program.ts';
import { buildConsole } from './console.ts';
import { LICENCES_FILE, thirdPartyLicences } from './licences.ts';
import { commitHere, programBuild, ROOT, run } from './program.ts';

/**
 * `npm run build` builds Signalbox as one binary that needs neither Bun nor node_modules. `--outfile` sets the output file, `--target` the
 * machine, and `--commit` the commit of sources without a clone. The same sources, dependencies and version of Bun give the same bytes.
 */
/** For each machine, the package of Bun in package-lock.json and Bun's name for the machine. */
const TARGETS = {
  'linux-x64': { compile: 'bun-linux-x64', from: '@oven/bun-linux-x64' },
  'linux-arm64': { compile: 'bun-linux-arm64', from: '@oven/bun-linux-aarch64' },
  'linux-x64-musl': { compile: 'bun-linux-x64-musl', from: '@oven/bun-linux-x64-musl' },
  'linux-arm64-musl': { compile: 'bun-linux-arm64-musl', from: '@oven/bun-linux-aarch64-musl' },
  'darwin-arm64': { compile: 'bun-darwin-arm64', from: '@oven/bun-darwin-aarch64' },
} as const;
export type Target = keyof typeof TARGETS;

/** The machines that a release has a program for. */
export const PROGRAMS: readonly Target[] = ['linux-x64', 'linux-arm64', 'darwin-arm64'];

/** Flags for Bun, the same as in the first line of main.ts. main.ts sets the flags that are environment variables there. */
const FLAGS = ['--no-install', '--max-http-header-size=262144'];

/**
 * Builds the program. Writes the licence texts of its packages into the same folder.
 * @param target null for this machine
 * @param commit the first digits of the commit, empty if it is not known
 */
export async function buildProgram(outfile: string, target: Target | null, commit: string): Promise<void> {
  process.chdir(ROOT);
  await buildConsole();
  const scratch = mkdtempSync(join(tmpdir(), 'signalbox-build-'));
  try {
    const runtime =
      target === null ? {} : { target: TARGETS[target].compile, executablePath: await runtimeOf(target, scratch) };
    await Bun.build({
      ...programBuild('binary', commit),
      // Without bytecode, parsing takes a third of the time of a start. Earlier versions of Bun made bytecode that crashed on other
      // machines.
      bytecode: target === null,
      compile: {
        ...runtime,
        outfile,
        assets: [...SHIPPED_FOLDERS],
        execArgv: FLAGS,
        // Files in the folder in which a user starts the binary must not change settings or run code.
        autoloadDotenv: false,
        autoloadBunfig: false,
        // Plugins may use path aliases in tsconfig.json, and packages name their entry file in package.json.
        autoloadTsconfig: true,
        autoloadPackageJson: true,
      },
    });
    writeFileSync(join(dirname(outfile), LICENCES_FILE), thirdPartyLicences());
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Downloads Bun for another machine from npm and checks it against package-lock.json. */
async function runtimeOf(target: Target, scratch: string): Promise<string> {
  const { from } = TARGETS[target];
  const lock: Lock = await Bun.file('package-lock.json').json();
  const { version, integrity } = lock.packages[`node_modules/${from}`] ?? {};
  if (version !== Bun.version || integrity === undefined)
    throw new Error(`package-lock.json has no ${from} for Bun ${Bun.version}, which runs this build. Run npm ci.`);
  run('npm', 'pack', '--silent', '--pack-destination', scratch, `${from}@${version}`);
  const archive = readdirSync(scratch).find((name) => name.endsWith('.tgz'));
  if (archive === undefined) throw new Error(`npm did not download ${from}@${version}.`);
  const hash = new Bun.CryptoHasher('sha512').update(readFileSync(join(scratch, archive))).digest('base64');
  if (`sha512-${hash}` !== integrity)
    throw new Error(`${from}@${version} differs from the package in package-lock.json. Run npm ci.`);
  run('tar', '-xzf', join(scratch, archive), '-C', scratch);
  return join(scratch, 'package/bin/bun');
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly integrity?: string }>>;
}

const isTarget = (name: string): name is Target => Object.hasOwn(TARGETS, name);

if (import.meta.main) {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { target: text, outfile: text, commit: text } });
  const { target } = values;
  const commit = values.commit?.slice(0, 8) || commitHere();
  if (target !== undefined && !isTarget(target)) {
    process.stderr.write(`build: There is no target ${target}. The targets are ${Object.keys(TARGETS).join(', ')}.\n`);
    process.exit(1);
  }
  const outfile = resolve(
    values.outfile ?? join(ROOT, 'dist', target === undefined ? 'signalbox' : `signalbox-${target}`),
  );
  await buildProgram(outfile, target ?? null, commit);
  const megabytes = (statSync(outfile).size / 1_000_000).toFixed(1);
  const hash = new Bun.CryptoHasher('sha256').update(readFileSync(outfile)).digest('hex');
  const about = `Signalbox ${manifest.version}${commit && `+${commit}`}, Bun ${Bun.version}, ${megabytes} MB`;
  process.stdout.write(`${relative(process.cwd(), outfile)}: ${about}\nsha256 ${hash}\n`);
}
