import { commandName } from '../core/command-name.ts';
import { capital, didYouMean } from '../core/text/text.ts';
import { UsageError } from '../core/usage-error.ts';
import { nearest } from '../policy/report/nearest.ts';
import type { CommandHelp } from './command-help.ts';
import help from './help.json' with { type: 'json' };
import { peerCommand } from './peer-words.ts';

const HELP = Object.entries<CommandHelp>(help);
const COMMANDS = Object.keys(help);

/** Checks the word after a group of commands, before a database is opened. Throws UsageError if there is no command with that name. */
export function checkWord(group: string, [word = '']: readonly string[]): void {
  const commands = COMMANDS.filter((command) => command.startsWith(`${group} `));
  if (commands.length > 0 && !commands.includes(`${group} ${word}`)) throw unknownCommand(group, word);
}

/** The flags of folders that the commands with a first word have. */
export function folderFlags(word: string): readonly ('policies' | 'data')[] {
  const named = HELP.flatMap(([command, help]) => (`${command} `.startsWith(`${word} `) ? [help] : []));
  const usesPolicies = named.some((one) => one.usesPolicies);
  return [...(usesPolicies ? (['policies'] as const) : []), ...(named.some(usesData) ? (['data'] as const) : [])];
}

const usesData = ({ usesData: stated = true }: CommandHelp): boolean => stated;

/**
 * Returns the error for an unknown command, which lists the known commands.
 * @param group such as `policy`; '' for the first word of a command line
 */
export function unknownCommand(group: string, word = ''): UsageError {
  const start = group === '' ? '' : `${group} `;
  const named = COMMANDS.filter((command) => command.startsWith(start));
  const words = [...new Set(named.map((command) => command.slice(start.length).split(' ', 1)[0] ?? ''))];
  const sentences = [
    ...(word === '' ? [] : [`There is no command \`${start}${word}\`.`]),
    ...(peerCommand(start, word, named)?.sentences ?? ownCommand(start, word, named, words)),
    `The commands of ${group || 'Signalbox'} are ${listed(words)}.`,
    `See ${commandName()} help${group && ` ${group}`}.`,
  ];
  return new UsageError(sentences.join(' '));
}

/**
 * Suggests the command with this word in another group, such as `policy explain` for `explain`, or else the command with the most similar
 * word.
 */
function ownCommand(start: string, word: string, named: readonly string[], words: readonly string[]): string[] {
  const below = word === '' || start !== '' ? undefined : named.find((command) => command.endsWith(` ${word}`));
  const near = below === undefined ? nearest(word, words) : null;
  const meant = below ?? (near === null ? null : start + near);
  return meant === null ? [] : [capital(didYouMean(meant))];
}

/** Writes words as `a, b or c`. */
export function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`;
}
