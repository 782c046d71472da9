import type { ProviderPlugin, ProviderPreset } from '../contract/provider.ts';
import type { SourceSpan } from './diagnostics.ts';
import type { Report } from './report.ts';
import type { ProviderText } from './schema.ts';
import { type NamedItem, reportUnknownPlugin } from './sections.ts';
import { placeAt, valueAt } from './tree.ts';

/** The adapter of a provider, and the preset with its defaults. */
export interface ProviderService {
  readonly plugin: ProviderPlugin;
  readonly preset: ProviderPreset;
}

/** Finds the adapter and preset of a provider. Either may imply the other. Reports errors and returns null. */
export function findService(
  { path, tree, place }: NamedItem<ProviderText>,
  data: Partial<ProviderText>,
  plugins: ReadonlyMap<string, ProviderPlugin>,
  report: Report,
): ProviderService | null {
  const { adapter, preset } = data;
  const plugin = adapter === undefined ? null : plugins.get(adapter);
  if (plugin === undefined) {
    reportAdapter(placeAt(tree, 'adapter'), adapter ?? '', plugins, report);
    return null;
  }
  if (preset !== undefined) {
    const found = plugin ? presetOf(plugin, preset) : findPreset(preset, plugins);
    if (!found) reportPreset(tree, preset, plugin, plugins, report);
    return found;
  }
  if (plugin) {
    // An adapter alone implies the preset of the same name, unless the policy states an address.
    const isElsewhere = data.base_url !== undefined || data.base_url_env !== undefined;
    return (isElsewhere ? null : presetOf(plugin, plugin.name)) ?? { plugin, preset: {} };
  }
  // A key with a wrong value was already reported.
  if (!valueAt(tree, 'adapter') && !valueAt(tree, 'preset')) {
    report.add('missing-key', place, `\`${path}\` needs the key \`adapter\` or \`preset\``, {
      hint: 'a preset names a known service, with its address and adapter; an `adapter` needs a `base_url`',
    });
  }
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

function reportAdapter(
  place: SourceSpan,
  name: string,
  plugins: ReadonlyMap<string, ProviderPlugin>,
  report: Report,
): void {
  const service = findPreset(name, plugins);
  if (!service) {
    reportUnknownPlugin('adapter', name, plugins.keys(), place, report);
    return;
  }
  report.add('unknown-reference', place, `there is no adapter \`${name}\``, {
    hint: `\`${name}\` is a preset of \`${service.plugin.name}\`: write \`preset: ${name}\``,
  });
}

function reportPreset(
  tree: NamedItem<ProviderText>['tree'],
  name: string,
  plugin: ProviderPlugin | null,
  plugins: ReadonlyMap<string, ProviderPlugin>,
  report: Report,
): void {
  const place = placeAt(tree, 'preset');
  const speaker = findPreset(name, plugins)?.plugin;
  if (plugin && speaker) {
    const message = `the adapter \`${plugin.name}\` has no preset \`${name}\``;
    report.add('unknown-reference', place, message, {
      hint: `remove \`adapter\`: the preset uses \`${speaker.name}\``,
    });
    return;
  }
  const known = [...plugins.values()].flatMap(({ presets = {} }) => Object.keys(presets));
  reportUnknownPlugin('preset', name, known, place, report);
}
