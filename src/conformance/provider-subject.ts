import { Value } from '@sinclair/typebox/value';
import fc from 'fast-check';
import type {
  Frame,
  InProcessAdapter,
  PreparedProvider,
  ProviderPlugin,
  ProviderPreset,
  WireAdapter,
} from '../contract/provider.ts';
import { objectOf } from '../core/object.ts';
import { orElse } from '../core/thrown.ts';
import type { ConformanceHost } from './host.ts';
import { type Law, type LawText, law, shortJson } from './law.ts';
import type { Sample } from './samples.ts';
import { defaultsOf, optionsFrom, type StatedOptions } from './schema-values.ts';

export interface ProviderSubject {
  readonly plugin: ProviderPlugin;
  readonly host: ConformanceHost;
  /** Recorded answers; may be empty. */
  readonly samples: readonly Sample[];
}

/** The settings of an adapter in a policy that names the preset. */
export const presetSettings = ({ settings }: ProviderPlugin, preset: ProviderPreset): StatedOptions =>
  objectOf(Value.Default(settings, structuredClone(preset.settings ?? {})));

/** The settings of the presets, the defaults, and others that the schema allows. */
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

const adapterWith = (plugin: ProviderPlugin, settings: StatedOptions): PreparedProvider | null =>
  orElse(() => plugin.prepare(settings), null);

/** The adapter with its default settings, or else with those of its first preset. */
export function typicalAdapter(plugin: ProviderPlugin): PreparedProvider | null {
  const [preset = {}] = Object.values(plugin.presets ?? {});
  return adapterWith(plugin, defaultsOf(plugin.settings) ?? presetSettings(plugin, preset));
}

interface AdapterLawText<Adapter, Case> extends Omit<LawText<ProviderSubject, Case>, 'fault'> {
  fault(adapter: Adapter, one: Case, subject: ProviderSubject): string | null;
}

type Wire = WireAdapter & PreparedProvider;
type InProcess = InProcessAdapter & PreparedProvider;

/**
 * Makes a law about adapters, prepared with each of their settings.
 * @param pick returns null for an adapter of another kind
 */
function lawOfAdapters<Adapter, Case>(
  text: AdapterLawText<Adapter, Case>,
  pick: (adapter: PreparedProvider) => Adapter | null,
): Law<ProviderSubject> {
  return law<ProviderSubject, { readonly settings: StatedOptions; readonly one: Case }>({
    ...text,
    cases(subject) {
      const [settings, cases] = [settingsFor(subject), text.cases(subject)];
      return settings && cases && fc.record({ settings, one: cases });
    },
    fault(subject, { settings, one }) {
      const adapter = adapterWith(subject.plugin, settings);
      const picked = adapter && pick(adapter);
      return picked && text.fault(picked, one, subject);
    },
    describe({ settings, one }) {
      const set = Object.keys(settings).length > 0 ? ` (settings ${shortJson(settings)})` : '';
      return `${text.describe(one)}${set}`;
    },
  });
}

export const wireLaw = <Case>(text: AdapterLawText<Wire, Case>): Law<ProviderSubject> =>
  lawOfAdapters(text, (adapter) => (adapter.kind === 'wire' ? adapter : null));

export const inProcessLaw = <Case>(text: AdapterLawText<InProcess, Case>): Law<ProviderSubject> =>
  lawOfAdapters(text, (adapter) => (adapter.kind === 'in-process' ? adapter : null));

export const adapterLaw = <Case>(text: AdapterLawText<PreparedProvider, Case>): Law<ProviderSubject> =>
  lawOfAdapters(text, (adapter) => adapter);
