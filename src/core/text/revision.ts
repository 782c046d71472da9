/** A policy that was active at some time. */
export interface Revision {
  /** The ID of the build: see `buildOf`. */
  readonly revision: string;
  /** The text of the policy's files. */
  readonly source: string;
  /** IDs of the models that the policy served. */
  readonly models: readonly string[];
  /** The environment of the policy. */
  readonly surroundings: PolicyEnvironment;
  /** When the revision was saved, ms since 1970. */
  readonly saved: number;
}

/**
 * Inputs of decisions other than the policy's text. The environment of a policy consists of names and hashes, never of values of variables.
 */
export interface PolicyEnvironment {
  /** Names of providers' environment variables that were not set. */
  readonly unset: readonly string[];
  /** The operator's own plugins, each with a hash of its code. */
  readonly plugins: readonly (readonly [specifier: string, hash: string])[];
  /** The models that were found, as `foundText` writes them; absent if there were none. */
  readonly found?: string;
  /** A moment with the prices for which the policy was built, ms since 1970; absent if its prices never change. */
  readonly pricedAt?: number;
  /** How many keys each variable of a pool holds, for variables with several; absent if there are none. */
  readonly keys?: Readonly<Record<string, number>>;
}

/**
 * Returns the policy revisions that are active on instances, and the number of instances that use each revision, the most frequent revision
 * first.
 */
export function revisionsIn(instances: readonly Pick<Revision, 'revision'>[]) {
  const counts = Map.groupBy(instances, ({ revision }) => revision);
  return [...counts]
    .map(([revision, those]) => ({ revision, instances: those.length }))
    .sort((one, other) => other.instances - one.instances || (one.revision < other.revision ? -1 : 1));
}
