import { existsSync, statSync } from 'node:fs';
import { basename } from 'node:path';
import { isObject } from '../../../core/json/object.ts';
import { UsageError } from '../../../core/usage-error.ts';
import type { PluginLoader } from '../../../host/plugins/load.ts';
import { isBuiltInPolicy } from '../../../host/program.ts';
import { PLACEHOLDER } from '../../../policy/define/environment.ts';
import type { Diagnostic } from '../../../policy/report/diagnostics.ts';
import { compileCandidate, isRejected, type PolicyTools } from '../../../policy/runtime/candidate.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import { type PolicyBundle, PolicySourceError, readBundle } from '../../../policy/runtime/source.ts';
import { checkCommand, policyName } from './folder-words.ts';

/** The tools that check the policy of any folder. `env` is the real environment. */
export type JudgeTools = Omit<PolicyTools, 'folder'>;

/** Where commands find policies. */
export interface PolicyWorkspace {
  readonly judge: JudgeTools;
  /** The policy folder, unless another folder is named. */
  readonly folder: string;
  /** The database with the stored revisions and scores. The database need not exist. */
  readonly database: string;
}

/** A policy with its files, which come from a folder, the database, git or a request. */
export interface PolicySource {
  /** The operator's name for the policy. */
  readonly label: string;
  readonly kind: 'folder' | 'revision' | 'git' | 'bundle';
  readonly bundle: PolicyBundle;
  /** The folder of plugins with relative paths. */
  readonly folder: string;
  /** Loads the plugins in their state at that time. */
  readonly loader: PluginLoader;
}

/** The body of a request before any check. */
export type Body = Readonly<Record<string, unknown>>;

/** Uses a value as the body of a request. The default model is `auto`. Throws UsageError if the value is not an object. */
export function bodyOf(value: unknown): Body {
  if (!isObject(value)) throw new UsageError('A request must be a JSON object.');
  return { ...value, model: value.model ?? 'auto' };
}

export const isFolder = (path: string): boolean => existsSync(path) && statSync(path).isDirectory();

/** Reads the files of a policy. Files of the built-in policy have no path, because users cannot open them. Throws UsageError. */
export async function readPolicy(folder: string): Promise<PolicyBundle> {
  try {
    const bundle = await readBundle(folder);
    if (!isBuiltInPolicy(folder)) return bundle;
    return { ...bundle, files: bundle.files.map((file) => ({ ...file, path: basename(file.path) })) };
  } catch (cause) {
    if (cause instanceof PolicySourceError)
      throw new UsageError(cause.message.replace('; name another with --policies', ''));
    throw cause;
  }
}

/** Makes every variable count as set, so that a check gives the same result on every machine. */
export const generous = (env: PolicyTools['env']): PolicyTools['env'] => ({
  get: (name) => env.get(name)?.trim() || PLACEHOLDER,
  sourced: env.sourced,
});

/**
 * Returns the tools that check a policy with every variable set, and the tools with the variables of this environment. The policy is parsed
 * only once.
 */
export async function toolsFor(folder: string, { files }: PolicyBundle, judge: JudgeTools) {
  const parsed = await judge.parse(files, null);
  const here: PolicyTools = { ...judge, folder, parse: () => parsed };
  return { here, anywhere: { ...here, env: generous(here.env) }, parsed };
}

/**
 * Finds the diagnostic that `serve` would not start with the policy in this environment. A policy that cannot start in this environment is
 * not a mistake in the policy.
 */
export const idleIn = (problems: readonly Diagnostic[]): Diagnostic | undefined =>
  problems.find(({ code }) => code === 'nothing-to-serve');

/** The entry for a policy that cannot start in this environment, in a list of providers that cannot serve. */
export const idleText = ({ hint, message }: Diagnostic): string =>
  `every provider, so \`serve\` would not start: ${hint ?? message}`;

/** Returns the error for a policy with which `serve` would not start, because no provider can serve. */
export const nothingServes = (folder: string, { hint, message }: Diagnostic): UsageError =>
  new UsageError(
    `No provider of ${policyName(folder)} can serve with the variables of this environment: ${hint ?? message}.`,
  );

/** Builds the policy as `serve` would in this environment, without its test cases. Throws UsageError. */
export async function runtimeOf(folder: string, tools: JudgeTools): Promise<Runtime> {
  const judged = await compileCandidate(await readPolicy(folder), { ...tools, folder });
  if (!isRejected(judged)) return judged.runtime;
  const idle = idleIn(judged.problems);
  if (idle) throw nothingServes(folder, idle);
  const why = judged.message ?? `\`serve\` rejects this policy. To see why, run ${checkCommand(folder)}`;
  throw new UsageError(`${policyName(folder)}: ${why.replace(/\.$/, '')}.`);
}
