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

/**
 * The names that coding agents send by default, by the built-in selector that they stand for. A name that ends in `*` covers all models of
 * one class of Claude. No name here may cover the models of a whole service.
 */
export const AGENT_NAMES = {
  auto: ['claude-auto', 'opus', 'claude-opus-*', 'sonnet', 'claude-sonnet-*'],
  'auto-cheap': ['claude-auto-cheap', 'haiku', 'claude-haiku-*'],
  'auto-fast': ['claude-auto-fast'],
} as const;

/** The aliases that coding agents need: each name or pattern with its selector. */
export const AGENT_ALIASES: ReadonlyMap<string, string> = new Map(
  Object.entries(AGENT_NAMES).flatMap(([selector, names]) => names.map((name) => [name, selector])),
);
