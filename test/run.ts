import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFlaky } from './flaky.ts';
import { TIME_LIMIT_MS } from './time-limit.ts';

/**
 * `npm test [-- files]` and `npm run test:system [-- files]`: the tests of a target, with its types and style checked at the same time.
 * Files with a failure run once more, alone: a test that passes then depends on how busy the machine is, which fails the run as
 * well unless `test/flaky.json` names it. Ends with 1 when anything failed.
 */
const cwd = join(import.meta.dir, '..');

interface Target {
  /** The npm script that checks types and style. */
  readonly check: string;
  /** What `bun test` runs. */
  readonly files: readonly string[];
  /** Whether tests start enough processes that the program is built for them first. */
  readonly startsProcesses: boolean;
}
const SYSTEM = 'test/system';
const TARGETS: Readonly<Record<'test' | 'system', Target>> = {
  test: { check: 'check', files: [`--path-ignore-patterns=${SYSTEM}/**`], startsProcesses: false },
  system: { check: 'check:system', files: [SYSTEM], startsProcesses: true },
};

const isSystem = process.argv[2] === 'system';
const target = TARGETS[isSystem ? 'system' : 'test'];
const asked = process.argv.slice(isSystem ? 3 : 2);

/** Bytes of a file system in memory that the tests' data folders fit into many times. */
const ROOM = 4 * 1_024 ** 3;

/** A folder for the data of tests, in memory where there is room: each commit waits for a disk, and each start of a server six times. */
function dataFolder(): string {
  const name = 'signalbox-tests-';
  try {
    if (process.env.TMPDIR !== undefined) return mkdtempSync(join(tmpdir(), name));
    const { bavail, bsize } = statfsSync('/dev/shm');
    if (bavail * bsize >= ROOM) return mkdtempSync(`/dev/shm/${name}`);
  } catch {
    // This system has no such folder.
  }
  return mkdtempSync(join(tmpdir(), name));
}

