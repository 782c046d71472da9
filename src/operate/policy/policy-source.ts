import type { PluginLoader } from '../../plugin-host/load.ts';
import type { PolicyBundle } from '../../runtime/source.ts';

/** A policy with its files, from a folder, the database or git. */
export interface PolicySource {
  /** The operator's name for it. */
  readonly label: string;
  readonly kind: 'folder' | 'revision' | 'git';
  readonly bundle: PolicyBundle;
  /** The folder of relative plugins. */
  readonly folder: string;
  /** Loads the plugins in the state of that time. */
  readonly loader: PluginLoader;
}
