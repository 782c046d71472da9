import { plural } from '../../../core/text/text.ts';
import { checkWords } from '../policy/folder-words.ts';
import { type DoctorRun, type Finding, fine, type LoadedPolicy, problem, warning } from './finding.ts';
import { namesText } from './providers.ts';

/** Checks that the policy is active as its files say. */
export async function checkPolicy({ policy, server, folder, command }: DoctorRun): Promise<readonly Finding[]> {
  const loaded = await policy();
  if ('refusal' in loaded) return [problem(loaded.refusal, loaded.advice)];
  if (server?.lastReload.result === 'refused')
    return [
      problem(
        `The last edit of the policy was refused, so the policy before it serves: ${server.lastReload.message}`,
        `Run \`${command(checkWords(folder))}\`, and correct the files.`,
      ),
    ];
  const { revision } = loaded.runtime.snapshot;
  return [fine(server ? `The policy ${revision} is active.` : `The policy ${revision} can serve here.`)];
}

/** Reports old figures. The warnings of `DoctorPolicy` have only figures of models that can serve. */
export function checkFigures({ folder, command }: DoctorRun, { warnings }: LoadedPolicy): readonly Finding[] {
  const old = warnings.filter(({ code }) => code === 'stale-figure').map(({ message }) => message);
  if (old.length === 0) return [fine('No price or other dated figure of a model that can serve is old.')];
  return [
    warning(
      `${plural(old.length, 'figure')} of models that can serve may be out of date: ${namesText(old, 2)}.`,
      `Compare them with the price list of the provider, and update \`as_of\`. \`${command('catalog update PROVIDER')}\` shows changed prices, and \`${command(`${checkWords(folder)} --all`)}\` lists all old figures.`,
    ),
  ];
}
