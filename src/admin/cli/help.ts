import { commandName } from '../../core/command-name.ts';
import { type CommandHelp, DATA } from './command-help.ts';
import help from './help.json' with { type: 'json' };

const COMMANDS = Object.entries<CommandHelp>(help);

type Entry = (typeof COMMANDS)[number];

/**
 * Returns the help of the command that the words begin with, as in `policy test DIR`: in full for one command, by usage
 * for a group of them, and a line for each where the words name none.
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

/** The command with its arguments, and its summary below. */
function usageOf([command, { usage, summary }]: Entry): string {
  const head = `  ${commandName()} ${command}`;
  const lines = usage.split('\n').join(`\n${' '.repeat(head.length + 1)}`);
  return `${`${head} ${lines}`.trimEnd()}\n${indented(summary)}\n`;
}

function fullHelp(entry: Entry): string {
  const [, { details = DATA }] = entry;
  return `${usageOf(entry)}${details && `\n${indented(details)}\n`}`;
}

const MORE = `\`${commandName()} help COMMAND\` shows a command in full.\n`;

const WIDTH = Math.max(...COMMANDS.map(([command]) => command.length)) + 2;

const OVERVIEW = `Signalbox: a self-hosted LLM gateway and policy engine

${COMMANDS.map(([command, { summary }]) => `  ${commandName()} ${command.padEnd(WIDTH)}${summary}\n`).join('')}
${MORE}A command asks the server that runs on its data folder. --offline uses the database without it.
Data is in ./.signalbox unless --data or SIGNALBOX_DATA says otherwise.
`;
