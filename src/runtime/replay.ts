import { basename, resolve } from 'node:path';
import type { PluginLoader } from '../plugin-host/load.ts';
import { createRegistry, type Plugin } from '../plugin-host/registry.ts';
import { compileSteps, type Environment, type PolicyFile } from '../policy/load.ts';
import type { Revision } from '../records/record.ts';
import { scrub } from '../telemetry/secrets.ts';
import type { PolicyTools } from './candidate.ts';
import { type DecisionRuntime, prepareDecisionRuntime } from './runtime.ts';
import { inSlices } from './slices.ts';

/** Policies that are kept once they were built again. */
const BUILT_MAX = 4;

export interface PastPoliciesOptions extends Pick<PolicyTools, 'folder' | 'shipped' | 'parse'> {
  readonly loader: Pick<PluginLoader, 'recall'>;
  /** What is in force, which need not be built; null where nothing is. */
  readonly inForce: () => DecisionRuntime | null;
}

/** What decisions of the past were made with: a policy is built again from what was kept of it. */
export class PastPolicies {
  readonly #options: PastPoliciesOptions;
  /** By revision, the one asked for last at the end. Whoever asks meanwhile waits for the same. */
  readonly #built = new Map<string, Promise<DecisionRuntime | string>>();
  /** One at a time: parsers take no more. */
  #building: Promise<unknown> = Promise.resolve();

  constructor(options: PastPoliciesOptions) {
    this.#options = options;
  }

  /** Never rejects; a text says why it cannot be had. */
  async find(revision: Revision): Promise<DecisionRuntime | string> {
    const inForce = this.#options.inForce();
    if (inForce?.snapshot.revision === revision.revision) return inForce;
    const key = revision.revision;
    const known = this.#built.get(key);
    const building = known ?? this.#building.then(() => build(revision, this.#options));
    if (!known) this.#building = building;
    this.#built.delete(key);
    this.#built.set(key, building);
    if (this.#built.size > BUILT_MAX) this.#built.delete(this.#built.keys().next().value!);
    const found = await building;
    // What is wrong may be mended.
    if (typeof found === 'string' && this.#built.get(key) === building) this.#built.delete(key);
    return found;
  }
}

/** Steps 3 to 5 of a reload, in the environment that the policy met. */
async function build(revision: Revision, options: PastPoliciesOptions): Promise<DecisionRuntime | string> {
  const { surroundings } = revision;
  if (surroundings === null) return 'Its policy was kept by an earlier version, which did not keep all that it takes.';
  try {
    // First: code that is gone is told at once, however large the policy, and however often it is asked for.
    const own = await recallPlugins(surroundings.plugins, options);
    // Written by this program alone.
    const files: readonly PolicyFile[] = JSON.parse(revision.source);
    const { policy } = await options.parse(files, null);
    const installed = createRegistry(options.shipped);
    const context = {
      env: pastEnvironment(surroundings.unset),
      ...installed,
      plugins: own,
      revisionOf: () => revision.revision,
    };
    const { snapshot, diagnostics } = await inSlices(compileSteps(policy, context), () => false);
    if (!snapshot) return cannotRebuild(diagnostics[0]?.message ?? 'it is not valid');
    const served = snapshot.models.map(({ id }) => id);
    if (served.join('\n') !== revision.models.join('\n')) return cannotRebuild('it serves other models');
    return prepareDecisionRuntime(snapshot, createRegistry([...options.shipped, ...[...own.values()].flat()]));
  } catch (cause) {
    return cannotRebuild(cause instanceof Error ? cause.message : String(cause));
  }
}

/** Texts are kept with secrets masked, which no policy needs; and another version may read them otherwise. */
const cannotRebuild = (why: string): string => scrub(`Its policy cannot be built again as it was: ${why}.`);

/** Only whether a variable was set makes a difference to decisions, never to what: a stand-in that is an address, too, will do. */
const pastEnvironment = (unset: readonly string[]): Environment => ({
  get: (name) => (unset.includes(name) ? undefined : 'http://127.0.0.1:1'),
});

async function recallPlugins(
  plugins: readonly (readonly [specifier: string, hash: string])[],
  { loader, folder }: PastPoliciesOptions,
): Promise<Map<string, readonly Plugin[]>> {
  const own = new Map<string, readonly Plugin[]>();
  for (const [specifier, hash] of plugins) {
    const found = await loader.recall(specifier, resolve(folder), hash);
    // Whoever made the decision reads this: where an operator keeps his code is nobody else's business.
    const name = specifier.startsWith('/') ? basename(specifier) : specifier;
    if (found === null) throw new Error(`the code of plugin \`${name}\` is gone, or not what it was`);
    own.set(specifier, found);
  }
  return own;
}
