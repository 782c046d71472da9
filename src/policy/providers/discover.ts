import type { NamedItem } from '../check/section-checks.ts';
import type { ProviderText } from './schema.ts';

/** The presets whose models Signalbox finds by default. */
export const DISCOVERED_PRESETS = ['ollama', 'llama-cpp', 'lm-studio', 'vllm'] as const;

const FOUND_BY_DEFAULT: ReadonlySet<string> = new Set(DISCOVERED_PRESETS);

/** Whether a preset is a program that operators run themselves. */
export const isOwnServer = (preset: string): boolean => FOUND_BY_DEFAULT.has(preset);

/** Returns the beginnings of the IDs of models that may be found. */
export const openingsOf = (providers: readonly NamedItem<ProviderText>[]): string[] =>
  providers.filter(({ data }) => data && discoverOf(data) !== 'off').map(({ name }) => `${name}/`);

/** Returns whether Signalbox finds the models of a provider, and how it serves them. */
export function discoverOf({
  discover,
  preset,
}: Partial<Pick<ProviderText, 'discover' | 'preset'>>): NonNullable<ProviderText['discover']> {
  if (discover !== undefined) return discover;
  return preset !== undefined && isOwnServer(preset) ? 'serve' : 'off';
}
