import { TypeGuard } from '@sinclair/typebox';
import type { EstimatorPlugin } from '../contract/estimator.ts';
import type { ProviderPlugin } from '../contract/provider.ts';
import type { StrategyPlugin } from '../contract/strategy.ts';

export type Plugin = StrategyPlugin | ProviderPlugin | EstimatorPlugin;

/** Plugins by kind and name. */
export interface PluginRegistry {
  readonly strategies: ReadonlyMap<string, StrategyPlugin>;
  readonly providers: ReadonlyMap<string, ProviderPlugin>;
  readonly estimators: ReadonlyMap<string, EstimatorPlugin>;
}

/** Strategies that requests rely on. */
const REQUIRED_STRATEGIES = ['auto', 'auto-fast', 'auto-cheap', 'weighted'] as const;
/** The default estimator. */
const REQUIRED_ESTIMATOR = 'learned';

/** Collects plugins by name. Throws an error with the name of a plugin that clashes, breaks the contract, or is missing. */
export function createRegistry(plugins: readonly Plugin[]): PluginRegistry {
  const strategies = new Map<string, StrategyPlugin>();
  const providers = new Map<string, ProviderPlugin>();
  const estimators = new Map<string, EstimatorPlugin>();
  for (const plugin of plugins) {
    assertContract(plugin);
    const known = { strategy: strategies, provider: providers, estimator: estimators }[plugin.kind];
    if (known.has(plugin.name)) throw new Error(`two ${plugin.kind} plugins are named \`${plugin.name}\``);
    if (plugin.kind === 'strategy') strategies.set(plugin.name, plugin);
    else if (plugin.kind === 'provider') providers.set(plugin.name, plugin);
    else estimators.set(plugin.name, plugin);
  }
  for (const name of REQUIRED_STRATEGIES) {
    if (!strategies.has(name)) throw new Error(`the strategy plugin \`${name}\` is missing`);
  }
  if (!estimators.has(REQUIRED_ESTIMATOR)) {
    throw new Error(`the estimator plugin \`${REQUIRED_ESTIMATOR}\` is missing`);
  }
  return { strategies, providers, estimators };
}

const NAME = /^[a-z][a-z0-9-]{0,63}$/;

/** Checks a plugin, which may not be type-checked. Throws if it breaks the contract. */
export function assertContract(plugin: Plugin): void {
  const { kind, name } = plugin;
  if (kind !== 'strategy' && kind !== 'provider' && kind !== 'estimator') {
    const actual = `this one has the kind ${String(kind)}`;
    throw new Error(`a plugin must be made by defineStrategy, defineProvider or defineEstimator; ${actual}`);
  }
  if (typeof name !== 'string' || !NAME.test(name)) {
    throw new Error(`a plugin's name must be lower-case letters, digits and dashes, not ${JSON.stringify(name)}`);
  }
  const schema: unknown = plugin.kind === 'provider' ? plugin.settings : plugin.options;
  const what = kind === 'provider' ? 'settings' : 'options';
  if (typeof schema !== 'object' || schema === null) {
    throw new Error(`the ${kind} plugin \`${name}\` has no schema for its ${what}`);
  }
  if (typeof plugin.prepare !== 'function') throw new Error(`the ${kind} plugin \`${name}\` has no prepare function`);
  if (!TypeGuard.IsSchema(schema)) {
    throw new Error(
      `the ${what} of the ${kind} plugin \`${name}\` must be a schema of TypeBox, such as \`Type.Object({})\``,
    );
  }
}
