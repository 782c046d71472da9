/** The socket in a data folder by which commands reach the server of the folder, and what they say of who runs them. */

export const SOCKET_NAME = 'operator.sock';
/** The user who runs the command, percent-encoded. */
export const NAME_HEADER = 'x-signalbox-operator';
/** The owner of the terminal of the command, percent-encoded. */
export const FROM_HEADER = 'x-signalbox-terminal';
/** In an answer, the servers that have not followed a change yet, percent-encoded and separated by commas. */
export const BEHIND_HEADER = 'x-signalbox-behind';
