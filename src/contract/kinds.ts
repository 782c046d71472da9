import type { TObject } from '@sinclair/typebox';
import type { GuardPlugin } from './guard.ts';
import type { ProviderPlugin } from './provider.ts';
import type { StrategyPlugin } from './strategy.ts';

/**
 * The plugin type of each kind of plugin. To add a kind of plugins, write a file with its contract, and add a line to `PluginKinds`,
 * `PLUGIN_KINDS`, `pluginMaps` and `pluginsIn`.
 */
export interface PluginKinds {
  readonly strategy: StrategyPlugin;
  readonly provider: ProviderPlugin;
  readonly guard: GuardPlugin;
}

export type PluginKind = keyof PluginKinds;
export type Plugin = PluginKinds[PluginKind];

interface KindSpecification {
  /** Name of the function with which authors declare a plugin of this kind, such as `defineStrategy`. */
  readonly madeBy: string;
  /** The member of the plugin that holds the schema of the keys that a policy may set. */
  readonly schema: 'options' | 'settings';
  /** The oldest contract version whose plugins of this kind still work: the version that last changed this kind. */
  readonly contractMin: number;
}

export const PLUGIN_KINDS: Readonly<Record<PluginKind, KindSpecification>> = {
  strategy: { madeBy: 'defineStrategy', schema: 'options', contractMin: 1 },
  provider: { madeBy: 'defineProvider', schema: 'settings', contractMin: 2 },
  guard: { madeBy: 'defineGuard', schema: 'settings', contractMin: 2 },
};

/** The words for the kinds of plugins. */
export const PLUGIN_KIND_NAMES = Object.keys(PLUGIN_KINDS) as readonly PluginKind[];

/** Returns the schema of the keys that a policy may set for a plugin. */
export const schemaOfPlugin = (plugin: Plugin): TObject => ('settings' in plugin ? plugin.settings : plugin.options);

/** Plugins by kind and name. */
export interface PluginMaps {
  readonly strategies: ReadonlyMap<string, StrategyPlugin>;
  readonly providers: ReadonlyMap<string, ProviderPlugin>;
  readonly guards: ReadonlyMap<string, GuardPlugin>;
}

/** Sorts plugins by kind and name. A later plugin replaces an earlier plugin of the same kind and name. */
export const pluginMaps = (plugins: readonly Plugin[]): PluginMaps => ({
  strategies: byName(plugins, 'strategy'),
  providers: byName(plugins, 'provider'),
  guards: byName(plugins, 'guard'),
});

/** Returns all plugins, of every kind, as one list. */
export const pluginsIn = ({ strategies, providers, guards }: PluginMaps): Plugin[] => [
  ...strategies.values(),
  ...providers.values(),
  ...guards.values(),
];

function byName<Kind extends PluginKind>(
  plugins: readonly Plugin[],
  kind: Kind,
): ReadonlyMap<string, PluginKinds[Kind]> {
  const ofKind = plugins.filter((plugin): plugin is PluginKinds[Kind] => plugin.kind === kind);
  return new Map(ofKind.map((plugin) => [plugin.name, plugin]));
}