const folder = dataFolder();
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** Starts the checks. The compiler is done before its garbage is worth a collection, unless memory is short. */
function startChecks(): { readonly code: Promise<number>; readonly output: Promise<string> } {
  const env = { ...process.env, GOGC: 'off', GOMEMLIMIT: '2GiB' };
  const { exited, stdout, stderr } = Bun.spawn(['npm', 'run', '--silent', target.check], {
    ...{ cwd, env },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const output = Promise.all([new Response(stdout).text(), new Response(stderr).text()]);
  return { code: exited, output: output.then((texts) => texts.join('')) };
}

/** Builds the program that processes of tests run, as `support/signalbox.ts` says. */
async function builtProgram(): Promise<{ readonly SIGNALBOX_TEST_PROGRAM: string }> {
  // In a folder of its own, so that no path of the tests begins with its name.
  const outfile = join(folder, 'program/signalbox');
  const build = Bun.spawn([process.execPath, 'deploy/build.ts', '--outfile', outfile], { cwd, stdout: 'ignore' });
  if ((await build.exited) !== 0) process.exit(1);
  return { SIGNALBOX_TEST_PROGRAM: outfile };
}

/**
 * The highest tier of the engine's compiler costs more than most tests run long: without it they take a seventh less CPU. Nor is
 * its heap given room ahead of need, by a thread of its own.
 */
const ENGINE = { BUN_JSC_useFTLJIT: '0', BUN_JSC_useWarmUpMarkedBlocks: '0' };
/** The most lines of one failure that are repeated at the end. */
const LINES_MAX = 60;
/** Bun prints an error that no test has, such as one while a file loads, under this heading and between two rules. */
const OUTSIDE = '# Unhandled error between tests';
const RULE = '-------------------------------';
/** With more failing files than these, something else than a busy machine is the cause. */
const AGAIN_MAX = 5;

interface Failure {
  readonly file: string;
  /** As the output names it. */
  readonly test: string;
  /** The error and where it was thrown. */
  readonly text: string;
}

/** The outcome of a run of tests. */
interface TestRun {
  readonly code: number;
  readonly passed: number;
  readonly failed: number;
  readonly failures: readonly Failure[];
}

/** Runs tests, and passes their output on. */
async function run(args: readonly string[], program: Readonly<Record<string, string>>): Promise<TestRun> {
  const tests = Bun.spawn([process.execPath, 'test', `--timeout=${TIME_LIMIT_MS}`, ...args], {
    cwd,
    // In CI Bun refuses `test.only`.
    env: { ...process.env, ...ENGINE, ...program, TMPDIR: folder, CI: '1' },
    stdout: 'inherit',
    stderr: 'pipe',
  });
  const failures: Failure[] = [];
  const counts = { pass: 0, fail: 0 };
  const decoder = new TextDecoder();
  let rest = '';
  let lines: string[] = [];
  let file = '';
  let isListed = false;
  for await (const bytes of tests.stderr) {
    process.stderr.write(bytes);
    const whole = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = whole.pop() ?? '';
    for (const line of whole) {
      const [, number, kind] = /^ *(\d+) (pass|fail)$/.exec(line) ?? [];
      if (kind === 'pass' || kind === 'fail') counts[kind] = Number(number);
      // Bun ends with a list of failures, without their errors.
      isListed ||= /^\d+ tests? failed:$/.test(line);
      if (isListed) continue;
      file = /^(\S+\.test\.ts):$/.exec(line)?.[1] ?? file;
      lines.push(line);
      if (line === OUTSIDE) lines = [line];
      const isOutsideEnd = line === RULE && lines[0] === OUTSIDE && lines.length > 2;
      const test = isOutsideEnd ? OUTSIDE : /^\(fail\) (.*?)(?: \[[\d.]+m?s\])?$/.exec(line)?.[1];
      if (test !== undefined) failures.push({ file, test, text: lines.slice(-LINES_MAX).join('\n') });
      if (isOutsideEnd || /^\((pass|fail|skip|todo)\) /.test(line)) lines = [];
    }
  }
  return { code: await tests.exited, passed: counts.pass, failed: counts.fail, failures };
}

/** What failed in the first run and not alone, by whether `test/flaky.json` names it; null where no second run says so. */
async function runAgain(first: TestRun, program: Readonly<Record<string, string>>) {
  const files = [...new Set(first.failures.map(({ file }) => file))];
  // A process that ended otherwise than by failures has not run them all.
  if (first.failed === 0 || first.failed !== first.failures.length || files.length > AGAIN_MAX) return null;
  const again = await run(files, program);
  const still = new Set(again.failures.map(({ file, test }) => `${file} ${test}`));
  if (again.code !== 0 && still.size === 0) return null;
  const flaky = first.failures.filter(({ file, test }) => !still.has(`${file} ${test}`));
  const known = readFlaky();
  const isKnown = ({ file, test }: Failure) => known.some((one) => one.file === file && one.test === test);
  return { known: flaky.filter(isKnown), unknown: flaky.filter((one) => !isKnown(one)) };
}

const tell = (heading: string, failures: readonly Failure[]): void => {
  if (failures.length > 0) process.stderr.write(`\n${heading}\n${failures.map(({ text }) => text).join('\n')}\n`);
};

const checks = startChecks();
const program = target.startsProcesses && asked.length === 0 ? await builtProgram() : {};
// Most of a file's time would go into loading the same modules again, so the files of a worker share them.
const first = await run(['--parallel=3', '--no-isolate', ...(asked.length > 0 ? asked : target.files)], program);
const checked = await checks.code;
const again = await runAgain(first, program);
const excused = again?.known ?? [];
const failed = first.failed - excused.length;
tell('Failed beside others and passed alone, as test/flaky.json says:', excused);
tell(
  'What failed:',
  first.failures.filter((one) => !excused.includes(one)),
);
if (again && again.unknown.length > 0) {
  const names = again.unknown.map(({ file, test }) => `  ${file}: ${test}`).join('\n');
  process.stderr.write(
    `\nThese passed when they ran alone, so they depend on how busy the machine is. Correct the test, or name it in test/flaky.json with its cause:\n${names}\n`,
  );
}
if (checked !== 0) process.stderr.write(`\n${await checks.output}\nThe checks failed: npm run ${target.check}\n`);
process.stderr.write(`\n${first.passed + excused.length} passed, ${failed} failed\n`);
const isRight = first.code === 0 || (first.failures.length > 0 && failed === 0);
process.exit(checked === 0 && isRight ? 0 : 1);
