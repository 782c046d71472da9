import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shipped } from '../../plugins/index.ts';
import { runCommand } from '../../src/cli/commands.ts';
import { complaint } from '../../src/cli/context.ts';
import { parseCommand } from '../../src/cli/options.ts';
import { messageOf } from '../../src/core/thrown.ts';
import { steady } from '../../src/core/time/clock.ts';
import { defaultPolicies } from '../../src/server/shipped-policies.ts';
import { serveHere } from './serve-here.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * A data folder that does not exist, the default of commands in tests. Without it, they would read `.signalbox` of the working folder, where
 * a developer's server may have stored a ledger that a test's policy does not fit.
 */
export const NO_DATA = join(tmpdir(), `signalbox-no-data-${process.pid}`);

/**
 * Runs a command to its end inside the test process, as the program would, with this environment in place of the process's own. For effects
 * that only a process has (signals, pipes, working folder, exit), use `runCommand` of `signalbox.ts`.
 * @param environment without `SIGNALBOX_DATA`, the data folder does not exist.
 * @param input the standard input.
 */
export async function runHere(
  args: readonly string[],
  environment: Environment = {},
  input = '',
  now: () => number = Date.now,
) {
  const env: Environment = { SIGNALBOX_DATA: NO_DATA, ...environment };
  let [out, err] = ['', ''];
  const warn = (text: string): void => {
    err += text;
  };
  const run = async (): Promise<number> => {
    const command = parseCommand(args, env, defaultPolicies);
    if (command.name === 'serve') return startInVain(args, env, warn);
    return runCommand(command, {
      version: '0.0.0-test',
      shipped: async () => shipped,
      terminal: false,
      env: (name) => env[name],
      now: steady(now),
      write: async (text) => {
        out += text;
      },
      warn,
      input: async () => input,
      ended: () => ({ signal: new AbortController().signal, forget() {} }),
      mindPlugins() {},
    });
  };
  const code = await run().catch((error: unknown) => {
    warn(complaint(messageOf(error)));
    return 1;
  });
  return { code, out, err };
}

/** Runs a server that cannot start; to start a server, use `startSignalbox`. */
async function startInVain(args: readonly string[], env: Environment, warn: (text: string) => void): Promise<number> {
  const server = await serveHere(args, env, []).catch((error: Error) => error);
  if (server instanceof Error) {
    warn(server.message.replace('the server ended: ', ''));
    return 1;
  }
  await server.stop();
  throw new Error('the server started');
}
