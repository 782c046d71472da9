import { cleanEnvironment } from '../../../support/signalbox.ts';
import type { CheckLine, ClientCommand, SeenUsage } from './language.ts';
import type { KeyUsage } from './stage.ts';

/** The output of a program and its exit code. */
export interface ProgramRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/**
 * Runs the program of a client at low priority, without the developer's environment, and stops it after its timeout.
 * @param more the variables of `ClientEnvironment`
 * @param timeoutMs from its start
 */
export const runProgram = (
  command: ClientCommand,
  more: Readonly<Record<string, string>>,
  timeoutMs = 300_000,
): Promise<ProgramRun> => run(command, cleanEnvironment({ ...command.env, ...more }), timeoutMs);

async function run(
  { command, cwd }: ClientCommand,
  env: Readonly<Record<string, string | undefined>>,
  timeoutMs: number,
): Promise<ProgramRun> {
  const child = Bun.spawn(['nice', ...command], {
    ...(cwd !== undefined && { cwd }),
    env,
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: timeoutMs,
    killSignal: 'SIGKILL',
  });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { code, out, err };
}

/**
 * Runs a command that must exit with 0, such as an installation. The command gets the developer's environment, which may name a proxy,
 * certificates or a registry mirror.
 */
export async function runWell(command: ClientCommand, timeoutMs = 900_000): Promise<string> {
  const { code, out, err } = await run(command, { ...process.env, ...command.env }, timeoutMs);
  if (code !== 0) throw new Error(`${command.command.join(' ')} ended with ${code}:\n${(out + err).slice(-4_000)}`);
  return out;
}

/** Returns the checks that a program reported. */
export const checksIn = (out: string): readonly CheckLine[] =>
  out
    .split('\n')
    .filter((line) => line.startsWith('{"check"'))
    .map((line) => JSON.parse(line) as CheckLine);

/** Returns the sum of all usage that a program reported, in the form of `GET /v1/usage`. Credits are null if a call has none. */
export function sumOfUsage(
  checks: readonly CheckLine[],
): Omit<KeyUsage, 'credits'> & { readonly credits: number | null } {
  const seen = checks.flatMap(({ usage = [] }) => usage);
  const sum = (of: (usage: SeenUsage) => number) => seen.reduce((before, usage) => before + of(usage), 0);
  const hasCredits = seen.every(({ credits }) => credits !== undefined);
  return {
    calls: seen.length,
    input: sum(({ input }) => input),
    output: sum(({ output }) => output),
    credits: hasCredits ? Math.round(sum(({ credits = 0 }) => credits) * 1e6) / 1e6 : null,
  };
}
