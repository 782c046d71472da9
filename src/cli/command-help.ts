/** The details of a command that has no details of its own. */
export const DATA = `--data DIR is the data folder. Default: SIGNALBOX_DATA, or else ./.signalbox.`;

/** The help of a command. */
export interface CommandHelp {
  /** Arguments and flags, in lines of at most 90 columns. */
  readonly usage: string;
  /** The summary of the command for the overview, on one line. */
  readonly summary: string;
  /** Flags, files and exit codes, in lines of at most 90 columns; by default `DATA`. */
  readonly details?: string;
  /** The rest of the sentence that begins with `Use this command`. */
  readonly use: string;
  /** A command line to start from, without the name of the program. */
  readonly example: string;
  /** Whether the command has the flag `--data`; by default true. */
  readonly usesData?: boolean;
  /** Whether the command has the flag `--policies`; by default false. */
  readonly usesPolicies?: boolean;
}
