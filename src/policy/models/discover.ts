import type { ProviderText } from '../schema/policy.ts';
import type { NamedItem } from '../schema/section-checks.ts';
import { LATEST_VERSION, type LanguageVersion } from '../versions.ts';

/** The presets whose models Signalbox finds by default. */
export const DISCOVERED_PRESETS = ['ollama', 'llama-cpp', 'lm-studio', 'vllm'] as const;

const FOUND_BY_DEFAULT: ReadonlySet<string> = new Set(DISCOVERED_PRESETS);

/** Whether a preset is a program that operators run themselves. */
export const isOwnServer = (preset: string): boolean => FOUND_BY_DEFAULT.has(preset);

/** Returns the beginnings of the IDs of models that may be found. */
export const openingsOf = (providers: readonly NamedItem<ProviderText>[], version: LanguageVersion): string[] =>
  providers.filter(({ data }) => data && discoverOf(data, version) !== 'off').map(({ name }) => `${name}/`);

/** Returns whether Signalbox finds the models of a provider, and how it serves them. Version 1 finds no models by default. */
export function discoverOf(
  { discover, preset }: Partial<Pick<ProviderText, 'discover' | 'preset'>>,
  version: LanguageVersion,
): NonNullable<ProviderText['discover']> {
  if (discover !== undefined) return discover;
  return version === LATEST_VERSION && preset !== undefined && isOwnServer(preset) ? 'serve' : 'off';
}
