/** A service's bill for an answer beside plain tokens. */
export interface AddOns {
  /** The part of `cacheWriteTokens` that is kept for an hour rather than five minutes; absent for none. */
  readonly hourCacheTokens?: number;
  /** Uses of the service's own tools, by name: `{ web_search: 2 }`; absent for none. */
  readonly toolUses?: Readonly<Record<string, number>>;
}

/** The most of them that a request lets a service bill. */
export interface AskedAddOns {
  /** Whether parts of the prompt are to be kept in the cache for an hour. */
  readonly hourCache: boolean;
  /** The most uses of each of the service's tools, by name. */
  readonly toolUses: Readonly<Record<string, number>>;
  /** The most times that the model reads its context anew: after each use of a tool of the service. */
  readonly rereadings: number;
  /** Paths of fields that change the bill by no price of the catalog. A request that draws on a fund may have none. */
  readonly unpriced: readonly string[];
}

/** More uses than any answer can have; a figure above it is an upstream's mistake. */
export const USES_MAX = 10_000;

/** Whether a figure can limit the uses of a tool. */
export const isUseLimit = (most: unknown): most is number =>
  typeof most === 'number' && Number.isInteger(most) && most > 0 && most <= USES_MAX;

/** False for figures that cannot be true. @param written `cacheWriteTokens` */
export function arePlausible({ hourCacheTokens = 0, toolUses = {} }: AddOns, written: number): boolean {
  const isCount = (n: number, most: number) => Number.isInteger(n) && n >= 0 && n <= most;
  return isCount(hourCacheTokens, written) && Object.values(toolUses).every((uses) => isCount(uses, USES_MAX));
}

const sum = (uses: Readonly<Record<string, number>>): number => Object.values(uses).reduce((all, one) => all + one, 0);

/** The most that a service may bill for two lists of tools and marks together. Tools of one name are one tool. */
export function joinedAddOns(one: AskedAddOns | undefined, other: AskedAddOns | undefined): AskedAddOns | undefined {
  if (!one || !other) return one ?? other;
  const toolUses = { ...one.toolUses };
  for (const name in other.toolUses) toolUses[name] = Math.max(toolUses[name] ?? 0, other.toolUses[name]!);
  const unnamed = [one, other].map(({ rereadings, toolUses: uses }) => rereadings - sum(uses));
  return {
    hourCache: one.hourCache || other.hourCache,
    toolUses,
    rereadings: sum(toolUses) + Math.max(...unnamed),
    unpriced: [...new Set([...one.unpriced, ...other.unpriced])],
  };
}
