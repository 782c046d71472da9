import type { Unit } from './units.ts';

/** The most that a request allows a service to bill in addition to plain tokens. */
export interface AskedAddOns {
  /** The service tier that the request asks for, as policies name it; absent for the provider's default tier. */
  readonly tier?: string;
  /** The units that occur only because the request asks for them, such as writing to the cache for an hour. */
  readonly units: readonly Unit[];
  /** The path of the first field that asks for such a unit; absent if the field is a mark that several dialects share. */
  readonly unitsAt?: string;
  /** The most uses of each of the service's own tools, by name. */
  readonly toolUses: Readonly<Record<string, number>>;
  /** How many times the model may read its context again: once after each use of one of the service's own tools. */
  readonly rereadings: number;
  /** Paths of fields that change the bill and have no price in the catalog. A request that draws on a fund may have no such field. */
  readonly unpriced: readonly string[];
}

/** No answer uses tools more often than this. A higher number of tool uses is an error of the upstream. */
export const USES_MAX = 10_000;

/** Whether a figure can limit the uses of a tool. */
export const isUseLimit = (most: unknown): most is number =>
  typeof most === 'number' && Number.isInteger(most) && most > 0 && most <= USES_MAX;

const union = <T>(one: readonly T[], other: readonly T[]): readonly T[] => [...new Set([...one, ...other])];
const sum = (uses: Readonly<Record<string, number>>): number => Object.values(uses).reduce((all, one) => all + one, 0);

/** Joins the add-ons that two parts of a request allow, such as two lists of tools. Tools with the same name count as one tool. */
export function joinedAddOns(one: AskedAddOns | undefined, other: AskedAddOns | undefined): AskedAddOns | undefined {
  if (!one || !other) return one ?? other;
  const toolUses = { ...one.toolUses };
  for (const name in other.toolUses) toolUses[name] = Math.max(toolUses[name] ?? 0, other.toolUses[name]!);
  const tier = one.tier ?? other.tier;
  const unitsAt = one.unitsAt ?? other.unitsAt;
  const unnamed = [one, other].map(({ rereadings, toolUses: uses }) => rereadings - sum(uses));
  return {
    ...(tier !== undefined && { tier }),
    units: union(one.units, other.units),
    ...(unitsAt !== undefined && { unitsAt }),
    toolUses,
    rereadings: sum(toolUses) + Math.max(...unnamed),
    unpriced: union(one.unpriced, other.unpriced),
  };
}
