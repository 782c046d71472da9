import { chmodSync, cpSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { PACKAGE_NAME as NAME, PACKAGED_PLUGIN_MODULE, SHIPPED_FOLDERS } from '../src/host/program.ts';
import { buildConsole } from './console.ts';
import { LICENCES_FILE, thirdPartyLicences } from './licences.ts';
import { buildPluginModule } from './plugin-module.ts';
import { commitHere, programBuild, ROOT, run } from './program.ts';

/**
 * `npm run package` builds Signalbox as a package of npm, whose only dependency is Bun: the folder `dist/package`, and the file
 * `dist/signalbox-VERSION.tgz`. `--out` names another folder than `dist`, and `--commit` the commit of sources without a clone.
 */
/** The folder of the program in the package. */
const PROGRAM = 'program';

/** `npm run release` sets this variable to the version that it publishes. */
export const RELEASE_VARIABLE = 'SIGNALBOX_RELEASE';
const REFUSAL = 'Publish this package only with npm run release in a clone of Signalbox.';

/** The address of the remote `origin`, empty if there is none. */
export function originHere(): string {
  try {
    return run('git', '-C', ROOT, 'remote', 'get-url', 'origin');
  } catch {
    return '';
  }
}

/**
 * Returns the fields of the manifest that need a public repository: none if the remote is not on GitHub or GitLab.
 * @param remote the address of a remote of git. Credentials in it do not get into the fields.
 */
export function repositoryFields(remote: string): {
  repository?: { type: 'git'; url: string };
  homepage?: string;
  bugs?: string;
} {
  const [, host, path] =
    /^(?:https:\/\/(?:[^@/]*@)?|git@|ssh:\/\/git@)(github\.com|gitlab\.com)[:/]([\w.-]+(?:\/[\w.-]+)+)$/.exec(
      remote.replace(/(?:\.git)?\/?$/, ''),
    ) ?? [];
  if (host === undefined) return {};
  const page = `https://${host}/${path}`;
  return {
    repository: { type: 'git', url: `git+${page}.git` },
    homepage: `${page}#readme`,
    bugs: `${page}${host === 'gitlab.com' ? '/-' : ''}/issues`,
  };
}

/** The manifest of the package. Its facts come from the manifest of the sources. */
function published(): object {
  const { version, description, license, type, engines, dependencies } = manifest;
  const check = `process.env.${RELEASE_VARIABLE} === '${version}' || (console.error('${REFUSAL}'), process.exit(1))`;
  return {
    ...{ name: NAME, version, description, license, type, engines },
    keywords: ['llm', 'gateway', 'proxy', 'router', 'openai', 'anthropic', 'policy', 'budgets'],
    os: ['linux', 'darwin'],
    publishConfig: { access: 'public' },
    ...repositoryFields(originHere()),
    // npx without a program's name runs the program that has the name of the package.
    bin: { signalbox: 'signalbox', [NAME]: 'signalbox' },
    exports: {
      './plugin': {
        types: `./${PACKAGED_PLUGIN_MODULE.replace(/\.js$/, '.d.ts')}`,
        default: `./${PACKAGED_PLUGIN_MODULE}`,
      },
      './package.json': './package.json',
    },
    files: ['signalbox', PROGRAM, PACKAGED_PLUGIN_MODULE.split('/')[0]!, 'CHANGELOG.md', LICENCES_FILE],
    scripts: { prepublishOnly: `node -e "${check}"` },
    dependencies: { bun: dependencies.bun },
  };
}

/**
 * The launcher finds its folder like the launcher of a clone. Bun runs the program with the flags of the first line of main.ts. npm puts Bun
 * next to this package or into its own packages.
 */
function launcher(): string {
  const [, findsHome] = /\n(file=\$0\n[\s\S]*?\nhome=.*\n)/.exec(readFileSync(join(ROOT, 'signalbox'), 'utf8')) ?? [];
  if (findsHome === undefined) throw new Error('The file signalbox does not find its folder as expected.');
  return `#!/bin/sh
# Runs Signalbox.
set -eu

${findsHome}
# npx without a command serves.
case $home in */_npx/*) [ $# -gt 0 ] || set -- serve ;; esac

SIGNALBOX_COMMAND=$0 PATH=$home/node_modules/.bin:$home/../.bin:$PATH exec "$home/${PROGRAM}/main.js" "$@"
`;
}

const README = `# Signalbox

A self-hosted LLM gateway and policy engine. Applications call one endpoint. Signalbox chooses the model, calls the provider, charges the cost in
Credits and explains every choice.

In the folder where you installed this package:

    node_modules/.bin/signalbox init
    node_modules/.bin/signalbox serve

\`init\` writes the shipped policy into \`policies/\`, so that you can edit it. The server prints its address, your first API key, and the address of the
console. The documentation is at /docs/guide of your server.
`;

/**
 * Builds the package.
 * @param out gets the folder `package` and the file for npm
 * @param commit the first digits of the commit, empty if it is not known
 * @returns the path of the file
 */
export async function buildPackage(out: string, commit: string): Promise<string> {
  process.chdir(ROOT);
  await buildConsole();
  const home = join(out, 'package');
  rmSync(home, { recursive: true, force: true });
  const program = join(home, PROGRAM);
  mkdirSync(program, { recursive: true });
  await Bun.build({ ...programBuild('package', commit), outdir: program });
  await buildPluginModule(home);
  chmodSync(join(program, 'main.js'), 0o755);
  for (const folder of SHIPPED_FOLDERS)
    cpSync(join(ROOT, folder), join(program, basename(folder)), { recursive: true });
  for (const file of ['LICENSE', 'CHANGELOG.md']) cpSync(join(ROOT, file), join(home, file));
  writeFileSync(join(home, LICENCES_FILE), thirdPartyLicences());
  writeFileSync(join(home, 'README.md'), README);
  writeFileSync(join(home, 'package.json'), `${JSON.stringify(published(), null, 2)}\n`);
  writeFileSync(join(home, 'signalbox'), launcher(), { mode: 0o755 });
  const made = run('npm', 'pack', '--silent', '--pack-destination', out, home);
  const file = join(out, `signalbox-${manifest.version}.tgz`);
  renameSync(join(out, made), file);
  return file;
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { out: { type: 'string' }, commit: { type: 'string' } } });
  const file = await buildPackage(
    resolve(values.out ?? join(ROOT, 'dist')),
    values.commit?.slice(0, 8) || commitHere(),
  );
  const megabytes = (statSync(file).size / 1_000_000).toFixed(1);
  process.stdout.write(`${relative(process.cwd(), file)}: ${NAME} ${manifest.version}, ${megabytes} MB\n`);
}
