import type { ProviderPlugin, ProviderPreset } from '../../contract/provider.ts';
import { checkNeeded } from '../check/key-rules.ts';
import type { NamedItem } from '../check/section-checks.ts';
import type { SourceSpan } from '../report/diagnostics.ts';
import type { Report } from '../report/report.ts';
import { placeAt } from '../yaml/tree.ts';
import { ProviderText } from './schema.ts';

/** The adapter of a provider, and the preset with its defaults. */
export interface ProviderService {
  readonly plugin: ProviderPlugin;
  readonly preset: ProviderPreset;
}

/**
 * Finds the adapter and preset of a provider. The policy may state only the adapter or only the preset. `findService` reports errors and
 * then returns null.
 */
export function findService(
  named: NamedItem<ProviderText>,
  data: Partial<ProviderText>,
  plugins: ReadonlyMap<string, ProviderPlugin>,
  report: Report,
): ProviderService | null {
  const { adapter, preset } = data;
  const plugin = adapter === undefined ? null : plugins.get(adapter);
  const refuse = (at: SourceSpan, message: string, hint: string): null => {
    report.add('unknown-reference', at, message, { hint });
    return null;
  };
  if (adapter !== undefined && plugin === undefined) {
    const at = placeAt(named.tree, 'adapter');
    const meant = findPreset(adapter, plugins)?.plugin.name;
    if (meant !== undefined) {
      const hint = `\`${adapter}\` is a preset of the adapter \`${meant}\`: write \`preset: ${adapter}\``;
      return refuse(at, `there is no adapter \`${adapter}\``, hint);
    }
    report.addUnknownPlugin('adapter', adapter, plugins.keys(), at);
    return null;
  }
  if (preset !== undefined) {
    const service = findPreset(preset, plugins);
    const found = plugin ? presetOf(plugin, preset) : service;
    if (found) return found;
    const at = placeAt(named.tree, 'preset');
    if (plugin && service) {
      const message = `the adapter \`${plugin.name}\` has no preset \`${preset}\``;
      return refuse(at, message, `remove \`adapter\`: the preset uses \`${service.plugin.name}\``);
    }
    const known = [...plugins.values()].flatMap(({ presets = {} }) => Object.keys(presets));
    report.addUnknownPlugin('preset', preset, known, at);
    return null;
  }
  if (plugin) {
    // An adapter without a preset uses the preset of the same name, unless the policy states an address.
    const isElsewhere = data.base_url !== undefined || data.base_url_env !== undefined;
    return (isElsewhere ? null : presetOf(plugin, plugin.name)) ?? { plugin, preset: {} };
  }
  const hint =
    'a preset is a known service, with its address and adapter; if you state an `adapter` instead, also state a `base_url`';
  checkNeeded(ProviderText, named, report, hint);
  return null;
}

function presetOf(plugin: ProviderPlugin, name: string): ProviderService | null {
  const { presets = {} } = plugin;
  const preset = Object.hasOwn(presets, name) ? presets[name] : undefined;
  return preset ? { plugin, preset } : null;
}

function findPreset(name: string, plugins: ReadonlyMap<string, ProviderPlugin>): ProviderService | null {
  for (const plugin of plugins.values()) {
    const found = presetOf(plugin, name);
    if (found) return found;
  }
  return null;
}

/** Whether an address leads to the domain of a preset, such as `eu.api.openai.com`. */
export function isServiceAddress(address: string, plugins: ReadonlyMap<string, ProviderPlugin>): boolean {
  const host = new URL(address).hostname.replace(/\.$/, '');
  const presets = [...plugins.values()].flatMap((plugin) => Object.values(plugin.presets ?? {}));
  return presets.some(({ baseUrl }) => {
    if (baseUrl === undefined) return false;
    const domain = new URL(baseUrl).hostname.split('.').slice(-2).join('.');
    return host === domain || host.endsWith(`.${domain}`);
  });
}

/**
 * Returns the path at which services of this kind have their API, such as `/v1`: the path of the preset, or the commonest path of the
 * adapter's presets. Null if that is no path, so that an address with only a host is usually right.
 */
export function usualPath({ plugin, preset }: ProviderService): string | null {
  const own = pathOf(preset);
  if (own !== null) return own === '' ? null : own;
  const paths = Object.values(plugin.presets ?? {}).flatMap((one) => pathOf(one) ?? []);
  const counts = [...Map.groupBy(paths, (path) => path)].sort(([, a], [, b]) => b.length - a.length);
  return counts[0]?.[0] || null;
}

/** Returns the path of a preset's address; null if the preset has no address. */
function pathOf({ baseUrl, basePath }: ProviderPreset): string | null {
  if (basePath !== undefined) return basePath;
  return baseUrl === undefined ? null : new URL(baseUrl).pathname.replace(/\/+$/, '');
}
