import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * `npm test [-- files]`: types and Biome beside the tests, in which one core waits for another. The tests' output comes as it
 * is made; what failed is told once more at the end. Ends with 1 when anything failed.
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

const folder = process.env.TMPDIR === undefined ? inMemory() : null;
const checks = Bun.spawn(['npm', 'run', '--silent', 'check'], { cwd, stdout: 'pipe', stderr: 'pipe' });
const found = Promise.all([new Response(checks.stdout).text(), new Response(checks.stderr).text()]);
/**
 * The highest tier of the engine's compiler costs more than most tests run long: without it they take a seventh less CPU. Nor is
 * its heap given room ahead of need, by a thread of its own.
 */
const ENGINE = { BUN_JSC_useFTLJIT: '0', BUN_JSC_useWarmUpMarkedBlocks: '0' };
// Most of a file's time would go into loading the same modules again, so the files of a worker share them.
const tests = Bun.spawn(
  [process.execPath, 'test', '--parallel=4', '--no-isolate', '--timeout=60000', ...process.argv.slice(2)],
  {
    cwd,
    env: { ...process.env, ...ENGINE, ...(folder && { TMPDIR: folder }) },
    stdout: 'inherit',
    stderr: 'pipe',
  },
);

/** The most lines of one failure that are told again. */
const LINES_MAX = 60;

/** Passes the tests' output on, and returns what stood before each `(fail)`: its error, and where. */
async function failuresIn(output: ReadableStream<Uint8Array>): Promise<readonly string[]> {
  const failures: string[] = [];
  const decoder = new TextDecoder();
  let rest = '';
  let lines: string[] = [];
  let isListed = false;
  for await (const bytes of output) {
    process.stderr.write(bytes);
    const whole = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = whole.pop() ?? '';
    for (const line of whole) {
      // Bun ends with a list of failures, without their errors.
      isListed ||= /^\d+ tests? failed:$/.test(line);
      if (isListed) continue;
      lines.push(line);
      if (line.startsWith('(fail) ')) failures.push(lines.slice(-LINES_MAX).join('\n'));
      if (/^\((pass|fail|skip|todo)\) /.test(line)) lines = [];
    }
  }
  return failures;
}

const failures = await failuresIn(tests.stderr);
const codes = [await checks.exited, await tests.exited];
if (folder) rmSync(folder, { recursive: true, force: true });
if (failures.length > 0) process.stderr.write(`\nWhat failed, once more:\n${failures.join('\n')}\n`);
if (codes[0] !== 0) process.stderr.write(`\n${(await found).join('')}\nThe checks failed: npm run check\n`);
process.exit(codes.every((code) => code === 0) ? 0 : 1);
