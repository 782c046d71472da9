import { resolve } from 'node:path';
import type { Plugin } from '../../contract/kinds.ts';
import { measuredModels } from '../../core/decision/readings.ts';
import { objectOf } from '../../core/json/object.ts';
import type { LedgerState } from '../../core/money/budget.ts';
import type { TeamNames } from '../../core/people/people.ts';
import { type FoundModels, foundText } from '../../core/policy/found-models.ts';
import type { PolicySnapshot } from '../../core/policy/snapshot.ts';
import type { PolicyEnvironment } from '../../core/text/revision.ts';
import { messageOf } from '../../core/thrown.ts';
import type { PluginLoader, PluginModule, PluginModules } from '../../host/plugins/load.ts';
import { createRegistry } from '../../host/plugins/registry.ts';
import { registerSecrets, scrub, scrubAll } from '../../host/telemetry/secrets.ts';
import type { UpstreamNetwork } from '../../providers/connection/network.ts';
import type { Health } from '../../providers/health/health.ts';
import type { PromptReader } from '../../routing/profile/prompt-reader.ts';
import { compileSteps } from '../compile.ts';
import { buildMoment, type PricedAt } from '../compiled/moment.ts';
import type { StartSettings } from '../define/installation.ts';
import { draftsIn } from '../define/section.ts';
import type { KnownLabels } from '../expressions/misspelt-values.ts';
import type { Environment, LoadContext, LoadResult, PolicyFile } from '../load.ts';
import { loadFacts } from '../models/facts.ts';
import { modelCount } from '../models/wildcards.ts';
import { hasKeyIn, keysIn, keyValue, variablesOf } from '../providers/key-pool.ts';
import type { Diagnostic } from '../report/diagnostics.ts';
import type { PolicyChange } from './diff.ts';
import type { ParsedFiles } from './parse-files.ts';
import { lackingCode } from './pushed.ts';
import { buildRuntime, type Runtime } from './runtime.ts';
import { inSlices, type Steps, SupersededError } from './slices.ts';
import { hashOf, type PolicyBundle, pricesOf } from './source.ts';

/** A valid policy that can be activated. */
export interface PolicyCandidate {
  readonly bundle: PolicyBundle;
  /** The runtime that serves, with the models that were found and the prices of the moment. */
  readonly runtime: Runtime;
  /**
   * The runtime with which the policy is judged and its test cases run: without found models, and with each price as the policy states it
   * first, so that the verdict depends on the policy alone.
   */
  readonly plain: Runtime;
  /** The bare data of the policy as JSON, for comparison with the next policy. */
  readonly outline: string;
  /** The changes compared with the active policy. */
  readonly changes: readonly PolicyChange[];
  readonly warnings: readonly Diagnostic[];
  /** The environment that is needed to build the policy again. */
  readonly surroundings: PolicyEnvironment;
  /** The environment variables that the policy reads, ascending. */
  readonly variables: readonly string[];
  /** Whether the policy has passed its own test cases. */
  readonly isRehearsed: boolean;
}

/** A policy that cannot be activated, with all its problems. */
export interface RejectedPolicy {
  readonly problems: readonly Diagnostic[];
  /** An error without a location in a file; null if `problems` has all errors. */
  readonly message: string | null;
}

