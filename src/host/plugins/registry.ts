import { TypeGuard } from '@sinclair/typebox';
import { PLUGIN_KINDS, type Plugin, type PluginMaps, pluginMaps } from '../../contract/kinds.ts';
import { either } from '../../core/text/text.ts';

/** Strategies that requests need, so plugins with these names must exist. */
const REQUIRED_STRATEGIES = ['auto', 'auto-fast', 'auto-cheap', 'weighted'] as const;

/**
 * Collects plugins by kind and name.
 * @throws Error that names a plugin that is missing, breaks the contract, or has the same name as another plugin
 */
export function createRegistry(plugins: readonly Plugin[]): PluginMaps {
  const seen = new Set<string>();
  for (const plugin of plugins) {
    assertContract(plugin);
    const { kind, name } = plugin;
    if (seen.has(`${kind} ${name}`)) throw new Error(`two ${kind} plugins have the name \`${name}\``);
    seen.add(`${kind} ${name}`);
  }
  const registry = pluginMaps(plugins);
  for (const name of REQUIRED_STRATEGIES) {
    if (!registry.strategies.has(name)) throw new Error(`the strategy plugin \`${name}\` is missing`);
  }
  return registry;
}

const NAME = /^[a-z][a-z0-9-]{0,63}$/;

/** A plugin without a version follows the first version of the contract, which had no version number. */
const CONTRACT_OF_OLD = 1;
const CONTRACT_NOW = 2;

/**
 * Checks a plugin, which may not be type-checked.
 * @throws Error if the plugin breaks the contract, or was made for a version of the contract that no longer works
 */
export function assertContract(plugin: Plugin): void {
  const { kind, name } = plugin;
  const specification = Object.hasOwn(PLUGIN_KINDS, kind) ? PLUGIN_KINDS[kind] : null;
  if (!specification) {
    const makers = Object.values(PLUGIN_KINDS).map(({ madeBy }) => madeBy);
    throw new Error(`a plugin must be made by ${either(makers)}; this one has the kind ${String(kind)}`);
  }
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new Error(`a plugin's name must be lower-case letters, digits and dashes, not ${JSON.stringify(name)}`);
  }
  const { schema: member, contractMin } = specification;
  const version: unknown = plugin.contract ?? CONTRACT_OF_OLD;
  if (typeof version !== 'number' || !(version >= contractMin && version <= CONTRACT_NOW)) {
    throw new Error(
      `the ${kind} plugin \`${name}\` is made for version ${String(version)} of the plugin contract, but this gateway accepts ${contractMin === CONTRACT_NOW ? '' : `${contractMin} to `}${CONTRACT_NOW}: see /docs/guide/extend/plugins.md#contract-2 of your server`,
    );
  }
  const schema: unknown = Reflect.get(plugin, member);
  if (typeof schema !== 'object' || schema === null) {
    throw new Error(`the ${kind} plugin \`${name}\` has no schema for its ${member}`);
  }
  if (typeof plugin.prepare !== 'function') throw new Error(`the ${kind} plugin \`${name}\` has no prepare function`);
  if (!TypeGuard.IsSchema(schema)) {
    throw new Error(
      `the ${member} of the ${kind} plugin \`${name}\` must be a TypeBox schema, such as \`Type.Object({})\``,
    );
  }
}
