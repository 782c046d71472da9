import { join } from 'node:path';
import { TIME_LIMIT_MS } from './time-limit.ts';

export interface TestOutcome {
  readonly file: string;
  /** The name in the output, with the names of its groups. */
  readonly test: string;
}

export interface Failure extends TestOutcome {
  /** The text of the error and its location. */
  readonly text: string;
}

/** The outcome of a run of `bun test`. */
export interface TestRun {
  readonly code: number;
  /** Bun's own count. If a process crashed, more tests failed than `failures` lists. */
  readonly passed: number;
  readonly failed: number;
  readonly passes: readonly TestOutcome[];
  readonly failures: readonly Failure[];
  /** The CPU time of all its processes, ms. */
  readonly cpuMs: number;
}

/** The most lines of one failure that are kept. */
const LINES_MAX = 60;
/** Bun prints an error outside any test, such as one while a file loads, under this heading and between two rules. */
const OUTSIDE = '# Unhandled error between tests';
const RULE = '-------------------------------';

/** Reads Bun's test output line by line. */
class Report {
  readonly passes: TestOutcome[] = [];
  readonly failures: Failure[] = [];
  readonly counts = { pass: 0, fail: 0 };
  #file = '';
  #lines: string[] = [];
  #isListed = false;

  read(line: string): void {
    const [, number, counted] = /^ *(\d+) (pass|fail)$/.exec(line) ?? [];
    if (counted === 'pass' || counted === 'fail') this.counts[counted] = Number(number);
    // Bun ends with a list of failures, without their errors.
    this.#isListed ||= /^\d+ tests? failed:$/.test(line);
    if (this.#isListed) return;
    this.#file = /^(\S+\.test\.ts):$/.exec(line)?.[1] ?? this.#file;
    this.#lines = line === OUTSIDE ? [line] : [...this.#lines.slice(1 - LINES_MAX), line];
    const [, kind, test] = /^\((pass|fail|skip|todo)\) (.*?)(?: \[[\d.]+m?s\])?$/.exec(line) ?? [];
    const isOutsideEnd = line === RULE && this.#lines[0] === OUTSIDE && this.#lines.length > 2;
    if (kind === 'pass') this.passes.push({ file: this.#file, test: test! });
    if (kind === 'fail' || isOutsideEnd)
      this.failures.push({ file: this.#file, test: test ?? OUTSIDE, text: this.#lines.join('\n') });
    if (kind !== undefined || isOutsideEnd) this.#lines = [];
    // A test that failed without an error, for example at its time limit, has its reason in the next line.
    const last = /^ {2}\^ /.test(line) ? this.failures.pop() : undefined;
    if (last) this.failures.push({ ...last, text: `${last.text}\n${line}` });
  }
}

/** Runs `bun test` with these arguments and forwards its output. @param started receives the process */
export async function bunTests(
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  started: (child: Bun.Subprocess) => void,
): Promise<TestRun> {
  const child = Bun.spawn([process.execPath, 'test', `--timeout=${TIME_LIMIT_MS}`, ...args], {
    cwd: join(import.meta.dir, '..'),
    env: { ...env },
    stdout: 'inherit',
    stderr: 'pipe',
  });
  started(child);
  const report = new Report();
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of child.stderr) {
    process.stderr.write(bytes);
    const lines = (rest + decoder.decode(bytes, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) report.read(line);
  }
  const { counts, passes, failures } = report;
  const code = await child.exited;
  return { code, passed: counts.pass, failed: counts.fail, passes, failures, cpuMs: cpuMsOf(child) };
}

/** The CPU time of a process that ended, and of the processes for which it waited, ms. */
export const cpuMsOf = (child: Bun.Subprocess): number => Number(child.resourceUsage()?.cpuTime.total ?? 0) / 1_000;