/** Everything that building a candidate needs. */
export interface PolicyTools {
  /** The policy folder. Signalbox resolves relative paths of plugins from the policy folder. */
  readonly folder: string;
  /** The plugins that come with Signalbox. */
  readonly shipped: readonly Plugin[];
  readonly loader: PluginLoader;
  readonly env: Environment;
  /** The health of endpoints, which outlives policies. Without `health`, the tools have no health of endpoints. */
  readonly health?: Health;
  /** The connections to providers, which outlive policies. Without `network`, the tools have no connections. */
  readonly network?: UpstreamNetwork;
  /** Reads prompts, and outlives policies. Without `reader`, each runtime has a reader of its own. */
  readonly reader?: PromptReader;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** The date, such as `2026-10-07`. The date turns on warnings about old figures. */
  readonly today?: string;
  /** Whether only figures of models that can serve are reviewed. */
  readonly onlyServing?: boolean;
  /**
   * Returns the state of the ledger, with which the policy must be compatible. Without `ledger`, the compatibility with the ledger is not
   * checked.
   */
  readonly ledger?: () => LedgerState;
  /** Returns the teams in the store. If `teams` is absent or returns null, the teams are not known. */
  readonly teams?: () => TeamNames | null;
  /** Returns the IDs of the teams with active keys. Without `teamsWithKeys`, the teams with active keys are not known. */
  readonly teamsWithKeys?: () => ReadonlySet<string>;
  /** Returns the labels of the existing keys. Without `labels`, the labels of keys are not known. */
  readonly labels?: () => KnownLabels;
  /**
   * Returns the models that were found at servers of the operator. Without `found`, policies are built without them. Found models never
   * cause a rejection: if the build fails with them, the candidate has none.
   */
  readonly found?: () => FoundModels | null;
  /** Called if the build failed with the found models. */
  readonly onFoundDropped?: (why: string) => void;
  /**
   * Returns the moment whose prices apply, ms since 1970. Without `pricedAt`, each price is as the policy states it first.
   */
  readonly pricedAt?: () => number | null;
  /** The settings that the running server keeps from its start. Without `started`, no server runs. */
  readonly started?: StartSettings;
  /** Runs the policy's own test cases on a runtime that does not serve yet. `rehearse` yields between cases and returns the failures. */
  rehearse(runtime: Runtime): Steps<readonly Diagnostic[]>;
  /**
   * Whether work on the policy has become pointless. Stale work on a policy stops with SupersededError. Without `isStale`, the work never
   * becomes stale.
   */
  readonly isStale?: () => boolean;
  /** Parses the files of a policy, like `parseFiles`. */
  parse(files: readonly PolicyFile[], before: string | null): ParsedFiles | Promise<ParsedFiles>;
}

interface CandidateOptions {
  /** The active policy, for comparison. */
  readonly active?: PolicyCandidate;
  readonly isStale?: () => boolean;
}

/**
 * Runs steps 3 to 6 of an edit: check, compile, build, rehearse. `buildCandidate` throws only SupersededError, if its work becomes
 * pointless.
 */
export async function buildCandidate(
  bundle: PolicyBundle,
  tools: PolicyTools,
  options: CandidateOptions = {},
): Promise<PolicyCandidate | RejectedPolicy> {
  const prepared = await compileCandidate(bundle, tools, options);
  return isRejected(prepared) ? prepared : rehearseCandidate(prepared, tools, options.isStale);
}

/** Runs step 6 of an edit: the policy's own test cases. `rehearseCandidate` throws only SupersededError, if its work becomes pointless. */
export function rehearseCandidate(
  candidate: PolicyCandidate,
  tools: Pick<PolicyTools, 'rehearse' | 'isStale'>,
  isStale = tools.isStale ?? never,
): Promise<PolicyCandidate | RejectedPolicy> {
  return rejectOnThrow(async () => {
    const failures = await inSlices(tools.rehearse(candidate.plain), isStale);
    if (failures.length === 0) return { ...candidate, isRehearsed: true };
    return { problems: [...candidate.warnings, ...failures.map(withoutSecrets)], message: null };
  });
}

/**
 * Runs steps 3 to 5 of an edit. The test cases of the candidate have not run. `compileCandidate` throws only SupersededError, if its work
 * becomes pointless.
 */
