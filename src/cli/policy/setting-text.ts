import type { SettingName } from '../../operate/policy/settings.ts';

export const SETTING_WORDS: Readonly<Record<SettingName, string>> = {
  all_set: 'as if every variable were set',
  here: 'with the variables that are set here',
};

/** More providers than these are listed by name alone. */
const REASONS_MAX = 4;

/** The providers that the variables set here leave out, with the reasons; without a full stop. */
export const leftOutText = (missing: readonly string[]): string =>
  `Left out with the variables that are set here: ${missing.join(', ')}`;

/** The same in short: many providers that lack a variable are listed by name alone. */
export function leftOutBriefly(missing: readonly string[]): string {
  if (missing.length <= REASONS_MAX) return leftOutText(missing);
  const names = missing.map((one) => one.replace(/ \([^()]+ (?:is|are) not set\)$/, ''));
  return `${leftOutText(names)}; signalbox policy check --all tells the variables`;
}
