import type { CommandHelp } from './command-help.ts';
import { helpOf } from './operation-flags.ts';
import { SERVE_HELP } from './serve-help.ts';
import { commandNamed, GROUP_NAMES, groupNamed, namesIn } from './table.ts';

/** Adds the flag --policies to the help of a command whose answer depends on a policy. */
const onPolicy = ({ usage, details, ...help }: CommandHelp): CommandHelp => ({
  ...help,
  usesPolicies: true,
  usage: `${usage} [--policies DIR]`,
  details: `${details}
A running server answers with its own policy and environment variables. With --policies, or if no server
runs, the command uses the named policy and the variables of this shell.`,
});

/**
 * Collects the help of all commands, in the order of the overview. This loads every command and operation, so commands read `help.json`
 * instead. `UPDATE=1 bun test test/docs/generated.test.ts` writes that file.
 */
export async function everyHelp(): Promise<Readonly<Record<string, CommandHelp>>> {
  const all: Record<string, CommandHelp> = { serve: SERVE_HELP };
  for (const group of GROUP_NAMES) for (const name of await namesIn(group)) all[name] = await helpNamed(group, name);
  return all;
}

async function helpNamed(group: string, name: string): Promise<CommandHelp> {
  const definition = await commandNamed(name);
  if (definition) {
    const { run: _, served: __, ...help } = definition;
    return help;
  }
  const { operations, usesPolicy } = groupNamed(group)!;
  const operation = (await operations()).find((one) => one.name === name)!;
  return usesPolicy ? onPolicy(helpOf(operation)) : helpOf(operation);
}
