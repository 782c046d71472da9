import type { Plugin } from '../../contract/kinds.ts';

/** The inputs of commands on plugins. */
export interface PluginCommand {
  /** The plugins that come with Signalbox. */
  readonly shipped: readonly Plugin[];
  /** Whether the output is a terminal: then use colours, and fit lines to its width. */
  readonly terminal: boolean;
}
