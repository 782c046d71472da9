import { mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bunTests, type Failure, type TestOutcome, type TestRun } from './bun-tests.ts';
import { readFlaky } from './flaky.ts';

/**
 * `npm test [-- files]` and `npm run test:system [-- files]`: the tests of a target, with its types and style checked at the same time.
 * Files with a failure run once more, alone: a test that passes then depends on how busy the machine is, which fails the run as
 * well unless `test/flaky.json` names it. Ends with 1 when anything failed.
 */
const cwd = join(import.meta.dir, '..');

interface Target {
  /** The npm script that checks types and style. */
  readonly check: string;
  /** What `bun test` leaves out, whatever files are asked for. */
  readonly flags: readonly string[];
  /** What it runs unless files are asked for; empty for all. */
  readonly files: readonly string[];
  /** Whether tests start enough processes that the program is built for them first. */
  readonly startsProcesses: boolean;
}
const SYSTEM = 'test/system';
const TARGETS: Readonly<Record<'test' | 'system', Target>> = {
  test: { check: 'check', flags: [`--path-ignore-patterns=${SYSTEM}/**`], files: [], startsProcesses: false },
  system: { check: 'check:system', flags: [], files: [SYSTEM], startsProcesses: true },
};

const isSystem = process.argv[2] === 'system';
const target = TARGETS[isSystem ? 'system' : 'test'];
const asked = process.argv.slice(isSystem ? 3 : 2);

/** Bytes of a file system in memory that the tests' data folders fit into many times. */
const ROOM = 4 * 1_024 ** 3;

/** A folder for the data of tests, in memory where there is room: each commit waits for a disk, and each start of a server six times. */
function dataFolder(): string {
  return mkdtempSync(
    join(process.env.TMPDIR === undefined && hasRoom('/dev/shm') ? '/dev/shm' : tmpdir(), 'signalbox-tests-'),
  );
}

function hasRoom(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize >= ROOM;
  } catch {
    // This system has no such folder.
    return false;
  }
}

/** The processes of this run: they end before the folder of their data is removed. */
const children = new Set<Bun.Subprocess>();
const folder = dataFolder();
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
] as const)
  process.on(signal, async () => {
    for (const child of children) child.kill(signal);
    await Promise.all([...children].map(({ exited }) => exited));
    process.exit(code);
  });

/** Starts the checks. The compiler is done before its garbage is worth a collection, unless memory is short. */
function startChecks(): { readonly code: Promise<number>; readonly output: Promise<string> } {
  const env = { ...process.env, GOGC: 'off', GOMEMLIMIT: '2GiB' };
  const command = ['npm', 'run', '--silent', target.check];
  const child = Bun.spawn(command, { cwd, env, stdout: 'pipe', stderr: 'pipe' });
  children.add(child);
  const { exited, stdout, stderr } = child;
  const output = Promise.all([new Response(stdout).text(), new Response(stderr).text()]);
  return { code: exited, output: output.then((texts) => texts.join('')) };
}

/** Builds the program that processes of tests run, as `support/signalbox.ts` says. */
async function builtProgram(): Promise<{ readonly SIGNALBOX_TEST_PROGRAM: string }> {
  // In a folder of its own, so that no path of the tests begins with its name.
  const outfile = join(folder, 'program/signalbox');
  const build = Bun.spawn([process.execPath, 'deploy/build.ts', '--outfile', outfile], { cwd, stdout: 'ignore' });
  children.add(build);
  if ((await build.exited) !== 0) process.exit(1);
  return { SIGNALBOX_TEST_PROGRAM: outfile };
}

/**
 * The highest tier of the engine's compiler costs more than it saves in tests of this length: without it they take a seventh less
 * CPU. The heap does not grow in advance either, which a second thread does.
 */
const ENGINE = { BUN_JSC_useFTLJIT: '0', BUN_JSC_useWarmUpMarkedBlocks: '0' };
/** The time of each file in the last run, so that the slowest start first and no worker ends long after the others. */
const TIMINGS = ['--timings=node_modules/.cache/test-timings.json', '--update-timings'];
mkdirSync(join(cwd, 'node_modules/.cache'), { recursive: true });
/** With more failing files than these, something else than a busy machine is the cause. */
const AGAIN_MAX = 5;

async function run(args: readonly string[]): Promise<TestRun> {
  // In CI Bun refuses `test.only`.
  const env = { ...process.env, ...ENGINE, ...program, TMPDIR: folder, CI: '1' };
  return bunTests(args, env, (child) => children.add(child));
}

const isSame = (one: TestOutcome) => (other: TestOutcome) => one.file === other.file && one.test === other.test;

/** The tests that failed in the first run and pass alone, and failures of the second run alone. */
async function runAgain({ failures, failed }: TestRun) {
  const files = [...new Set(failures.map(({ file }) => file))];
  // If a process crashed, some tests did not run.
  if (failed === 0 || failed !== failures.length || files.length > AGAIN_MAX) return { flaky: [], more: [] };
  const again = await run(files);
  return {
    flaky: failures.filter((one) => again.passes.some(isSame(one)) && !again.failures.some(isSame(one))),
    more: again.failures.filter((one) => !failures.some(isSame(one))),
  };
}

const say = (text: string): void => {
  process.stderr.write(`\n${text}\n`);
};
const tell = (heading: string, failures: readonly Failure[]): void => {
  if (failures.length > 0) say([heading, ...failures.map(({ text }) => text)].join('\n'));
};

const known = readFlaky();
const checks = startChecks();
const program = target.startsProcesses && asked.length === 0 ? await builtProgram() : {};
// Most of a file's time would go into loading the same modules again, so the files of a worker share them.
const files = asked.length > 0 ? asked : target.files;
const first = await run(['--parallel=4', '--no-isolate', ...TIMINGS, ...target.flags, ...files]);
const checked = await checks.code;
const { flaky, more } = await runAgain(first);
const excused = flaky.filter((one) => known.some(isSame(one)));
const unknown = flaky.filter((one) => !excused.includes(one));
const failed = first.failed - excused.length + more.length;
tell('Failed in the full run, passed alone, and named in test/flaky.json:', excused);
tell('What failed:', [...first.failures.filter((one) => !excused.includes(one)), ...more]);
if (first.failed > first.failures.length) say('A process crashed, or a file could not be loaded: see above.');
if (unknown.length > 0) {
  const names = unknown.map(({ file, test }) => `  ${file}: ${test}`);
  const advice = 'Correct the test, or name it in test/flaky.json with its cause:';
  say([`These passed when they ran alone, so they depend on how busy the machine is. ${advice}`, ...names].join('\n'));
}
if (checked !== 0) say(`The checks failed: npm run ${target.check}\n${await checks.output}`);
say(`${first.passed + excused.length} passed, ${failed} failed`);
const isRight = failed === 0 && (first.code === 0 || excused.length > 0);
process.exit(checked === 0 && isRight ? 0 : 1);
