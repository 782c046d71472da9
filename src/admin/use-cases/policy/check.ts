import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { measuredModels } from '../../../core/decision/readings.ts';
import { toCredits } from '../../../core/money/credits.ts';
import type { PolicySnapshot } from '../../../core/policy/snapshot.ts';
import { iso } from '../../../core/time/clock.ts';
import { UsageError } from '../../../core/usage-error.ts';
import type { ConvertedAmount } from '../../../policy/check/amounts.ts';
import { isWildcard } from '../../../policy/models/models.ts';
import { type Diagnostic, type DiagnosticCode, diagnosticsBody } from '../../../policy/report/diagnostics.ts';
import { buildCandidate, isRejected, leftOutProviders, type PolicyTools } from '../../../policy/runtime/candidate.ts';
import type { Outline } from '../../../policy/runtime/diff.ts';
import { inSlices } from '../../../policy/runtime/slices.ts';
import { isPolicyFile, type PolicyBundle } from '../../../policy/runtime/source.ts';
import { outlineOf } from './bundles.ts';
import { choicesIn, ordersIn } from './choices.ts';
import { policyName } from './folder-words.ts';
import { guardedChanges } from './guarded.ts';
import type { SettingName } from './settings.ts';
import { idleIn, idleText, type JudgeTools, toolsFor } from './tools.ts';

interface CheckOptions {
  readonly disk?: PolicyBundle;
  readonly unread?: string[];
  readonly choices?: SettingName | null;
}

/** The result of a check, as commands print it and the API returns it. */
export type PolicyCheck = Awaited<ReturnType<typeof checkPolicy>>;

/**
 * Checks a policy with every variable set, and with the variables that are set here.
 * @param folder of plugins with relative paths
 * @param disk the files that a sent policy would replace; absent for the files of a folder
 * @param unread files in the folder that are not part of the policy
 * @param choices the setting of variables with which selectors choose; null to list no choices
 * @throws UsageError if there is nothing to check
 */
export async function checkPolicy(
  folder: string,
  bundle: PolicyBundle,
  judge: JudgeTools,
  { disk, unread = [], choices = null }: CheckOptions = {},
) {
  const tools = await toolsFor(folder, bundle, { ...judge, today: iso(judge.now()).slice(0, 10) });
  const judged = await buildCandidate(bundle, tools.anywhere);
  if (isRejected(judged) && judged.message !== null) throw new UsageError(`${policyName(folder)}: ${judged.message}`);
  const isStale = judge.isStale ?? (() => false);
  const anywhere = isRejected(judged) ? judged.problems : judged.warnings;
  const here = isRejected(judged) ? NO_FINDINGS : await checkHere(bundle, tools.here);
  // The snapshot is null if errors prevent the policy from being built.
  const snapshot = isRejected(judged) ? null : judged.runtime.snapshot;
  const declared = snapshot && declaredIn(snapshot);
  // The findings with every variable set come first, then the findings that appear only with the variables set here. If a finding appears
  // in both settings, it names the models that can be served here.
  const diagnostics = [
    ...anywhere.map((one) => here.diagnostics.find((other) => isSame(one, other)) ?? one),
    ...here.diagnostics.filter((one) => !anywhere.some((other) => isSame(one, other))),
  ];
  const chooser = choices === 'here' ? here.runtime : choices && !isRejected(judged) ? judged.plain : null;
  const outline: Outline = JSON.parse(tools.parsed.outline);
  return {
    ...diagnosticsBody(diagnostics, bundle.files),
    files: bundle.files.map(({ path }) => path),
    models: declared?.filter((id) => !isWildcard(id)).length ?? null,
    wildcards: declared?.filter(isWildcard).length ?? null,
    cases: snapshot?.cases.length ?? null,
    left_out_here: here.missing,
    amounts_in_usd: isRejected(judged) ? [] : tools.parsed.policy.converted.map(amountBody),
    choices: chooser && (await inSlices(choicesIn(chooser), isStale)),
    orders: chooser && ordersIn(chooser.snapshot),
    guarded: disk ? guardedChanges(await outlineOf(disk, judge), outline) : [],
    not_read: unread,
    // Only a store can show whether a team exists.
    unchecked_teams: snapshot && !judge.teams?.() ? teamsLeftOpen(snapshot) : [],
  };
}

const amountBody = ({ path, usd, limit }: ConvertedAmount) => ({ path, usd, credits: toCredits(limit) });

const teamsLeftOpen = ({ teamIds, teamPlaces }: PolicySnapshot): string[] =>
  [...teamIds.keys()].filter((name) => !teamPlaces.has(name));

/** Warnings whose message names models, and which therefore depend on the models that can be served. */
const OF_SERVED_MODELS: ReadonlySet<DiagnosticCode> = new Set([
  'small-budget',
  'rules-conflict',
  'satisfied-by-none',
  'uncounted-images',
]);

const NO_FINDINGS = { missing: [], diagnostics: [], runtime: null };

/** Returns the findings with the variables that are set here. */
async function checkHere(bundle: PolicyBundle, tools: PolicyTools) {
  const judged = await buildCandidate(bundle, tools);
  if (!isRejected(judged)) {
    const diagnostics = judged.warnings.filter(({ code }) => OF_SERVED_MODELS.has(code));
    return { missing: leftOutProviders(judged.runtime.snapshot), diagnostics, runtime: judged.plain };
  }
  const idle = idleIn(judged.problems);
  const diagnostics = judged.problems.filter((one) => one !== idle);
  return { missing: idle ? [idleText(idle)] : [], diagnostics, runtime: null };
}

const isSame = (a: Diagnostic, b: Diagnostic): boolean =>
  a.code === b.code &&
  a.file === b.file &&
  a.line === b.line &&
  a.column === b.column &&
  (OF_SERVED_MODELS.has(a.code) || a.message === b.message);

/**
 * The declared models and wildcards, including models that serve only when no other model can. Models that serve only when no other model
 * can are not served if every variable is set.
 */
const declaredIn = (snapshot: PolicySnapshot): string[] => [
  ...measuredModels(snapshot).map(({ id }) => id),
  ...snapshot.leftOut.flatMap(({ kind, name }) => (kind === 'model' ? [name] : [])),
];

/** Lists files that look like a part of the policy but are not read, so that their rules have no effect. Each listed file has a reason. */
export async function unreadFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const visible = entries.filter(({ name }) => !name.startsWith('.'));
  const misnamed = visible.filter((entry) => !entry.isDirectory() && isYaml(entry.name) && !isPolicyFile(entry.name));
  const folders = visible.filter((entry) => entry.isDirectory() && entry.name !== 'node_modules');
  const below = await Promise.all(folders.map(({ name }) => yamlIn(folder, name)));
  return [
    ...misnamed.map(({ name }) => `${name} (the name of a policy file must end in .yaml or .yml, in lower case)`),
    ...below.flat().map((path) => `${path} (subfolders of a policy are not read)`),
  ].sort();
}

const isYaml = (name: string): boolean => /\.ya?ml$/i.test(name);

async function yamlIn(folder: string, name: string): Promise<string[]> {
  const names = await readdir(join(folder, name)).catch(() => []);
  return names.filter((one) => isYaml(one) && !one.startsWith('.')).map((one) => join(name, one));
}
