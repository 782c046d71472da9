import { resolve } from 'node:path';
import type { LedgerState } from '../core/budget.ts';
import type { PolicySnapshot } from '../core/snapshot.ts';
import type { PluginLoader, PluginModule, PluginModules } from '../plugin-host/load.ts';
import { createRegistry, type Plugin } from '../plugin-host/registry.ts';
import type { Diagnostic } from '../policy/diagnostics.ts';
import { compileSteps, type Environment, type LoadContext, type PolicyFile } from '../policy/load.ts';
import type { PolicyEnvironment } from '../records/record.ts';
import { registerSecrets, scrub, scrubAll } from '../telemetry/secrets.ts';
import type { Health } from '../upstream/health/health.ts';
import type { PolicyChange } from './diff.ts';
import type { ParsedFiles } from './parse-files.ts';
import { buildRuntime, type Runtime } from './runtime.ts';
import { inSlices, Superseded } from './slices.ts';
import { hashOf, type PolicyBundle } from './source.ts';

/** A policy that is fit to serve. */
export interface Candidate {
  readonly bundle: PolicyBundle;
  readonly runtime: Runtime;
  /** The bare data of the policy, as JSON: the next one is compared with it. */
  readonly outline: string;
  /** What made it of the one in force. */
  readonly changes: readonly PolicyChange[];
  readonly warnings: readonly Diagnostic[];
  /** What it takes to build it again elsewhere. */
  readonly surroundings: PolicyEnvironment;
}

/** A policy that is not, with all that is wrong with it. */
export interface RejectedPolicy {
  readonly problems: readonly Diagnostic[];
  /** What no place in a file can be named for; null when the problems say it all. */
  readonly message: string | null;
}

/** What policies are judged with. */
export interface PolicyTools {
  /** The policy's folder; relative plugins are looked for from here. */
  readonly folder: string;
  /** The plugins that come with Signalbox. */
  readonly shipped: readonly Plugin[];
  readonly loader: PluginLoader;
  readonly env: Environment;
  /** What is known of endpoints by their names, whatever policy they are in; without it, nothing is. */
  readonly health?: Health;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The day, such as `2026-10-07`; given, old figures are warned of. */
  readonly today?: string;
  /** The state of the ledger that the policy would spend from; without it, that is not looked at. */
  readonly ledger?: () => LedgerState;
  /** Runs the policy's own cases on a runtime that does not serve yet; yields between them. Returns the failures. */
  rehearse(runtime: Runtime): Generator<undefined, readonly Diagnostic[]>;
  /** See `parseFiles`. */
  parse(files: readonly PolicyFile[], before: string | null): ParsedFiles | Promise<ParsedFiles>;
}

export interface CandidateOptions {
  /** The policy in force, to compare with. */
  readonly inForce?: Candidate;
  readonly isStale?: () => boolean;
}

/** Steps 3 to 6: check, compile, build, rehearse. Throws Superseded once stale, and nothing else. */
export async function buildCandidate(
  bundle: PolicyBundle,
  tools: PolicyTools,
  options: CandidateOptions = {},
): Promise<Candidate | RejectedPolicy> {
  const prepared = await compileCandidate(bundle, tools, options);
  if (isRejected(prepared)) return prepared;
  return rejectOnThrow(async () => {
    const failures = await inSlices(tools.rehearse(prepared.runtime), options.isStale ?? never);
    if (failures.length === 0) return prepared;
    return { problems: [...prepared.warnings, ...failures.map(withoutSecrets)], message: null };
  });
}