export function compileCandidate(
  bundle: PolicyBundle,
  tools: PolicyTools,
  { active, isStale = tools.isStale ?? never }: CandidateOptions = {},
): Promise<PolicyCandidate | RejectedPolicy> {
  return rejectOnThrow(async () => {
    const parsed = await tools.parse(bundle.files, active?.outline ?? null);
    const { models, plugins, providers, sign_in: signIn } = parsed.policy.drafts;
    // Secrets are registered before any message is made, because a file may contain the secret itself instead of the variable's name.
    registerSecrets(
      providers.named.flatMap(({ data }) => [
        data?.api_key_env && tools.env.get(data.api_key_env),
        ...variablesOf(data?.api_keys_env ?? []).flatMap((name) => keysIn(tools.env.get(name))),
      ]),
    );
    registerSecrets([signIn?.data?.client_secret_env].map((name) => name && tools.env.get(name)));
    const specifiers = plugins.map(({ specifier }) => specifier);
    const own = await tools.loader.load(specifiers, resolve(tools.folder));
    if (isStale()) throw new SupersededError();
    const lacking = lackingCode(bundle, hashesOf(own));
    if (lacking !== null) return { problems: [], message: lacking };
    const { env, read } = recordReads(tools.env);
    const facts = models.wildcards.length > 0 ? await loadFacts() : null;
    const context = { ...contextOf(own, { ...tools, env }), facts };
    const { snapshot, diagnostics: found } = await inSlices(compileSteps(parsed.policy, context), isStale);
    // Secrets in variables that only presets name are registered, too.
    registerSecrets(
      [...(snapshot?.providers.values() ?? [])].flatMap(({ accounts }) =>
        accounts.map((account) => keyValue(account, tools.env)),
      ),
    );
    registerSecrets(
      (snapshot?.guards ?? []).map(({ service }) => service?.apiKeyEnv && tools.env.get(service.apiKeyEnv)),
    );
    const diagnostics = found.map(withoutSecrets);
    if (!snapshot) return { problems: diagnostics, message: null };
    const variables = [...read].sort();
    const registry = createRegistry([...tools.shipped, ...modulesIn(own).flatMap(({ plugins }) => plugins)]);
    const runtimeOf = (one: PolicySnapshot) =>
      buildRuntime(one, registry, tools.env, tools.health, tools.network, tools.reader);
    const compileWith = (inputs: ServedInputs) =>
      inSlices(compileSteps(parsed.policy, { ...context, ...inputs }), isStale);
    const at = tools.pricedAt?.() ?? null;
    const pricedAt = at === null ? null : pricesOf(at);
    const of = draftsIn(parsed.policy.drafts);
    const isPriced = pricedAt !== null && buildMoment(of, pricedAt, { facts, serving: snapshot.providers }) !== null;
    const served = await servedSnapshot(snapshot, isPriced ? pricedAt : null, tools, compileWith);
    if ('problems' in served) return served;
    const plain = runtimeOf(snapshot);
    return {
      bundle,
      runtime: served === snapshot ? plain : runtimeOf(served),
      plain,
      outline: parsed.outline,
      changes: parsed.changes.map(withoutValues),
      warnings: diagnostics,
      surroundings: {
        unset: variables.filter((name) => !hasKeyIn(tools.env, name)),
        plugins: hashesOf(own),
        ...(served.found && { found: foundText(served.found) }),
        ...(served.prices && { pricedAt: served.prices.at }),
        ...keyCountsOf(snapshot),
      },
      variables,
      isRehearsed: false,
    };
  });
}

/** Returns how many keys each variable holds, for variables with several keys. */
function keyCountsOf({ providers }: PolicySnapshot): Pick<PolicyEnvironment, 'keys'> {
  const keys: Record<string, number> = {};
  for (const { accounts } of providers.values()) {
    for (const { apiKeyEnv, pooled } of accounts) {
      if (apiKeyEnv !== null && pooled && pooled.line > 0)
        keys[apiKeyEnv] = Math.max(keys[apiKeyEnv] ?? 0, pooled.line + 1);
    }
  }
  return Object.keys(keys).length === 0 ? {} : { keys };
}

/** The inputs of a build that are not in the policy. */
interface ServedInputs {
  readonly found: FoundModels | null;
  readonly pricedAt: PricedAt | null;
}

/**
 * Compiles a valid policy again with the models that were found and the prices of the moment, as far as the policy has any. If that fails
 * with the found models, the policy is built without them.
 * @returns the problems of a policy that is not valid with the prices of the moment
 */
async function servedSnapshot(
  plain: PolicySnapshot,
  pricedAt: PricedAt | null,
  { found: find, onFoundDropped }: Pick<PolicyTools, 'found' | 'onFoundDropped'>,
  compileWith: (inputs: ServedInputs) => Promise<LoadResult>,
): Promise<PolicySnapshot | RejectedPolicy> {
  const found = findsModels(plain) ? (find?.() ?? null) : null;
  if (found !== null) {
    try {
      const { snapshot, diagnostics } = await compileWith({ found, pricedAt });
      if (snapshot) return snapshot;
      onFoundDropped?.(scrub(diagnostics[0]?.message ?? 'the policy is not valid with them'));
    } catch (cause) {
      if (cause instanceof SupersededError) throw cause;
      onFoundDropped?.(scrub(messageOf(cause)));
    }
  }
  if (pricedAt === null) return plain;
  const { snapshot, diagnostics } = await compileWith({ found: null, pricedAt });
  return snapshot ?? { problems: diagnostics.map(withoutSecrets), message: null };
}

