/** The details of a command that states none. */
export const DATA = `--data DIR is the data folder: ./.signalbox, or SIGNALBOX_DATA.`;

/** The help of one command. */
export interface CommandHelp {
  /** Arguments and flags, in lines of at most 90 columns. */
  readonly usage: string;
  /** One line for the overview. */
  readonly summary: string;
  /** Flags, files and exit codes, in lines of at most 90 columns; by default `DATA`. */
  readonly details?: string;
}
