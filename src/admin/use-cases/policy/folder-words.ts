import { commandName } from '../../../core/command-name.ts';
import { shellWord } from '../../../core/text/shell-word.ts';
import { isBuiltInPolicy } from '../../../host/program.ts';

/** Names a policy folder in a sentence. Users cannot open the copy inside the program, so its path would only mislead them. */
export const policyName = (folder: string): string => (isBuiltInPolicy(folder) ? 'the built-in policy' : folder);

/** Writes the argument that names a policy folder in a command line, with a space in front. Without it, commands use the built-in policy. */
export const policyArgument = (folder: string): string => (isBuiltInPolicy(folder) ? '' : ` ${shellWord(folder)}`);

/** Writes the words of the command that checks a policy folder. They name the folder, because the reader's default may be another one. */
export const checkWords = (folder: string): string => `policy check${policyArgument(folder)}`;

export const checkCommand = (folder: string): string => `${commandName()} ${checkWords(folder)}`;