/** Whether any provider of the policy is a server whose models Signalbox finds. */
export const findsModels = ({ providers }: PolicySnapshot): boolean =>
  [...providers.values()].some(({ discover }) => discover !== undefined);

const never = () => false;

/** Turns a thrown error, which has no location in a file, into a rejected policy. */
async function rejectOnThrow(
  build: () => Promise<PolicyCandidate | RejectedPolicy>,
): Promise<PolicyCandidate | RejectedPolicy> {
  try {
    return await build();
  } catch (cause) {
    if (cause instanceof SupersededError) throw cause;
    return { problems: [], message: scrub(messageOf(cause)) };
  }
}

/** Masks the actual secrets of this process. The policy module masks only texts that look like secrets. */
function withoutSecrets(diagnostic: Diagnostic): Diagnostic {
  const { message, expected, hint } = diagnostic;
  const masked = { ...diagnostic, message: scrub(message) };
  if (expected !== undefined) masked.expected = scrub(expected);
  if (hint !== undefined) masked.hint = scrub(hint);
  return masked;
}

/** Masks secrets in the values of a change, because operators see changes and logs keep them. */
export function withoutValues(change: PolicyChange): PolicyChange {
  const keys = change.keys?.map(({ key, ...values }) => ({ key: scrub(key), ...objectOf(scrubAll(values)) }));
  return { ...change, name: change.name && scrub(change.name), ...(keys && { keys }) };
}

export const isRejected = (result: PolicyCandidate | RejectedPolicy): result is RejectedPolicy => 'problems' in result;

/** Records which variables are read, because presets of adapters read variables that the policy does not name. */
function recordReads(env: Environment): { env: Environment; read: ReadonlySet<string> } {
  const read = new Set<string>();
  const get = (name: string) => {
    read.add(name);
    return env.get(name);
  };
  const sourced = (name: string) => {
    const source = env.sourced?.(name);
    if (source) read.add(name);
    return source;
  };
  return { env: { get, sourced }, read };
}

const modulesIn = (own: PluginModules): PluginModule[] =>
  [...own.values()].filter((module): module is PluginModule => !(module instanceof Error));

const hashesOf = (own: PluginModules) => modulesIn(own).map(({ specifier, hash }) => [specifier, hash] as const);

function contextOf(
  own: PluginModules,
  { env, shipped, today, onlyServing, ledger, labels, teams, teamsWithKeys, started }: PolicyTools,
): LoadContext {
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
    onlyServing,
    ledger: ledger?.(),
    labels: labels?.(),
    teams: teams?.() ?? null,
    teamsWithKeys: teamsWithKeys?.(),
    started,
    // The revision includes a hash of the operator's own plugins.
    revisionOf: (content: string) => hashOf(hashes.length === 0 ? content : JSON.stringify([content, hashes])),
  };
}

/** A provider that is set up, with the IDs that it serves: models, and patterns of wildcards. */
export type ServingProvider = ReturnType<typeof servingProviders>[number];

export function servingProviders(snapshot: PolicySnapshot) {
  return [...snapshot.providers.keys()].map((name) => {
    const own = measuredModels(snapshot).filter(({ endpoints }) => endpoints.some(({ provider }) => provider === name));
    return { name, served: own.map(({ id }) => id) };
  });
}

/** Writes providers with what they serve: `openai (6 models, 1 wildcard), lm-studio (no model)`. */
export const servingText = (providers: readonly ServingProvider[]): string =>
  providers.map(({ name, served }) => `${name} (${served.length === 0 ? 'no model' : modelCount(served)})`).join(', ');

/** Returns the providers that cannot serve in this environment: `openai (OPENAI_API_KEY is not set)`. */
export function leftOutProviders({ leftOut }: Pick<PolicySnapshot, 'leftOut'>): string[] {
  return leftOut.filter(({ kind }) => kind === 'provider').map(({ name, reason }) => `${name} (${reason})`);
}
