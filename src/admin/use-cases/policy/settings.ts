import { UsageError } from '../../../core/usage-error.ts';
import type { Diagnostic } from '../../../policy/report/diagnostics.ts';
import { compileCandidate, isRejected, leftOutProviders, type PolicyTools } from '../../../policy/runtime/candidate.ts';
import type { ParsedFiles } from '../../../policy/runtime/parse-files.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import type { PolicyBundle } from '../../../policy/runtime/source.ts';
import { idleIn, idleText, type JudgeTools, nothingServes, toolsFor } from './tools.ts';

/** The settings of variables in which a policy is checked: with every variable set, and with the variables that are set here. */
export const SETTINGS = ['all_set', 'here'] as const;
export type SettingName = (typeof SETTINGS)[number];

/**
 * A policy in a setting: with the variables of this environment, or with all variables set. The variables decide which models can be
 * served.
 */
export interface PolicySetting {
  /** The names of the setting; both names, if both settings give the same snapshot. */
  readonly names: readonly SettingName[];
  readonly runtime: Runtime;
}

/** A policy in the settings in which it is checked. */
export interface Settings {
  readonly parsed: ParsedFiles;
  /** The list is empty if the policy has errors. */
  readonly settings: readonly PolicySetting[];
  /** The errors of the policy. The cases have not run. */
  readonly problems: readonly Diagnostic[];
  /** Providers that cannot serve with the variables set here, each with the reason. */
  readonly missing: readonly string[];
}

/**
 * Prepares a policy with every variable set, so that results are the same on every machine, and also with the variables that are set here.
 * With `onlyHere`, prepares the policy only with the variables that are set here. Throws UsageError if there is nothing to check.
 */
export async function settingsOf(
  folder: string,
  bundle: PolicyBundle,
  judge: JudgeTools,
  onlyHere: boolean,
): Promise<Settings> {
  const tools = await toolsFor(folder, bundle, judge);
  const { parsed } = tools;
  const anywhere = onlyHere ? null : await preparedBy(bundle, tools.anywhere);
  if (anywhere && !anywhere.runtime) return { parsed, settings: [], problems: anywhere.problems, missing: [] };
  const here = await preparedBy(bundle, tools.here);
  const idle = idleIn(here.problems);
  if (idle && !anywhere) throw nothingServes(folder, idle);
  const problems = here.problems.filter((one) => one !== idle);
  const missing = idle ? [idleText(idle)] : here.missing;
  if (problems.length > 0) return { parsed, settings: [], problems, missing };
  return { parsed, settings: joined(anywhere?.runtime ?? null, here.runtime), problems, missing };
}

/** Returns only one setting if both settings give the same snapshot. */
function joined(anywhere: Runtime | null, here: Runtime | null): PolicySetting[] {
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
