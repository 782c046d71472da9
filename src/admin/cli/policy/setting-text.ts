import { commandName } from '../../../core/command-name.ts';
import type { SettingName } from '../../use-cases/policy/settings.ts';

export const SETTING_WORDS: Readonly<Record<SettingName, string>> = {
  all_set: 'with every variable set',
  here: 'with the variables of this environment',
};

/** More providers than these are listed by name alone. */
export const REASONS_MAX = 4;

/** The providers that cannot serve in this environment, with the reasons; without a full stop. */
export const leftOutText = (missing: readonly string[]): string =>
  `Providers that cannot serve here: ${missing.join(', ')}`;

/** The same in short: many providers that lack a variable are listed by name alone. */
export function leftOutBriefly(missing: readonly string[]): string {
  if (missing.length <= REASONS_MAX) return leftOutText(missing);
  const names = missing.map((one) => one.replace(/ \([^()]+ (?:is|are) not set\)$/, ''));
  return `${leftOutText(names)}. To list the variables, run: ${commandName()} policy check --all`;
}
