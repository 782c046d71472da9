import { checkCommand } from '../../admin/use-cases/policy/folder-words.ts';
import type { SettingName } from '../../admin/use-cases/policy/settings.ts';
import { pathText } from '../text.ts';

export const SETTING_WORDS: Readonly<Record<SettingName, string>> = {
  all_set: 'with every variable set',
  here: 'with the variables of this environment',
};

/** If more than this number of providers cannot serve, the text lists only the names of the providers. */
export const REASONS_MAX = 4;

/** Lists the providers that cannot serve in this environment, with the reasons. The text has no full stop at the end. */
export const leftOutText = (missing: readonly string[]): string =>
  `Providers that cannot serve here: ${missing.join(', ')}`;

/** Like `leftOutText`, but lists many providers by name only. @param folder the policy folder; null for the policy of a server, whose variables no command here can list */
export function leftOutBriefly(missing: readonly string[], folder: string | null): string {
  if (missing.length <= REASONS_MAX) return leftOutText(missing);
  const names = missing.map((one) => one.replace(/ \([^()]+ (?:is|are) not set\)$/, ''));
  if (folder === null) return leftOutText(names);
  return `${leftOutText(names)}. To see which variables are missing, run: ${checkCommand(pathText(folder))} --all`;
}
