import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * `npm test [-- files]`: types and Biome beside the tests, in which one core waits for another. The tests' output comes as it
 * is made; what failed is told once more at the end. Files with a failure are run again alone: a test that passes then is named, since it
 * hangs on how busy the machine is, which is a defect to mend. Ends with 1 when anything failed both times.
 */
const cwd = join(import.meta.dir, '..');

/** Bytes of a file system in memory that the tests' data folders fit into many times. */
const ROOM = 4 * 1_024 ** 3;

/** A folder in memory, where there is room: each commit waits for a disk, and each start of a server six times. */
function inMemory(): string | null {
  try {
    const { bavail, bsize } = statfsSync('/dev/shm');
    return bavail * bsize < ROOM ? null : mkdtempSync('/dev/shm/signalbox-tests-');
  } catch {
    return null;
  }
}

/** Builds the program that processes of tests run, as `support/signalbox.ts` says. */
async function builtIn(home: string): Promise<{ readonly SIGNALBOX_TEST_PROGRAM: string }> {
  // In a folder of its own, so that no path of the tests begins with its name.
  const outfile = join(home, 'program/signalbox');
  const build = Bun.spawn([process.execPath, 'deploy/build.ts', '--outfile', outfile], { cwd, stdout: 'ignore' });
  if ((await build.exited) !== 0) {
    rmSync(home, { recursive: true, force: true });
    process.exit(1);
  }
  return { SIGNALBOX_TEST_PROGRAM: outfile };
}

const folder = process.env.TMPDIR === undefined ? inMemory() : null;
/** The compiler of types is done before its garbage is worth a collection, which takes a third of its CPU, unless memory is short. */
const CHECKS = { GOGC: 'off', GOMEMLIMIT: '2GiB' };
const checks = Bun.spawn(['npm', 'run', '--silent', 'check'], {
  cwd,
  env: { ...process.env, ...CHECKS },
  stdout: 'pipe',
  stderr: 'pipe',
});
const found = Promise.all([new Response(checks.stdout).text(), new Response(checks.stderr).text()]);
const files = process.argv.slice(2);
// A few files start fewer processes than it takes to build.
const program = folder && files.length === 0 ? await builtIn(folder) : {};

/**
 * The highest tier of the engine's compiler costs more than most tests run long: without it they take a seventh less CPU. Nor is
 * its heap given room ahead of need, by a thread of its own.
 */
const ENGINE = { BUN_JSC_useFTLJIT: '0', BUN_JSC_useWarmUpMarkedBlocks: '0' };
/** The most lines of one failure that are told again. */
const LINES_MAX = 60;
/** More files than these did not fail for want of a core. */
const AGAIN_MAX = 5;

interface Failure {
  readonly file: string;
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
async function run(args: readonly string[]): Promise<TestRun> {
  const tests = Bun.spawn([process.execPath, 'test', '--timeout=60000', ...args], {
    cwd,
    env: { ...process.env, ...ENGINE, ...program, ...(folder && { TMPDIR: folder }) },
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
      if (line.startsWith('(fail) ')) failures.push({ file, text: lines.slice(-LINES_MAX).join('\n') });
      if (/^\((pass|fail|skip|todo)\) /.test(line)) lines = [];
    }
  }
  return { code: await tests.exited, passed: counts.pass, failed: counts.fail, failures };
}

// Most of a file's time would go into loading the same modules again, so the files of a worker share them.
const first = await run(['--parallel=4', '--no-isolate', ...files]);
const failing = [...new Set(first.failures.map(({ file }) => file))];
// A process that ended otherwise than by failures has not run them all.
const mayRunAgain = first.failed > 0 && first.failed === first.failures.length && failing.length <= AGAIN_MAX;
const checked = await checks.exited;
const again = mayRunAgain ? await run(failing) : null;
if (folder) rmSync(folder, { recursive: true, force: true });
const { failures } = again?.code === 0 ? again : first;
if (failures.length > 0)
  process.stderr.write(`\nWhat failed, once more:\n${failures.map(({ text }) => text).join('\n')}\n`);
if (checked !== 0) process.stderr.write(`\n${(await found).join('')}\nThe checks failed: npm run check\n`);
const code = again?.code ?? first.code;
const failed = again?.code === 0 ? 0 : first.failed;
if (again?.code === 0) {
  const texts = first.failures.map(({ text }) => text).join('\n');
  process.stderr.write(
    `\nFailed beside others and passed alone, ${first.failed} of ${failing.join(', ')}:\n${texts}\n`,
  );
}
process.stderr.write(`\n${first.passed + first.failed - failed} passed, ${failed} failed\n`);
process.exit(checked === 0 && code === 0 ? 0 : 1);
