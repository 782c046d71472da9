/** What a command has to say, and what the process ends with: 0 fine, 2 findings. What could not run throws, and ends with 1. */
export interface CommandResult {
  readonly text: string;
  readonly code: 0 | 2;
}
