import { existsSync, statSync } from 'node:fs';
import { commandName } from '../../../core/command-name.ts';
import { isObject } from '../../../core/object.ts';
import { UsageError } from '../../../core/usage-error.ts';
import type { PluginLoader } from '../../../host/plugins/load.ts';
import type { Diagnostic } from '../../../policy/diagnostics.ts';
import { PLACEHOLDER } from '../../../policy/providers.ts';
import { buildCandidate, isRejected, type PolicyTools } from '../../../policy/runtime/candidate.ts';
import type { Runtime } from '../../../policy/runtime/runtime.ts';
import { type PolicyBundle, PolicySourceError, readBundle } from '../../../policy/runtime/source.ts';

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

/** A policy with its files, from a folder, the database, git or a request. */
export interface PolicySource {
  /** The operator's name for it. */
  readonly label: string;
  readonly kind: 'folder' | 'revision' | 'git' | 'bundle';
  readonly bundle: PolicyBundle;
  /** The folder of relative plugins. */
  readonly folder: string;
  /** Loads the plugins in the state of that time. */
  readonly loader: PluginLoader;
}

/** The body of a request, not checked yet. */
export type Body = Readonly<Record<string, unknown>>;

/** Takes a value as the body of a request. The default model is `auto`. Throws UsageError for anything but an object. */
export function bodyOf(value: unknown): Body {
  if (!isObject(value)) throw new UsageError('A request is a JSON object.');
  return { ...value, model: value.model ?? 'auto' };
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

/** A policy is judged as if every variable were set: whether it is right does not depend on who looks. */
export const generous = (env: PolicyTools['env']): PolicyTools['env'] => ({
  get: (name) => env.get(name)?.trim() || PLACEHOLDER,
});

/** Returns the tools that judge a policy with every variable set, and those of this environment. Its text is parsed once. */
export async function toolsFor(folder: string, { files }: PolicyBundle, judge: JudgeTools) {
  const parsed = await judge.parse(files, null);
  const here: PolicyTools = { ...judge, folder, parse: () => parsed };
  return { here, anywhere: { ...here, env: generous(here.env) }, parsed };
}

/** Finds the diagnostic of a policy that `serve` would not start with: a fact of this environment, not a mistake. */
export const idleIn = (problems: readonly Diagnostic[]): Diagnostic | undefined =>
  problems.find(({ code }) => code === 'nothing-to-serve');

/** The entry of such a policy in a list of the providers that are left out. */
export const idleText = ({ hint, message }: Diagnostic): string =>
  `every provider, so \`serve\` would not start: ${hint ?? message}`;

/** Returns the error of a policy that `serve` would not start with, for no provider can be reached. */
export const nothingServes = (folder: string, { hint, message }: Diagnostic): UsageError =>
  new UsageError(`No provider of ${folder} can serve with the variables of this environment: ${hint ?? message}.`);

/** Builds the policy as `serve` would in this environment. Throws UsageError. */
export async function runtimeOf(folder: string, tools: JudgeTools): Promise<Runtime> {
  const judged = await buildCandidate(await readPolicy(folder), { ...tools, folder });
  if (!isRejected(judged)) return judged.runtime;
  const idle = idleIn(judged.problems);
  if (idle) throw nothingServes(folder, idle);
  const why = judged.message ?? `\`serve\` rejects this policy. Run ${commandName()} policy check to see why`;
  throw new UsageError(`${folder}: ${why.replace(/\.$/, '')}.`);
}
