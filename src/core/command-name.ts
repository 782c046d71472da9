/** The word that started the process (state: command name); at first, the launcher of a clone. */
const program = { word: './signalbox' };

/** Returns the word that starts Signalbox on this machine: texts tell users to type it. */
export const commandName = (): string => program.word;

/** Sets that word, before any text is made. */
export function setCommandName(name: string): void {
  program.word = name;
}
