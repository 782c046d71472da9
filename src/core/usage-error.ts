/** Thrown by a command, or by the start of a server, that cannot run as given. The message is one sentence for the operator; the process exits with 1. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
