import { existsSync, statSync } from 'node:fs';
import { UsageError } from '../../core/usage-error.ts';
import type { Diagnostic } from '../../policy/diagnostics.ts';
import { buildCandidate, isRejected, type PolicyTools } from '../../runtime/candidate.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type PolicyBundle, PolicySourceError, readBundle } from '../../runtime/source.ts';

/** The tools that judge the policy of any folder. `env` is the real environment. */
export type JudgeTools = Omit<PolicyTools, 'folder'>;

/** A place to look for policies. */
export interface PolicyWorkspace {
  readonly judge: JudgeTools;
  /** The folder of the policy, unless another is named. */
  readonly folder: string;
  /** The database with the stored revisions and outcomes. It need not exist. */
  readonly database: string;
}

export const isFolder = (path: string): boolean => existsSync(path) && statSync(path).isDirectory();

/** Reads the files of a policy. Throws UsageError. */
export async function readPolicy(folder: string): Promise<PolicyBundle> {
  try {
    return await readBundle(folder);
  } catch (cause) {
    if (cause instanceof PolicySourceError)
      throw new UsageError(cause.message.replace('; name another with --policies', ''));
    throw cause;
  }
}

/** Returns the error of a policy that `serve` would not start with, for no provider can be reached. */
export const nothingServes = (folder: string, { hint, message }: Diagnostic): UsageError =>
  new UsageError(`No provider of ${folder} can serve with the variables that are set here: ${hint ?? message}.`);

/** Builds the policy as `serve` would in this environment. Throws UsageError. */
export async function runtimeOf(folder: string, tools: JudgeTools): Promise<Runtime> {
  const judged = await buildCandidate(await readPolicy(folder), { ...tools, folder });
  if (!isRejected(judged)) return judged.runtime;
  const idle = judged.problems.find(({ code }) => code === 'nothing-to-serve');
  if (idle) throw nothingServes(folder, idle);
  const why = judged.message ?? '`serve` would refuse this policy; signalbox policy check tells why';
  throw new UsageError(`${folder}: ${why.replace(/\.$/, '')}.`);
}
