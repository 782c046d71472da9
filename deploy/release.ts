import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PRICE_DAYS_MAX } from '../src/policy/models/facts.ts';
import { STALE_AFTER_DAYS } from '../src/policy/models/figures.ts';
import { PROGRAMS } from './build.ts';
import { pendingChanges, withRelease } from './changes.ts';
import { oldPrices, staleFigures } from './figures.ts';
import { originHere, RELEASE_VARIABLE, repositoryFields } from './package.ts';
import { ROOT } from './program.ts';
import { VERSION, versionOf } from './versions.ts';

/**
 * `npm run release -- VERSION` prepares a release: one commit, and its files in `dist/VERSION`. It works in a worktree of its own and adds
 * the commit to the current branch only after every check has passed. It neither tags nor pushes nor publishes. After an interruption, run
 * it again. `--skip-tests` leaves out the tests, for a commit that CI has tested.
 */

/** The reason why there is no release. Nothing has changed then. */
class Refusal extends Error {}

const DIST = join(ROOT, 'dist');
/** An interrupted release leaves this worktree, and the next one removes it. */
const TREE = join(DIST, 'release');
const LOG = join(DIST, 'release.log');
/** The machine of this process, as the names of programs state it. */
const HERE = `${process.platform}-${process.arch}`;
/** So many of the last lines of a failed check are shown. */
const LINES_SHOWN = 40;

interface Step {
  readonly what: string;
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly isTest?: true;
}

/** Runs a step in the worktree. Its output goes to the log. @throws Refusal with the last lines if it fails */
function runStep({ what, command, env }: Step): void {
  process.stdout.write(`${what}: ${command.join(' ')}\n`);
  const before = statSync(LOG).size;
  const log = openSync(LOG, 'a');
  try {
    const { exitCode } = Bun.spawnSync([...command], {
      cwd: TREE,
      env: { ...process.env, ...env },
      stdin: 'ignore',
      stdout: log,
      stderr: log,
    });
    if (exitCode === 0) return;
  } finally {
    closeSync(log);
  }
  const printed = readFileSync(LOG).subarray(before).toString().trimEnd().split('\n');
  throw new Refusal(`${what} failed. ${LOG} has all lines; the last are:\n${printed.slice(-LINES_SHOWN).join('\n')}`);
}

function git(...args: readonly string[]): string {
  const { stdout, stderr, exitCode } = Bun.spawnSync(['git', '-C', ROOT, ...args]);
  if (exitCode !== 0) throw new Refusal(`git ${args.join(' ')} failed: ${stderr.toString().trim()}`);
  return stdout.toString().trim();
}

