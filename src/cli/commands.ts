import type { OperationGroup } from '../admin/groups.ts';
import type { Operation } from '../admin/kit/operation.ts';
import { commandName } from '../core/command-name.ts';
import { shellWord } from '../core/text/shell-word.ts';
import { visibleLines } from '../core/text/visible.ts';
import type { CommandContext, CommandDefinition, CommandHost } from './command.ts';
import type { CommandLine } from './command-line.ts';
import { openContext } from './context.ts';
import type { Performer } from './operations.ts';
import type { Command } from './options.ts';
import type { CommandOutput, CommandResult } from './result.ts';
import { commandNamed, type GroupName, groupNamed } from './table.ts';
import { unknownCommand } from './unknown-command.ts';

/**
 * Runs a command to its end. Each command loads only the modules that it needs: loading the server takes ten times as long as creating a
 * key.
 * @returns its exit code
 * @throws UsageError for wrong arguments, or an Error with a message of one sentence
 */
export async function runCommand(command: Exclude<Command, { name: 'serve' }>, host: CommandHost): Promise<0 | 2> {
  if (command.name === 'help') {
    await host.write((await import('./help.ts')).helpOf(command.words));
    return 0;
  }
  await using context = openContext(command, host);
  const { text, code, next } = resultOf(await outputOf(command, context));
  await host.write(next ? text + continuation(command.words, next) : text);
  return context.hasLedgerFault() ? 2 : code;
}

/** Says which command prints the next page: the same command with another position in the list. */
function continuation(words: readonly string[], [flag, value]: NonNullable<CommandResult['next']>): string {
  const at = words.findIndex((word) => word === flag || word.startsWith(`${flag}=`));
  const others = at < 0 ? words : words.toSpliced(at, words[at] === flag ? 2 : 1);
  const line = [...others, flag, value].map(shellWord).join(' ');
  return visibleLines(`\nThe list continues. For the next page: ${commandName()} ${line}\n`);
}

const resultOf = (output: CommandOutput): CommandResult =>
  typeof output === 'string' ? { text: output, code: 0 } : output;

const OFFLINE = '--offline';

async function outputOf(line: CommandLine<GroupName>, context: CommandContext): Promise<CommandOutput> {
  const group = groupNamed(line.name);
  const given = group ? line.args.filter((word) => word !== OFFLINE) : line.args;
  // A command is a single word, such as `instances`, or two words.
  const forms = new Map([
    [line.name as string, given],
    [`${line.name} ${given[0]}`, given.slice(1)],
  ]);
  for (const [name, args] of forms) {
    const definition = await commandNamed(name);
    if (definition) return (await servedOutput(definition, args, context)) ?? definition.run(args, context);
  }
  const operation = (await group?.operations())?.find(({ name, command }) => command !== false && forms.has(name));
  if (!group || !operation) throw unknownCommand(line.name, given[0]);
  const args = forms.get(operation.name) ?? [];
  const perform = await performerAt(operation, context);
  if (!perform) return offlineOutput(group, operation, args, context);
  return (await import('./operations.ts')).runOperation(operation, args, perform);
}

/** Runs a command at the server that uses the data folder; null if the command must read the database itself. */
async function servedOutput(
  { served }: CommandDefinition,
  args: readonly string[],
  context: CommandContext,
): Promise<CommandOutput | null> {
  if (!served || args.includes(served.unless)) return null;
  const perform = await performerAt(served.operation, context);
  return perform && served.run(args, perform, context.tell);
}

/** Returns what carries out an operation at the server that uses the data folder; null if no server uses it. */
async function performerAt(operation: Operation, { line, tell }: CommandContext): Promise<Performer | null> {
  // A running server answers only with its own policy. The flag --policies therefore needs the database.
  if (line.args.includes(OFFLINE) || line.folderFlags.includes('--policies')) return null;
  const { atServer, socketOf } = await import('./at-server.ts');
  const socket = await socketOf(line.data);
  if (socket === null) return null;
  const { commandActor } = await import('./user.ts');
  return atServer(socket, operation, commandActor(), tell);
}

/** Carries out an operation on the database, and waits until the servers that share the database have applied a change. */
async function offlineOutput(
  group: OperationGroup,
  { name, method }: Operation,
  args: readonly string[],
  { offline, now, tell, write }: CommandContext,
): Promise<CommandOutput> {
  const [{ runOperation }, { operator }, operations] = await Promise.all([
    import('./operations.ts'),
    import('./user.ts'),
    group.offline(offline),
  ]);
  const { operation, perform } = operations.find((one) => one.operation.name === name)!;
  const run = () =>
    runOperation(operation, args, async (id, input) => {
      const { body, warnings } = await perform(
        { by: operator(), now: now(), id, credentials: null, tags: null },
        input,
      );
      for (const one of warnings) tell(one);
      return body;
    });
  if (method === 'GET' || offline.written === null) return run();
  const { followed, notServed } = await import('../admin/use-cases/served.ts');
  const { result, behind } = await followed(offline.written, offline.isServed, async () => {
    const { text, ...rest } = resultOf(await run());
    // Print before waiting for the servers. A new key is shown only once, and the user can interrupt the wait.
    await write(text);
    return { text: '', ...rest };
  });
  if (behind.length > 0) tell(`The change is saved. ${notServed(behind)}`);
  return result;
}
