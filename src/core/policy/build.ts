import type { Revision } from '../text/revision.ts';
import type { FoundModels } from './found-models.ts';

/** The prices for which a policy was built: the third input of a build, after the files of the policy and the models that were found. */
export interface SnapshotPrices {
  /** A moment at which these prices apply, ms since 1970. */
  readonly at: number;
  /** The first moment after `at` for which another build is needed, ms since 1970; Infinity for none. */
  readonly until: number;
  /** Identifies the prices that apply. */
  readonly hash: string;
}

/** A policy as it was built: the operator's policy, with the models that were found and the prices of the moment. */
interface BuiltPolicy {
  readonly revision: string;
  readonly found: Pick<FoundModels, 'hash'> | null;
  readonly prices?: Pick<SnapshotPrices, 'hash'> | null;
}

/** The separators in the ID of a build, before the hash of the found models and before the hash of the prices. */
const FOUND = '-';
const PRICES = '.';

/**
 * Returns the ID of a build, which decisions record: the revision, the hash of the found models if there are any, and the hash of the prices
 * if any price of the policy changes with time.
 */
export function buildOf({ revision, found, prices = null }: BuiltPolicy): string {
  const built = found === null ? revision : `${revision}${FOUND}${found.hash}`;
  return prices === null ? built : `${built}${PRICES}${prices.hash}`;
}

/** Returns the operator's revision in the ID of a build. */
export const revisionOf = (build: string): string => withoutPrices(build).split(FOUND, 1)[0]!;

const withoutPrices = (build: string): string => build.split(PRICES, 1)[0]!;

/** Returns the hash of the found models in the ID of a build; null if there were none. */
const foundHashIn = (build: string): string | null => withoutPrices(build).split(FOUND, 2)[1] ?? null;

type Stored = Pick<Revision, 'revision' | 'surroundings'>;

/** Returns the models that were found when a stored policy was built; null for none. */
export function storedFound({ revision, surroundings }: Stored): FoundModels | null {
  const [hash, text] = [foundHashIn(revision), surroundings.found];
  if (hash === null || text === undefined) return null;
  // Only Signalbox writes this text.
  const { servers, used }: Omit<FoundModels, 'hash'> = JSON.parse(text);
  return { hash, servers, used };
}

/** Returns a moment with the prices for which a stored policy was built, ms since 1970; null if its prices never change. */
export const storedPricedAt = ({ surroundings }: Stored): number | null => surroundings.pricedAt ?? null;
