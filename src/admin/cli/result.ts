/** The output of a command and the exit code: 0 fine, 2 findings. A command that could not run throws, and ends with 1. */
export interface CommandResult {
  readonly text: string;
  readonly code: 0 | 2;
}

/** A text alone has the code 0. A command that writes page by page leaves no text to print. */
export type CommandOutput = string | CommandResult;
