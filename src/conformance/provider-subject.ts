import { Value } from '@sinclair/typebox/value';
import fc from 'fast-check';
import type { InProcessAdapter, PreparedProvider, ProviderPlugin, WireAdapter } from '../contract/provider.ts';
import type { Host } from './host.ts';
import { type Law, law, shown } from './law.ts';
import type { Sample } from './samples.ts';
import { defaultsOf, optionsFrom } from './schema-values.ts';

export interface ProviderSubject {
  readonly plugin: ProviderPlugin;
  readonly host: Host;
  /** Real answers, if there are any. */
  readonly samples: readonly Sample[];
}

export type Settings = Readonly<Record<string, unknown>>;

/** What a policy that names a preset gives the adapter. */
export function presetSettings({ settings }: ProviderPlugin, preset: { readonly settings?: Settings }): Settings {
  const made: unknown = Value.Default(settings, structuredClone(preset.settings ?? {}));
  return typeof made === 'object' && made !== null ? { ...made } : {};
}

/** Settings as policies have them: those of the presets, the defaults, and any other that the schema allows. */
export function settingsFor({ plugin }: ProviderSubject): fc.Arbitrary<Settings> | null {
  const known = Object.values(plugin.presets ?? {}).map((preset) => presetSettings(plugin, preset));
  const defaults = defaultsOf(plugin.settings);
  if (defaults) known.unshift(defaults);
  const right = known.filter((settings) => Value.Check(plugin.settings, settings));
  const others = optionsFrom(plugin.settings);
  if (right.length === 0) return others;
  return others ? fc.oneof(fc.constantFrom(...right), others) : fc.constantFrom(...right);
}

/** The adapter with these settings; null where it refuses them. */
function adapterWith(plugin: ProviderPlugin, settings: Settings): PreparedProvider | null {
  try {
    return plugin.prepare(settings);
  } catch {
    return null;
  }
}

/** The adapter with its defaults, or as its first preset has it. */
export function typicalAdapter(plugin: ProviderPlugin): PreparedProvider | null {
  const [preset = {}] = Object.values(plugin.presets ?? {});
  return adapterWith(plugin, defaultsOf(plugin.settings) ?? presetSettings(plugin, preset));
}

interface About<Adapter, Case> {
  readonly name: string;
  readonly says: string;
  cases(subject: ProviderSubject): fc.Arbitrary<Case> | null;
  fault(adapter: Adapter, one: Case, subject: ProviderSubject): string | null;
  tell(one: Case): string;
}

type Wire = WireAdapter & PreparedProvider;
type InProcess = InProcessAdapter & PreparedProvider;

/** A law about an adapter that takes its settings. `pick`: of the kind that the law is about. */
function aboutAdapter<Adapter, Case>(
  text: About<Adapter, Case>,
  pick: (adapter: PreparedProvider) => Adapter | null,
): Law<ProviderSubject> {
  return law<ProviderSubject, { readonly settings: Settings; readonly one: Case }>({
    name: text.name,
    says: text.says,
    cases(subject) {
      const [settings, cases] = [settingsFor(subject), text.cases(subject)];
      return settings && cases && fc.record({ settings, one: cases });
    },
    fault(subject, { settings, one }) {
      const adapter = adapterWith(subject.plugin, settings);
      const picked = adapter && pick(adapter);
      return picked && text.fault(picked, one, subject);
    },
    tell({ settings, one }) {
      const set = Object.keys(settings).length > 0 ? ` (settings ${shown(settings)})` : '';
      return `${text.tell(one)}${set}`;
    },
  });
}

export const aboutWire = <Case>(text: About<Wire, Case>): Law<ProviderSubject> =>
  aboutAdapter(text, (adapter) => (adapter.kind === 'wire' ? adapter : null));

export const aboutInProcess = <Case>(text: About<InProcess, Case>): Law<ProviderSubject> =>
  aboutAdapter(text, (adapter) => (adapter.kind === 'in-process' ? adapter : null));

export const aboutAny = <Case>(text: About<PreparedProvider, Case>): Law<ProviderSubject> =>
  aboutAdapter(text, (adapter) => adapter);
