import { restartAt } from '../server/processes/control.ts';
import { parseFlags } from './arguments.ts';
import type { CommandDefinition } from './command.ts';
import { DATA } from './command-help.ts';

/** `signalbox restart`. Throws UsageError if no server runs, or if a new process cannot start. */
export const restart: CommandDefinition = {
  use: 'after an update or a new secret, without interrupting requests.',
  example: 'restart --data ./.signalbox',
  usage: '[--data DIR]',
  summary: 'Replace the processes of a server one after the other.',
  details: `Works for a server that was started with --processes. For each process, the command starts a replacement,
waits until the replacement serves, and then stops the old process, so that no request fails.
The new processes run the current program file and read the secrets again.
${DATA}
Exit code: 0 if all processes were replaced, else 1. A process that was not replaced continues to run.`,
  async run(args, { line, write }) {
    parseFlags(args, {});
    for await (const sentence of restartAt(line.data)) await write(`${sentence}\n`);
    return '';
  },
};
