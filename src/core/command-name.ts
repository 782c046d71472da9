/** The launcher of a clone. */
let word = './signalbox';

/** Returns the word that starts Signalbox on this machine: texts tell users to type it. */
export const commandName = (): string => word;

/** Sets that word, before any text is made. */
export function setCommandName(name: string): void {
  word = name;
}
