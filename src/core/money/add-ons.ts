import { isObject } from '../json/object.ts';

/** Items that a service bills for an answer in addition to plain tokens. */
export interface AddOns {
  /** The part of `cacheWriteTokens` that the service keeps for an hour instead of five minutes; absent for none. */
  readonly hourCacheTokens?: number;
  /** Uses of the service's own tools, by name: `{ web_search: 2 }`; absent for none. */
  readonly toolUses?: Readonly<Record<string, number>>;
}

/** The most add-ons that a request allows a service to bill. */
export interface AskedAddOns {
  /** Whether parts of the prompt are to be kept in the cache for an hour. */
  readonly hourCache: boolean;
  /** The most uses of each of the service's own tools, by name. */
  readonly toolUses: Readonly<Record<string, number>>;
  /** How many times the model may read its context again: once after each use of one of the service's own tools. */
  readonly rereadings: number;
  /** Paths of fields that change the bill and have no price in the catalog. A request that draws on a fund may have no such field. */
  readonly unpriced: readonly string[];
}

/**
 * Whether a mark of OpenAI keeps a prefix in the cache for longer than the 30 minutes that `cache_write` prices. Writing for 12 hours costs
 * more, and OpenAI's usage does not say which tokens were written for how long.
 */
export const isLongCache = (mark: unknown): boolean => isObject(mark) && mark.ttl != null && mark.ttl !== '30m';

/** No answer uses tools more often than this. A higher number of tool uses is an error of the upstream. */
export const USES_MAX = 10_000;

/** Whether a figure can limit the uses of a tool. */
export const isUseLimit = (most: unknown): most is number =>
  typeof most === 'number' && Number.isInteger(most) && most > 0 && most <= USES_MAX;

/** Returns false for figures that cannot be true. @param written `cacheWriteTokens` */
export function arePlausible({ hourCacheTokens = 0, toolUses = {} }: AddOns, written: number): boolean {
  const isCount = (n: number, most: number) => Number.isInteger(n) && n >= 0 && n <= most;
  return isCount(hourCacheTokens, written) && Object.values(toolUses).every((uses) => isCount(uses, USES_MAX));
}

const sum = (uses: Readonly<Record<string, number>>): number => Object.values(uses).reduce((all, one) => all + one, 0);

/** Joins the add-ons that two parts of a request allow, such as two lists of tools. Tools with the same name count as one tool. */
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
