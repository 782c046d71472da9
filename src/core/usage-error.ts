/**
 * Thrown by a command or by the start of a server if it cannot run as requested. The message of a `UsageError` is one sentence for the
 * operator; the process exits with code 1.
 */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}
