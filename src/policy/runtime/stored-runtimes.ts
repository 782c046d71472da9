import { buildOf, storedFound, storedPricedAt } from '../../core/policy/build.ts';
import type { Revision } from '../../core/text/revision.ts';
import { compileCandidate, isRejected, type PolicyTools } from './candidate.ts';
import type { Runtime } from './runtime.ts';

/** The most runtimes in the cache. More revisions than this are rarely active at the same time. */
const BUILT_MAX = 4;

interface StoredRuntimesOptions {
  /** The parser of these tools handles one policy at a time, so no other code may use it. */
  readonly tools: PolicyTools;
  /** Reads the text of a revision; null for an unknown revision. `find` rejects with StoreError. */
  readonly find: (revision: string) => Promise<Revision | null>;
}

/** Builds the runtimes of revisions that are or were active on other servers, from their texts in the store. State: quoted policies. */
export class StoredRuntimes {
  readonly #options: StoredRuntimesOptions;
  /** Runtimes by revision, the oldest first. Concurrent callers of a revision share one promise. */
  readonly #built = new Map<string, Promise<Runtime | null>>();
  #building: Promise<unknown> = Promise.resolve();

  constructor(options: StoredRuntimesOptions) {
    this.#options = options;
  }

  /**
   * Returns the runtime of a revision; null if the revision is unknown, or cannot be built unchanged on this server. `find` rejects with
   * StoreError.
   */
  async find(revision: string): Promise<Runtime | null> {
    const known = this.#built.get(revision);
    if (known) return known;
    const building = this.#building.then(() => this.#build(revision));
    this.#building = building.catch(() => {});
    this.#built.set(revision, building);
    if (this.#built.size > BUILT_MAX) this.#built.delete(this.#built.keys().next().value!);
    const forget = () => this.#built.get(revision) === building && this.#built.delete(revision);
    // A failure is not cached: by the next call the revision may be stored, or the cause fixed.
    building.then((runtime) => runtime ?? forget(), forget);
    return building;
  }

  /** Drops all runtimes, so that they are built again with the current secrets. */
  forget(): void {
    this.#built.clear();
  }

  async #build(revision: string): Promise<Runtime | null> {
    const { tools, find } = this.#options;
    const stored = await find(revision);
    if (!stored) return null;
    // Only Signalbox writes the text of a stored revision, so the text need not be validated.
    const bundle = { files: JSON.parse(stored.source), hash: revision };
    const built = await compileCandidate(bundle, {
      ...tools,
      found: () => storedFound(stored),
      pricedAt: () => storedPricedAt(stored),
    });
    // The revision differs if a secret in the text was masked, or if a plugin has changed.
    return isRejected(built) || buildOf(built.runtime.snapshot) !== revision ? null : built.runtime;
  }
}
