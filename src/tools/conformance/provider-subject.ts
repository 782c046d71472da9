import { Value } from '@sinclair/typebox/value';
import fc from 'fast-check';
import type { Frame, PreparedProvider, ProviderPlugin, ProviderPreset, WireAdapter } from '../../contract/provider.ts';
import { objectOf } from '../../core/json/object.ts';
import { orElse } from '../../core/thrown.ts';
import type { ConformanceHost } from './host.ts';
import type { Sample } from './samples.ts';
import { defaultsOf, optionsFrom, preparedLaws, type StatedOptions } from './schema-values.ts';

export interface ProviderSubject {
  readonly plugin: ProviderPlugin;
  readonly host: ConformanceHost;
  /** Recorded answers; may be empty. */
  readonly samples: readonly Sample[];
}

/** The settings that an adapter gets in a policy that names the preset. */
export const presetSettings = ({ settings }: ProviderPlugin, preset: ProviderPreset): StatedOptions =>
  objectOf(Value.Default(settings, structuredClone(preset.settings ?? {})));

/** The settings of the presets, the defaults, and other settings that the schema allows. */
export function settingsFor({ plugin }: ProviderSubject): fc.Arbitrary<StatedOptions> | null {
  const stated = Object.values(plugin.presets ?? {}).map((preset) => presetSettings(plugin, preset));
  const defaults = defaultsOf(plugin.settings);
  if (defaults) stated.unshift(defaults);
  const right = stated.filter((settings) => Value.Check(plugin.settings, settings));
  const others = optionsFrom(plugin.settings);
  if (right.length === 0) return others;
  return others ? fc.oneof(fc.constantFrom(...right), others) : fc.constantFrom(...right);
}

/** The frames of a stream's text. */
export function framesIn(host: ConformanceHost, kind: WireAdapter['frames'], text: string): readonly Frame[] {
  const parser = host.frames(kind);
  return [...parser.push(text), ...parser.end()];
}

/** Returns the adapter with its default settings, or else with the settings of its first preset. */
export function typicalAdapter(plugin: ProviderPlugin): PreparedProvider | null {
  const [preset = {}] = Object.values(plugin.presets ?? {});
  return orElse(() => plugin.prepare(defaultsOf(plugin.settings) ?? presetSettings(plugin, preset)), null);
}

/**
 * Returns a function that makes laws about adapters, prepared with each of their settings.
 * @param pick returns null for an adapter of another kind
 */
const lawsOf = <Adapter>(pick: (adapter: PreparedProvider) => Adapter | null) =>
  preparedLaws<ProviderSubject, Adapter>({
    noun: 'settings',
    all: settingsFor,
    prepare: ({ plugin }, settings) => pick(plugin.prepare(settings)),
  });

export const wireLaw = lawsOf((adapter) => (adapter.kind === 'wire' ? adapter : null));
export const inProcessLaw = lawsOf((adapter) => (adapter.kind === 'in-process' ? adapter : null));
export const adapterLaw = lawsOf((adapter) => adapter);
