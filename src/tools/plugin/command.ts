import type { Plugin } from '../../contract/kinds.ts';

/** The surroundings of a command on plugins. */
export interface PluginCommand {
  /** The plugins that come with Signalbox. */
  readonly shipped: readonly Plugin[];
  /** For a terminal: colours, and lines that fit. */
  readonly terminal: boolean;
}
