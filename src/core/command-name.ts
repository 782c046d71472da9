/**
 * The command that started the process. The command is `./signalbox`, the launcher of a clone, until the start sets another command. State:
 * command name.
 */
const program = { word: './signalbox' };

/** Returns the command that starts Signalbox on this machine, for texts that tell users what to type. */
export const commandName = (): string => program.word;

/** Sets the command that starts Signalbox. Call `setCommandName` before any text with the command is made. */
export function setCommandName(name: string): void {
  program.word = name;
}
