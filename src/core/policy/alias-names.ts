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
 * The names that coding agents send by default: for each agent, its names by the built-in selector that they stand for. A name that ends
 * in `*` covers all models of one class of Claude. No name here may cover the models of a whole service.
 */
export const AGENT_NAMES = {
  'claude-code': {
    auto: ['claude-auto', 'fable', 'claude-fable-*', 'opus', 'claude-opus-*', 'sonnet', 'claude-sonnet-*'],
    'auto-cheap': ['claude-auto-cheap', 'haiku', 'claude-haiku-*'],
    'auto-fast': ['claude-auto-fast'],
  },
  // gemini-cli chooses among exact names, also for `--model auto`. A pattern would cover Google's embedding models, too.
  'gemini-cli': {
    auto: [
      ...['gemini-3.8-flash', 'gemini-3.5-flash', 'gemini-3.1-pro-preview', 'gemini-3.1-pro-preview-customtools'],
      ...['gemini-3-pro-preview', 'gemini-3-flash-preview', 'gemini-3-flash', 'gemini-2.5-pro', 'gemini-2.5-flash'],
      ...['gemma-4-31b-it', 'gemma-4-26b-a4b-it'],
    ],
    'auto-cheap': [
      ...['gemini-3.5-flash-lite', 'gemini-3.1-flash-lite', 'gemini-3.1-flash-lite-preview', 'gemini-2.5-flash-lite'],
    ],
  },
} as const;

/** The aliases that coding agents need: each name or pattern with its selector. */
export const AGENT_ALIASES: ReadonlyMap<string, string> = new Map(
  Object.values(AGENT_NAMES).flatMap((agent) =>
    Object.entries<readonly string[]>(agent).flatMap(([selector, names]) =>
      names.map((name) => [name, selector] as const),
    ),
  ),
);
