import type { Plugin } from '../../contract/kinds.ts';

/** The inputs of commands on plugins. */
export interface PluginCommand {
  /** The plugins that come with Signalbox. */
  readonly shipped: readonly Plugin[];
  /** Returns the policy folder that commands use if none is named. */
  readonly policies: () => string;
  /** Whether the output is a terminal. If it is, the output has colours, and lines fit the width of the terminal. */
  readonly terminal: boolean;
}
