import type { Plugin } from '../../plugin-host/registry.ts';

/** The surroundings of a command on plugins. */
export interface PluginCommand {
  /** The plugins that come with Signalbox. */
  readonly shipped: readonly Plugin[];
  /** For a terminal: colours, and lines that fit. */
  readonly terminal: boolean;
}
