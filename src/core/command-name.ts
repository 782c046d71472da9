/** The command that started the process. It is `./signalbox`, the launcher of a clone, until the start sets it. State: command name. */
const program = { word: './signalbox' };

/** Returns the command that starts Signalbox on this machine, for texts that tell users what to type. */
export const commandName = (): string => program.word;

/** Sets the command. Call it before any text is made. */
export function setCommandName(name: string): void {
  program.word = name;
}
