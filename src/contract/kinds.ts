import type { TObject } from '@sinclair/typebox';
import type { ProviderPlugin } from './provider.ts';
import type { StrategyPlugin } from './strategy.ts';

/** The plugin of each kind. Another kind is a file with its contract, and a line here, in `PLUGIN_KINDS`, `pluginMaps` and `pluginsIn`. */
export interface PluginKinds {
  readonly strategy: StrategyPlugin;
  readonly provider: ProviderPlugin;
}

export type PluginKind = keyof PluginKinds;
export type Plugin = PluginKinds[PluginKind];

interface KindSpecification {
  /** The function that makes a plugin of the kind. */
  readonly madeBy: string;
  /** The member that holds the schema of what a policy may set. */
  readonly schema: 'options' | 'settings';
  /** The oldest version of the contract whose plugins still work: the last one that changed this kind. */
  readonly contractMin: number;
}

export const PLUGIN_KINDS: Readonly<Record<PluginKind, KindSpecification>> = {
  strategy: { madeBy: 'defineStrategy', schema: 'options', contractMin: 1 },
  provider: { madeBy: 'defineProvider', schema: 'settings', contractMin: 2 },
};

/** Returns the schema of what a policy may set of a plugin. */
export const schemaOfPlugin = (plugin: Plugin): TObject => ('settings' in plugin ? plugin.settings : plugin.options);

/** Plugins by kind and name. */
export interface PluginMaps {
  readonly strategies: ReadonlyMap<string, StrategyPlugin>;
  readonly providers: ReadonlyMap<string, ProviderPlugin>;
}

/** Sorts plugins by kind and name; a later one of the same kind and name replaces an earlier one. */
export const pluginMaps = (plugins: readonly Plugin[]): PluginMaps => ({
  strategies: byName(plugins, 'strategy'),
  providers: byName(plugins, 'provider'),
});

/** Returns the plugins of every kind. */
export const pluginsIn = ({ strategies, providers }: PluginMaps): Plugin[] => [
  ...strategies.values(),
  ...providers.values(),
];

function byName<Kind extends PluginKind>(
  plugins: readonly Plugin[],
  kind: Kind,
): ReadonlyMap<string, PluginKinds[Kind]> {
  const ofKind = plugins.filter((plugin): plugin is PluginKinds[Kind] => plugin.kind === kind);
  return new Map(ofKind.map((plugin) => [plugin.name, plugin]));
}
