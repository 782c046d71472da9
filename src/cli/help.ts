import { commandName } from '../core/command-name.ts';
import { type CommandHelp, DATA } from './command-help.ts';
import help from './help.json' with { type: 'json' };

const COMMANDS = Object.entries<CommandHelp>(help);

type Entry = (typeof COMMANDS)[number];

/**
 * Returns the help of the command that the words begin with, as in `policy test DIR`. The help is complete for one command, shows the usage
 * of each command for a group, and has one line for each command if the words name no command.
 */
export function helpOf(words: readonly string[]): string {
  for (let length = words.length; length > 0; length--) {
    const start = `${words.slice(0, length).join(' ')} `;
    const named = COMMANDS.filter(([command]) => `${command} `.startsWith(start));
    const [only, ...others] = named;
    if (only && others.length === 0) return fullHelp(only);
    if (only) return `${named.map(usageOf).join('\n')}\n${MORE}`;
  }
  return OVERVIEW;
}

const indented = (text: string): string => text.replaceAll(/^(?=.)/gm, '      ');

/** Writes a command with its arguments, and the summary of the command below. */
function usageOf([command, { usage, summary }]: Entry): string {
  const head = `  ${commandName()} ${command}`;
  const lines = usage.split('\n').join(`\n${' '.repeat(head.length + 1)}`);
  return `${`${head} ${lines}`.trimEnd()}\n${indented(summary)}\n`;
}

function fullHelp(entry: Entry): string {
  const [, { details = DATA, use, example }] = entry;
  const parts = [`Use this command ${use}`, details, `Example:\n  ${commandName()} ${example}`];
  return [usageOf(entry), ...parts.filter(Boolean).map((part) => `${indented(part)}\n`)].join('\n');
}

const MORE = `For the complete help of a command, run \`${commandName()} help COMMAND\`.\n`;

const WIDTH = Math.max(...COMMANDS.map(([command]) => command.length)) + 2;

const OVERVIEW = `Signalbox: a self-hosted LLM gateway and policy engine

${COMMANDS.map(([command, { summary }]) => `  ${commandName()} ${command.padEnd(WIDTH)}${summary}\n`).join('')}
${MORE}If a server runs on the data folder, commands run at that server. With --offline, they use the database directly.
The data folder is ./.signalbox, unless --data or SIGNALBOX_DATA names another one.
`;
