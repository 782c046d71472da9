import { UsageError } from '../../core/usage-error.ts';
import type { Diagnostic } from '../../policy/diagnostics.ts';
import { compileCandidate, isRejected, leftOutProviders, type PolicyTools } from '../../runtime/candidate.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { PolicyBundle } from '../../runtime/source.ts';
import { nothingServes, type PolicyCommand, readPolicy } from './command.ts';
import { generous } from './environment.ts';

/** As if every variable were set, and with the variables that are set here. */
const SETTINGS = ['all_set', 'here'] as const;
export type SettingName = (typeof SETTINGS)[number];

export const SETTING_WORDS: Readonly<Record<SettingName, string>> = {
  all_set: 'as if every variable were set',
  here: 'with the variables that are set here',
};

/** More providers than these are told by their names alone. */
const REASONS_MAX = 4;

/** What the variables that are set here leave out, with the reasons; without a full stop. */
export const leftOutText = (missing: readonly string[]): string =>
  `Left out with the variables that are set here: ${missing.join(', ')}`;

/** The same where it is told by the way: many that lack a variable are told by their names alone. */
export function leftOutBriefly(missing: readonly string[]): string {
  if (missing.length <= REASONS_MAX) return leftOutText(missing);
  const names = missing.map((one) => one.replace(/ \([^()]+ (?:is|are) not set\)$/, ''));
  return `${leftOutText(names)}; signalbox policy check --all tells the variables`;
}

/** A policy as it is somewhere: what can be served depends on variables. */
export interface Setting {
  /** Both where every variable is set here. */
  readonly names: readonly SettingName[];
  readonly runtime: Runtime;
}

/** A policy in the settings that it is judged in. */
export interface Settings {
  readonly bundle: PolicyBundle;
  /** Empty where the policy is wrong. */
  readonly settings: readonly Setting[];
  /** What is wrong with it; its cases have not run. */
  readonly problems: readonly Diagnostic[];
  /** What the variables that are set here leave out, with the reason. */
  readonly missing: readonly string[];
}

/**
 * Prepares a policy twice: so that what is told does not depend on who looks, and as `serve` would have it here; with
 * `onlyHere`, in the second way alone. Throws UsageError when there is nothing to judge.
 */
export async function settingsOf(
  folder: string,
  command: PolicyCommand['judge'],
  onlyHere: boolean,
): Promise<Settings> {
  const bundle = await readPolicy(folder);
  const parsed = command.parse(bundle.files, null);
  // Its text is the same in both settings.
  const tools = { ...command, folder, parse: () => parsed };
  const anywhere = onlyHere ? null : await preparedBy(bundle, { ...tools, env: generous(tools.env) });
  if (anywhere && !anywhere.runtime) return { bundle, settings: [], problems: anywhere.problems, missing: [] };
  const here = await preparedBy(bundle, tools);
  const idle = here.problems.find(({ code }) => code === 'nothing-to-serve');
  if (idle && !anywhere) throw nothingServes(folder, idle);
  const problems = here.problems.filter((one) => one !== idle);
  const missing = idle ? [`every provider, so \`serve\` would not start: ${idle.hint ?? idle.message}`] : here.missing;
  if (problems.length > 0) return { bundle, settings: [], problems, missing };
  return { bundle, settings: joined(anywhere?.runtime ?? null, here.runtime), problems, missing };
}

/** Where both come to the same snapshot, they are one. */
function joined(anywhere: Runtime | null, here: Runtime | null): Setting[] {
  if (anywhere && here && anywhere.snapshot.revision === here.snapshot.revision) {
    return [{ names: SETTINGS, runtime: here }];
  }
  return [
    ...(anywhere ? [{ names: ['all_set' as const], runtime: anywhere }] : []),
    ...(here ? [{ names: ['here' as const], runtime: here }] : []),
  ];
}

async function preparedBy(bundle: PolicyBundle, tools: PolicyTools) {
  const prepared = await compileCandidate(bundle, tools);
  if (!isRejected(prepared)) {
    const { runtime } = prepared;
    return { runtime, problems: [], missing: leftOutProviders(runtime.snapshot) };
  }
  if (prepared.message !== null) throw new UsageError(`${tools.folder}: ${prepared.message}`);
  const problems = prepared.problems.filter(({ severity }) => severity === 'error');
  return { runtime: null, problems, missing: [] };
}
