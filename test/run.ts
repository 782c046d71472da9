import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bunTests, cpuMsOf, type Failure, type TestOutcome, type TestRun } from './bun-tests.ts';
import { readFlaky } from './flaky.ts';
import { readTimes, timeTable } from './times.ts';

/**
 * `npm test [-- files]` and `npm run test:system [-- files]` run the tests of a target, and check its types and style at the same time. The
 * runner repeats files with a failure once, alone. A test that passes then depends on how busy the machine is; it fails the run unless
 * `test/flaky.json` names it. The exit code is 1 if anything failed.
 */
const cwd = join(import.meta.dir, '..');

interface Target {
  /** The npm script that checks types and style. */
  readonly check: string;
  /** Flags that exclude files from `bun test`, whatever files you name. */
  readonly flags: readonly string[];
  /** The files to run unless you name files; empty for all. */
  readonly files: readonly string[];
  /** Whether the tests start many processes, so that building the program first saves time. */
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

/** The free memory, bytes, that an in-memory file system must have for the tests' data folders, with a wide margin. */
const ROOM = 4 * 1_024 ** 3;

/**
 * Creates a folder for the data of tests, in memory if there is room: on a disk, each commit waits for the disk, and each start of a server
 * waits six times.
 */
function dataFolder(): string {
  const folder = mkdtempSync(
    join(process.env.TMPDIR === undefined && hasRoom('/dev/shm') ? '/dev/shm' : tmpdir(), 'signalbox-tests-'),
  );
  // Some tests run commands as another user.
  chmodSync(folder, 0o711);
  return folder;
}

function hasRoom(path: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(path);
    return bavail * bsize >= ROOM;
  } catch {
    // This system has no `/dev/shm`.
    return false;
  }
}

/** The processes of this run, which must end before the folder of their data is removed. */
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

/** Starts the checks. The compiler ends before a garbage collection would pay off, so collection is off unless memory is short. */
function startChecks() {
  const env = { ...process.env, GOGC: 'off', GOMEMLIMIT: '2GiB' };
  const command = ['npm', 'run', '--silent', target.check];
  const child = Bun.spawn(command, { cwd, env, stdout: 'pipe', stderr: 'pipe' });
  children.add(child);
  const { exited, stdout, stderr } = child;
  const output = Promise.all([new Response(stdout).text(), new Response(stderr).text()]);
  return { code: exited, output: output.then((texts) => texts.join('')), cpuMs: () => cpuMsOf(child) };
}

/** Builds the program that test processes run (`support/signalbox.ts`). */
async function builtProgram(): Promise<{ readonly SIGNALBOX_TEST_PROGRAM: string }> {
  // A separate folder, so that no path of the tests begins with the path of the program.
  const outfile = join(folder, 'program/signalbox');
  const build = Bun.spawn([process.execPath, 'deploy/build.ts', '--outfile', outfile], { cwd, stdout: 'ignore' });
  children.add(build);
  if ((await build.exited) !== 0) process.exit(1);
  return { SIGNALBOX_TEST_PROGRAM: outfile };
}

/**
 * Settings of the engine with which tests take a quarter less CPU: no compiler tier that pays off only in long runs, no thread that grows
 * the heap in advance, and no timer that collects garbage before the heap has grown. The last two are settings of the program
 * (`src/main.ts`), which bound garbage and return freed memory after a second. Processes that tests start do not get these settings.
 */
const ENGINE = {
  BUN_JSC_useFTLJIT: '0',
  BUN_JSC_useWarmUpMarkedBlocks: '0',
  BUN_GC_TIMER_DISABLE: '1',
  BUN_JSC_heapGrowthFunctionThresholdInMB: '1000000',
  MIMALLOC_PURGE_DELAY: '1000',
};
/** The times of each file in the last run. The slowest files start first, so that all workers end at about the same time. */
const TIMINGS = ['--timings=node_modules/.cache/test-timings.json', '--update-timings'];
mkdirSync(join(cwd, 'node_modules/.cache'), { recursive: true });
/** Where the workers write the times of their files. */
const TIMES = join(folder, 'times.jsonl');
/** If more files than this fail, a busy machine is not the cause. */
const AGAIN_MAX = 5;

async function run(args: readonly string[]): Promise<TestRun> {
  // With `CI`, Bun refuses `test.only`.
  const env = { ...process.env, ...ENGINE, ...program, TMPDIR: folder, CI: '1', SIGNALBOX_TEST_TIMES: TIMES };
  return bunTests(args, env, (child) => children.add(child));
}

const isSame = (one: TestOutcome) => (other: TestOutcome) => one.file === other.file && one.test === other.test;

/** Runs failed files again, alone. Returns the tests that pass now, and failures that only this second run has. */
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
// Loading the same modules again would take most of a file's time, so the files of a worker share them.
const files = asked.length > 0 ? asked : target.files;
const first = await run(['--parallel=4', '--no-isolate', ...TIMINGS, ...target.flags, ...files]);
const checked = await checks.code;
const seconds = (ms: number) => `${Math.round(ms / 1_000)} s`;
say(timeTable(readTimes(TIMES)));
say(`${seconds(performance.now())}; CPU: ${seconds(first.cpuMs)} in tests, ${seconds(checks.cpuMs())} in checks`);
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
