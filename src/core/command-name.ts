/** The word that started the process; at first, the launcher of a clone. State: command name. */
const program = { word: './signalbox' };

/** Returns the word that starts Signalbox on this machine: texts tell users to type it. */
export const commandName = (): string => program.word;

/** Sets that word, before any text is made. */
export function setCommandName(name: string): void {
  program.word = name;
}