/** Steps 3 to 5: a candidate whose cases have not run. Throws Superseded once stale, and nothing else. */
export function compileCandidate(
  bundle: PolicyBundle,
  tools: PolicyTools,
  { inForce, isStale = never }: CandidateOptions = {},
): Promise<Candidate | RejectedPolicy> {
  return rejectOnThrow(async () => {
    const parsed = await tools.parse(bundle.files, inForce?.outline ?? null);
    // Before anything is said about the policy: a file may hold the secret that it should have named.
    registerSecrets(parsed.policy.providers.map(({ data }) => data?.api_key_env && tools.env.get(data.api_key_env)));
    const specifiers = parsed.policy.plugins.map(({ specifier }) => specifier);
    const own = await tools.loader.load(specifiers, resolve(tools.folder));
    if (isStale()) throw new Superseded();
    const { env, unset } = recordUnset(tools.env);
    const context = contextOf(own, { ...tools, env });
    const { snapshot, diagnostics: found } = await inSlices(compileSteps(parsed.policy, context), isStale);
    const diagnostics = found.map(withoutSecrets);
    if (!snapshot) return { problems: diagnostics, message: null };
    const registry = createRegistry([...tools.shipped, ...modulesIn(own).flatMap(({ plugins }) => plugins)]);
    return {
      bundle,
      runtime: buildRuntime(snapshot, registry, (name) => tools.env.get(name), tools.health),
      outline: parsed.outline,
      changes: parsed.changes.map(withoutValues),
      warnings: diagnostics,
      surroundings: { unset: [...unset].sort(), plugins: hashesOf(own) },
    };
  });
}

const never = () => false;

/** What is thrown has no place in a file. */
async function rejectOnThrow(judged: () => Promise<Candidate | RejectedPolicy>): Promise<Candidate | RejectedPolicy> {
  try {
    return await judged();
  } catch (cause) {
    if (cause instanceof Superseded) throw cause;
    return { problems: [], message: scrub(cause instanceof Error ? cause.message : String(cause)) };
  }
}

/** The policy room knows what secrets look like, and not which there are here. */
function withoutSecrets(diagnostic: Diagnostic): Diagnostic {
  const { message, expected, hint } = diagnostic;
  const said = { ...diagnostic, message: scrub(message) };
  if (expected !== undefined) said.expected = scrub(expected);
  if (hint !== undefined) said.hint = scrub(hint);
  return said;
}

/** What a key held before and holds now is shown to operators, and logged. */
export function withoutValues(change: PolicyChange): PolicyChange {
  const keys = change.keys?.map((one) => ({
    key: scrub(one.key),
    ...('from' in one && { from: scrubAll(one.from) }),
    ...('to' in one && { to: scrubAll(one.to) }),
  }));
  return { ...change, name: change.name && scrub(change.name), ...(keys && { keys }) };
}

export const isRejected = (judged: Candidate | RejectedPolicy): judged is RejectedPolicy => 'problems' in judged;

/** An environment with the variables that it was asked for and lacks: presets of adapters name some that no policy does. */
function recordUnset(env: Environment): { env: Environment; unset: ReadonlySet<string> } {
  const unset = new Set<string>();
  const get = (name: string) => {
    const value = env.get(name);
    if (!value?.trim()) unset.add(name);
    return value;
  };
  return { env: { get }, unset };
}

const modulesIn = (own: PluginModules): PluginModule[] =>
  [...own.values()].filter((module): module is PluginModule => !(module instanceof Error));

const hashesOf = (own: PluginModules) => modulesIn(own).map(({ specifier, hash }) => [specifier, hash] as const);

function contextOf(own: PluginModules, { env, shipped, today, ledger }: PolicyTools): LoadContext {
  const hashes = hashesOf(own);
  const plugins = new Map([...own].map(([name, found]) => [name, found instanceof Error ? found : found.plugins]));
  const outside = new Map<string, string>();
  for (const { specifier, outside: file } of modulesIn(own)) if (file !== null) outside.set(specifier, file);
  return {
    env,
    ...createRegistry(shipped),
    plugins,
    outside,
    today,
    ledger: ledger?.(),
    // The code of operators' plugins is part of what a policy is.
    revisionOf: (content: string) => hashOf(hashes.length === 0 ? content : JSON.stringify([content, hashes])),
  };
}

/** Providers that serve, with the number of models of each: none where the policy describes none of what it has. */
export function servingProviders({ providers, models }: PolicySnapshot): string[] {
  return [...providers.keys()].map((name) => {
    const count = models.filter(({ endpoints }) => endpoints.some(({ provider }) => provider === name)).length;
    return `${name} (${count === 0 ? 'no model' : count === 1 ? '1 model' : `${count} models`})`;
  });
}

/** The names of what the policy declares and this environment cannot serve: `openai (OPENAI_API_KEY is not set)`. */
export function leftOutProviders({ leftOut }: PolicySnapshot): string[] {
  return leftOut.filter(({ kind }) => kind === 'provider').map(({ name, reason }) => `${name} (${reason})`);
}
