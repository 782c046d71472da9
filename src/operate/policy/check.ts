import { UsageError } from '../../core/usage-error.ts';
import type { Diagnostic } from '../../policy/diagnostics.ts';
import { buildCandidate, isRejected, leftOutProviders, type PolicyTools } from '../../runtime/candidate.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { PolicyBundle } from '../../runtime/source.ts';
import { generous } from './environment.ts';
import { type JudgeTools, readPolicy } from './tools.ts';
import { unreadFiles } from './unread.ts';

/** The result of checking a policy. */
export interface PolicyCheck {
  readonly bundle: PolicyBundle;
  /** Null for a policy with errors that keep it from being built. */
  readonly snapshot: Runtime['snapshot'] | null;
  /** First the findings with every variable set, then those that show only with the variables set here. */
  readonly diagnostics: readonly Diagnostic[];
  /** Providers that the variables set here leave out, with the reason. */
  readonly missing: readonly string[];
  /** Files that look like a part of the policy and are not read, with the reason. */
  readonly unread: readonly string[];
}

/**
 * Checks a policy with every variable set and with the variables that are set here.
 * @param today the day, such as `2026-10-07`, for warnings of stale figures.
 * @throws UsageError when there is nothing to check.
 */
export async function checkPolicy(folder: string, judge: JudgeTools, today: string): Promise<PolicyCheck> {
  const bundle = await readPolicy(folder);
  const parsed = await judge.parse(bundle.files, null);
  // Its text is the same in both environments.
  const tools: PolicyTools = { ...judge, folder, parse: () => parsed, today };
  const judged = await buildCandidate(bundle, { ...tools, env: generous(tools.env) });
  if (isRejected(judged) && judged.message !== null) throw new UsageError(`${folder}: ${judged.message}`);
  const anywhere = isRejected(judged) ? judged.problems : judged.warnings;
  const here = isRejected(judged) ? NO_FINDINGS : await checkHere(bundle, tools);
  return {
    bundle,
    snapshot: isRejected(judged) ? null : judged.runtime.snapshot,
    diagnostics: [...anywhere, ...here.diagnostics.filter((one) => !anywhere.some((other) => isSame(one, other)))],
    missing: here.missing,
    unread: await unreadFiles(folder),
  };
}

/** The findings with the variables that are set here. */
type LocalFindings = Pick<PolicyCheck, 'missing' | 'diagnostics'>;

const NO_FINDINGS: LocalFindings = { missing: [], diagnostics: [] };

async function checkHere(bundle: PolicyBundle, tools: PolicyTools): Promise<LocalFindings> {
  const judged = await buildCandidate(bundle, tools);
  if (!isRejected(judged)) return { missing: leftOutProviders(judged.runtime.snapshot), diagnostics: [] };
  // A lack of providers is a fact of this environment, not a mistake of the policy.
  const idle = judged.problems.filter(({ code }) => code === 'nothing-to-serve');
  return {
    missing: idle.map(({ hint, message }) => `every provider, so \`serve\` would not start: ${hint ?? message}`),
    diagnostics: judged.problems.filter((one) => !idle.includes(one)),
  };
}

const isSame = (a: Diagnostic, b: Diagnostic): boolean =>
  a.code === b.code && a.file === b.file && a.line === b.line && a.column === b.column && a.message === b.message;
