/** Other names of selectors and models. */
export interface AliasNames {
  /** Name → the selector or model that it stands for. */
  readonly names: ReadonlyMap<string, string>;
  /** Prefixes of further names → the selector or model, the longest prefix first. */
  readonly patterns: readonly (readonly [start: string, name: string])[];
}

/** Separates the aliases that end in `*` from the others. */
export function aliasNames(aliases: ReadonlyMap<string, string>): AliasNames {
  const isPattern = ([alias]: readonly [string, string]) => alias.endsWith('*');
  return {
    names: new Map([...aliases].filter((one) => !isPattern(one))),
    patterns: [...aliases]
      .filter(isPattern)
      .map(([alias, name]) => [alias.slice(0, -1), name] as const)
      .sort(([a], [b]) => b.length - a.length),
  };
}

/** Returns the selector or model that a name stands for; null for a name that is no alias. The longest pattern that covers it decides. */
export const aliasTarget = ({ names, patterns }: AliasNames, name: string): string | null =>
  names.get(name) ?? patterns.find(([start]) => name.startsWith(start))?.[1] ?? null;
