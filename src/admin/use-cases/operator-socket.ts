/** The socket in a data folder with which commands reach the server of the folder. The headers below say who runs the command. */

export const SOCKET_NAME = 'operator.sock';
/** The header with the user who runs the command, percent-encoded. */
export const NAME_HEADER = 'x-signalbox-operator';
/** The header with the owner of the terminal of the command, percent-encoded. */
export const FROM_HEADER = 'x-signalbox-terminal';
/** In an answer: the servers that have not applied a change yet, percent-encoded and separated by commas. */
export const BEHIND_HEADER = 'x-signalbox-behind';
/** The header with the warnings of an operation: percent-encoded sentences, separated by commas. */
export const WARNINGS_HEADER = 'x-signalbox-warnings';
