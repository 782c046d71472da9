import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { StrategyPlugin } from '../../contract/strategy.ts';
import { measuredModels } from '../../core/readings.ts';
import type { PolicySnapshot } from '../../core/snapshot.ts';
import { UsageError } from '../../core/usage-error.ts';
import { type Diagnostic, type DiagnosticCode, diagnosticsJson } from '../../policy/diagnostics.ts';
import { isWildcard } from '../../policy/models.ts';
import { changedDefaults } from '../../policy/version-changes.ts';
import { buildCandidate, isRejected, leftOutProviders, type PolicyTools } from '../../runtime/candidate.ts';
import { isPolicyFile, type PolicyBundle } from '../../runtime/source.ts';
import { idleIn, idleText, type JudgeTools, readPolicy, toolsFor } from './tools.ts';

/** The result of checking a policy. */
export type PolicyCheck = Awaited<ReturnType<typeof checkBundle>>;

/** Checks the policy of a folder as `checkBundle` does, and tells which of its files are not read. */
export async function checkPolicy(folder: string, judge: JudgeTools, today: string) {
  return { ...(await checkBundle(folder, await readPolicy(folder), judge, today)), unread: await unreadFiles(folder) };
}

/**
 * Checks a policy with every variable set and with the variables that are set here.
 * @param folder that of relative plugins
 * @param today the day, such as `2026-10-07`, for warnings of stale figures.
 * @throws UsageError when there is nothing to check.
 */
export async function checkBundle(folder: string, bundle: PolicyBundle, judge: JudgeTools, today: string) {
  const tools = await toolsFor(folder, bundle, { ...judge, today });
  const judged = await buildCandidate(bundle, tools.anywhere);
  if (isRejected(judged) && judged.message !== null) throw new UsageError(`${folder}: ${judged.message}`);
  const anywhere = isRejected(judged) ? judged.problems : judged.warnings;
  const here = isRejected(judged) ? NO_FINDINGS : await checkHere(bundle, tools.here);
  return {
    bundle,
    // Null for a policy with errors that keep it from being built.
    snapshot: isRejected(judged) ? null : judged.runtime.snapshot,
    // First the findings with every variable set, then those that show only with the variables set here. A finding of both names the
    // models that can be served here.
    diagnostics: [
      ...anywhere.map((one) => here.diagnostics.find((other) => isSame(one, other)) ?? one),
      ...here.diagnostics.filter((one) => !anywhere.some((other) => isSame(one, other))),
    ],
    // Providers that the variables set here leave out, with the reason.
    missing: here.missing,
    // Teams that conditions of budgets name, where no store says whether they exist.
    uncheckedTeams: isRejected(judged) || judge.teams?.() ? [] : teamsLeftOpen(judged.runtime.snapshot),
    // The defaults that the latest version of the language would change; null for a policy of that version.
    changedDefaults: changedDefaults(JSON.parse(tools.parsed.outline), strategiesOf(judge.shipped)),
  };
}

const teamsLeftOpen = ({ teamIds, teamPlaces }: PolicySnapshot): string[] =>
  [...teamIds.keys()].filter((name) => !teamPlaces.has(name));

const strategiesOf = (plugins: JudgeTools['shipped']): ReadonlyMap<string, StrategyPlugin> =>
  new Map(plugins.flatMap((plugin) => (plugin.kind === 'strategy' ? [[plugin.name, plugin] as const] : [])));

/** Warnings that depend on the models that can be served, and whose messages name some of them. */
const OF_SERVED_MODELS: ReadonlySet<DiagnosticCode> = new Set(['small-budget', 'rules-conflict', 'satisfied-by-none']);

const NO_FINDINGS = { missing: [], diagnostics: [] };

/** The findings with the variables that are set here. */
async function checkHere(bundle: PolicyBundle, tools: PolicyTools) {
  const judged = await buildCandidate(bundle, tools);
  if (!isRejected(judged)) {
    const diagnostics = judged.warnings.filter(({ code }) => OF_SERVED_MODELS.has(code));
    return { missing: leftOutProviders(judged.runtime.snapshot), diagnostics };
  }
  const idle = idleIn(judged.problems);
  return { missing: idle ? [idleText(idle)] : [], diagnostics: judged.problems.filter((one) => one !== idle) };
}

const isSame = (a: Diagnostic, b: Diagnostic): boolean =>
  a.code === b.code &&
  a.file === b.file &&
  a.line === b.line &&
  a.column === b.column &&
  (OF_SERVED_MODELS.has(a.code) || a.message === b.message);

/** The result as `policy check --json` prints it and `POST /admin/policy/check` answers. */
export const checkBody = ({ bundle, snapshot, diagnostics, missing, changedDefaults }: PolicyCheck) => ({
  ...diagnosticsJson(diagnostics),
  files: bundle.files.map(({ path }) => path),
  models: snapshot && declaredIn(snapshot).filter((id) => !isWildcard(id)).length,
  wildcards: snapshot && declaredIn(snapshot).filter(isWildcard).length,
  cases: snapshot?.cases.length ?? null,
  left_out_here: missing,
  changed_by_latest_version: changedDefaults,
});

/** The declared models and wildcards: also those that serve only alone, which are left out where every variable is set. */
export const declaredIn = (snapshot: PolicySnapshot): string[] => [
  ...measuredModels(snapshot).map(({ id }) => id),
  ...snapshot.leftOut.flatMap(({ kind, name }) => (kind === 'model' ? [name] : [])),
];

/** Lists files that look like a part of the policy and are not read, so that their rules have no effect: each with the reason. */
async function unreadFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const visible = entries.filter(({ name }) => !name.startsWith('.'));
  const misnamed = visible.filter((entry) => !entry.isDirectory() && isYaml(entry.name) && !isPolicyFile(entry.name));
  const folders = visible.filter((entry) => entry.isDirectory() && entry.name !== 'node_modules');
  const below = await Promise.all(folders.map(({ name }) => yamlIn(folder, name)));
  return [
    ...misnamed.map(({ name }) => `${name} (policy files end in .yaml or .yml, in small letters)`),
    ...below.flat().map((path) => `${path} (subfolders of a policy are not read)`),
  ].sort();
}

const isYaml = (name: string): boolean => /\.ya?ml$/i.test(name);

async function yamlIn(folder: string, name: string): Promise<string[]> {
  const names = await readdir(join(folder, name)).catch(() => []);
  return names.filter((one) => isYaml(one) && !one.startsWith('.')).map((one) => join(name, one));
}
