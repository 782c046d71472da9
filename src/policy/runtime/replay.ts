import { basename, resolve } from 'node:path';
import type { Plugin } from '../../contract/kinds.ts';
import { buildOf, revisionOf, storedFound, storedPricedAt } from '../../core/policy/build.ts';
import type { PolicyEnvironment, Revision } from '../../core/text/revision.ts';
import { messageOf } from '../../core/thrown.ts';
import type { PluginLoader } from '../../host/plugins/load.ts';
import { createRegistry } from '../../host/plugins/registry.ts';
import { scrub } from '../../host/telemetry/secrets.ts';
import { compileSteps } from '../compile.ts';
import type { Environment, PolicyFile } from '../load.ts';
import { loadFacts } from '../models/facts.ts';
import type { PolicyTools } from './candidate.ts';
import { type DecisionRuntime, prepareDecisionRuntime } from './runtime.ts';
import { inSlices } from './slices.ts';
import { pricesOf } from './source.ts';

/** The most past policies in the cache. */
const BUILT_MAX = 4;

interface PastPoliciesOptions extends Pick<PolicyTools, 'folder' | 'shipped' | 'parse'> {
  readonly loader: Pick<PluginLoader, 'recall'>;
  /** Returns the active policy, which need not be built again; null for none. */
  readonly active: () => DecisionRuntime | null;
}

/** Rebuilds the policies of past decisions from their stored revisions. State: past policies. */
export class PastPolicies {
  readonly #options: PastPoliciesOptions;
  /** Maps each revision to its policy, least recently used first. Concurrent callers of a revision share one promise. */
  readonly #built = new Map<string, Promise<DecisionRuntime | string>>();
  /** Past policies are built one at a time, because a parser handles one policy at a time. */
  #building: Promise<unknown> = Promise.resolve();

  constructor(options: PastPoliciesOptions) {
    this.#options = options;
  }

  /** Returns the policy of a revision, or a text that explains why it cannot be rebuilt. `find` never rejects. */
  async find(revision: Revision): Promise<DecisionRuntime | string> {
    const active = this.#options.active();
    if (active && buildOf(active.snapshot) === revision.revision) return active;
    const key = revision.revision;
    const known = this.#built.get(key);
    const building = known ?? this.#building.then(() => build(revision, this.#options));
    if (!known) this.#building = building;
    this.#built.delete(key);
    this.#built.set(key, building);
    if (this.#built.size > BUILT_MAX) this.#built.delete(this.#built.keys().next().value!);
    const found = await building;
    // A failure is not cached, because its cause may be fixed later.
    if (typeof found === 'string' && this.#built.get(key) === building) this.#built.delete(key);
    return found;
  }
}

/** Runs steps 3 to 5 of an edit, in the environment that the policy had. */
async function build(revision: Revision, options: PastPoliciesOptions): Promise<DecisionRuntime | string> {
  const { surroundings } = revision;
  const pricedAt = storedPricedAt(revision);
  try {
    // Plugins are recalled first, so that missing code fails fast even for large policies.
    const own = await recallPlugins(surroundings.plugins, options);
    // Only Signalbox writes the text of a stored revision, so the text need not be validated.
    const files: readonly PolicyFile[] = JSON.parse(revision.source);
    const { policy } = await options.parse(files, null);
    const context = {
      env: pastEnvironment(surroundings),
      ...createRegistry(options.shipped),
      plugins: own,
      facts: policy.drafts.models.wildcards.length > 0 ? await loadFacts() : null,
      found: storedFound(revision),
      pricedAt: pricedAt === null ? null : pricesOf(pricedAt),
      revisionOf: () => revisionOf(revision.revision),
    };
    const { snapshot, diagnostics } = await inSlices(compileSteps(policy, context), () => false);
    if (!snapshot) return cannotRebuild(diagnostics[0]?.message ?? 'it is not valid');
    const served = snapshot.models.map(({ id }) => id);
    if (served.join('\n') !== revision.models.join('\n')) return cannotRebuild('it serves other models');
    return prepareDecisionRuntime(snapshot, createRegistry([...options.shipped, ...[...own.values()].flat()]));
  } catch (cause) {
    return cannotRebuild(messageOf(cause));
  }
}

/** A rebuilt policy can differ because secrets were masked or because Signalbox is another version. */
const cannotRebuild = (why: string): string => scrub(`The policy of this decision cannot be rebuilt: ${why}.`);

/**
 * Decisions depend on whether a variable is set and on how many keys it holds, never on its value. The placeholder for the value of a
 * variable is also a valid address.
 */
const pastEnvironment = ({ unset, keys = {} }: Pick<PolicyEnvironment, 'unset' | 'keys'>): Environment => ({
  get: (name) =>
    unset.includes(name)
      ? undefined
      : Array(keys[name] ?? 1)
          .fill('http://127.0.0.1:1')
          .join('\n'),
});

async function recallPlugins(
  plugins: readonly (readonly [specifier: string, hash: string])[],
  { loader, folder }: PastPoliciesOptions,
): Promise<Map<string, readonly Plugin[]>> {
  const own = new Map<string, readonly Plugin[]>();
  for (const [specifier, hash] of plugins) {
    const found = await loader.recall(specifier, resolve(folder), hash);
    // Callers see this error, so the error must not show the path of the operator's code.
    const name = specifier.startsWith('/') ? basename(specifier) : specifier;
    if (found === null) throw new Error(`the code of plugin \`${name}\` is missing or has changed`);
    own.set(specifier, found.plugins);
  }
  return own;
}
