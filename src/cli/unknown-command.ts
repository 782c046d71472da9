import { commandName } from '../core/command-name.ts';
import { UsageError } from '../core/usage-error.ts';
import { nearest } from '../policy/nearest.ts';
import { HELP } from './help-texts.ts';

/**
 * Returns the error for a word that names no command, with the commands there are.
 * @param group such as `policy`; '' for the first word of a command line
 */
export function unknownCommand(group: string, word = ''): UsageError {
  const start = group === '' ? '' : `${group} `;
  const named = Object.keys(HELP).filter((command) => command.startsWith(start));
  const words = [...new Set(named.map((command) => command.slice(start.length).split(' ', 1)[0] ?? ''))];
  // `explain` alone means `policy explain`.
  const below = word === '' ? undefined : named.find((command) => command.endsWith(` ${word}`));
  const meant = group === '' && below !== undefined ? below : nearest(word, words);
  const sentences = [
    ...(word === '' ? [] : [`There is no command \`${start}${word}\`.`]),
    ...(meant === null ? [] : [`Did you mean \`${start}${meant}\`?`]),
    `${group || 'Signalbox'} takes ${listed(words)}.`,
    `See ${commandName()} help${group && ` ${group}`}.`,
  ];
  return new UsageError(sentences.join(' '));
}

/** `a, b or c`. */
export function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`;
}
