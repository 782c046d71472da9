import type { Revision } from '../../core/revision.ts';
import { compileCandidate, isRejected, type PolicyTools } from './candidate.ts';
import type { Runtime } from './runtime.ts';

/** Limit of cached runtimes: more revisions are hardly ever in force at once. */
const BUILT_MAX = 4;

interface StoredRuntimesOptions {
  /** Its parser takes one policy at a time, and is used by nothing else. */
  readonly tools: PolicyTools;
  /** Reads the text of a revision; null for an unknown one. Rejects with StoreError. */
  readonly find: (revision: string) => Promise<Revision | null>;
}

/** Builds the runtimes of revisions that other instances have, or had, in force, from their texts in the store. State: quoted policies. */
export class StoredRuntimes {
  readonly #options: StoredRuntimesOptions;
  /** By revision, the oldest first. Concurrent callers share one promise. */
  readonly #built = new Map<string, Promise<Runtime | null>>();
  #building: Promise<unknown> = Promise.resolve();

  constructor(options: StoredRuntimesOptions) {
    this.#options = options;
  }

  /** Resolves with null for a revision that is unknown, or cannot be built here as it was. Rejects with StoreError. */
  async find(revision: string): Promise<Runtime | null> {
    const known = this.#built.get(revision);
    if (known) return known;
    const building = this.#building.then(() => this.#build(revision));
    this.#building = building.catch(() => {});
    this.#built.set(revision, building);
    if (this.#built.size > BUILT_MAX) this.#built.delete(this.#built.keys().next().value!);
    const forget = () => this.#built.get(revision) === building && this.#built.delete(revision);
    // It may be stored, or its cause fixed, by the next call.
    building.then((runtime) => runtime ?? forget(), forget);
    return building;
  }

  /** Drops all: they are built again with the secrets in force then. */
  forget(): void {
    this.#built.clear();
  }

  async #build(revision: string): Promise<Runtime | null> {
    const { tools, find } = this.#options;
    const stored = await find(revision);
    if (!stored) return null;
    // Only this program writes it.
    const bundle = { files: JSON.parse(stored.source), hash: revision };
    const built = await compileCandidate(bundle, tools);
    // A secret in the text was masked, or a plugin has changed.
    return isRejected(built) || built.runtime.snapshot.revision !== revision ? null : built.runtime;
  }
}
