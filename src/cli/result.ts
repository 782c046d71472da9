/**
 * The output of a command and its exit code: 0 for success, 2 for findings. A command that could not run throws, and the process ends with
 * exit code 1.
 */
export interface CommandResult {
  readonly text: string;
  readonly code: 0 | 2;
  /** The flag and its value with which the same command prints the next page of a list. Absent if there is none. */
  readonly next?: readonly [flag: string, value: string];
}

/** A string means exit code 0. The string is empty if the command has already written its output page by page. */
export type CommandOutput = string | CommandResult;