/** @throws Refusal if a release of this version cannot start from these sources */
function checkStart(version: string, day: string): void {
  if (!VERSION.test(version)) throw new Refusal('Name the version: npm run release -- 0.2.0');
  if (!existsSync(join(ROOT, '.git'))) throw new Refusal('A release needs a clone of the repository with git.');
  if (!PROGRAMS.some((target) => target === HERE))
    throw new Refusal(`A release has no program for ${HERE}, and one is tried. Run it on ${PROGRAMS.join(', ')}.`);
  const changed = git('status', '--porcelain');
  if (changed !== '') throw new Refusal(`These files differ from the commit. Commit or remove them:\n${changed}`);
  const current = versionOf(ROOT);
  if (Bun.semver.order(version, current) <= 0)
    throw new Refusal(`${version} is not higher than ${current}, the version in package.json.`);
  if (git('tag', '--list', `v${version}`) !== '') throw new Refusal(`The tag v${version} exists already.`);
  const changes = pendingChanges(ROOT);
  if (changes.length === 0) throw new Refusal('changes/ has no change, so there is nothing to release.');
  try {
    withRelease(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'), changes, version, day);
  } catch (cause) {
    throw new Refusal(cause instanceof Error ? cause.message : String(cause));
  }
}

/** @throws Refusal if a shipped price was not checked lately: users pay by these prices */
function checkPrices(old: readonly string[]): void {
  if (old.length === 0) return;
  const lines = old.map((one) => `\n  ${one}`).join('');
  throw new Refusal(
    `These prices are older than ${PRICE_DAYS_MAX} days. Renew them with ./signalbox catalog update:${lines}`,
  );
}

/** Lists old figures other than prices, without refusing the release, because their sources may state nothing newer. */
function tellOfFigures(stale: readonly string[]): void {
  if (stale.length === 0) return;
  const lines = stale.map((message) => `  ${message}\n`).join('');
  process.stdout.write(
    `Users get warnings about ${stale.length} figures of policies/, which are older than ${STALE_AFTER_DAYS} days. Check each at its source:\n${lines}`,
  );
}

/** The steps that write the files of the commit. */
const editsFor = (version: string): readonly Step[] => [
  { what: 'Installing the packages', command: ['deploy/install.sh'] },
  { what: 'Setting the version', command: ['npm', 'run', '--silent', 'versions', '--', version] },
  { what: 'Writing the changelog', command: ['npm', 'run', '--silent', 'changes', '--', version] },
  { what: 'Writing the bill of materials', command: ['npm', 'run', '--silent', 'sbom'] },
];

/** npm refuses a version with a hyphen under its default tag. */
const tagOf = (version: string): string => (version.includes('-') ? 'next' : 'latest');

/** The steps after the commit, which the programs state in their version. */
function checksFor(version: string, commit: string): readonly Step[] {
  const program = `dist/${version}/signalbox-${version}-${HERE}`;
  const trial = 'test "$("$0" --version)" = "$1"';
  return [
    { what: 'The check of types and style', command: ['npm', 'run', '--silent', 'check'] },
    { what: 'The tests', command: ['.ci/run'], isTest: true },
    { what: 'Building the files of the release', command: ['npm', 'run', '--silent', 'distribution'] },
    { what: 'The trial of the program', command: ['sh', '-c', trial, program, `${version}+${commit.slice(0, 8)}`] },
    {
      what: 'The trial of publishing',
      command: ['npm', 'publish', '--dry-run', '--tag', tagOf(version), `./dist/${version}/package`],
      env: { [RELEASE_VARIABLE]: version },
    },
  ];
}

/** Removes the worktree, also one that an interrupted release left. */
function removeTree(): void {
  rmSync(TREE, { recursive: true, force: true });
  git('worktree', 'prune');
}

/**
 * Prepares a release. Rejects with Refusal; then neither the branch nor the files of the clone have changed.
 * @param version such as `0.2.0`
 * @param withTests false to leave out the tests
 */
async function release(version: string, withTests: boolean): Promise<string> {
  mkdirSync(DIST, { recursive: true });
  writeFileSync(LOG, '');
  const day = new Date().toISOString().slice(0, 10);
  checkStart(version, day);
  checkPrices(await oldPrices(ROOT, day));
  tellOfFigures(await staleFigures(ROOT, day));
  const base = git('rev-parse', 'HEAD');
  removeTree();
  try {
    git('worktree', 'add', '--quiet', '--detach', TREE, base);
    for (const step of editsFor(version)) runStep(step);
    git('-C', TREE, 'commit', '--quiet', '--all', '--message', `all: prepare release ${version}`);
    const commit = git('-C', TREE, 'rev-parse', 'HEAD');
    for (const step of checksFor(version, commit)) if (withTests || !step.isTest) runStep(step);
    if (git('rev-parse', 'HEAD') !== base || git('status', '--porcelain') !== '')
      throw new Refusal('The clone has changed since the release began. Run it again.');
    const files = join(DIST, version);
    rmSync(files, { recursive: true, force: true });
    renameSync(join(TREE, 'dist', version), files);
    git('merge', '--quiet', '--ff-only', commit);
    return commit;
  } finally {
    removeTree();
  }
}

/** Says what the release lacks for a provenance, which only a job of CI with OIDC can create. */
function provenanceHint(): string {
  return repositoryFields(originHere()).repository === undefined
    ? 'The package names no repository, because the remote origin is not a public address on GitHub or GitLab. It can have no provenance.'
    : 'In a job of CI with an OIDC token, add --provenance to npm publish. On another machine, npm refuses the flag.';
}

const { values, positionals } = parseArgs({
  options: { 'skip-tests': { type: 'boolean' } },
  allowPositionals: true,
});
const [version = ''] = positionals;
try {
  const commit = await release(version, values['skip-tests'] !== true);
  process.stdout.write(`Prepared ${version} in commit ${commit.slice(0, 8)}. Its files are in dist/${version}.
Look through the commit and CHANGELOG.md. Then:
  git tag v${version} && git push origin HEAD v${version}
  ${RELEASE_VARIABLE}=${version} npm publish --tag ${tagOf(version)} ./dist/${version}/package
  docker build --build-arg REVISION=${commit} -t signalbox:${version} .
Publish the image, and the files of dist/${version} with their SHA256SUMS.
${provenanceHint()}
`);
} catch (cause) {
  if (!(cause instanceof Refusal)) throw cause;
  process.stderr.write(`release: ${cause.message}\n`);
  process.exit(1);
}
