/** A model family, by its name. */
type ModelLine = 'haiku' | 'sonnet' | 'opus' | 'fable' | 'mythos';

const NEVER = Number.POSITIVE_INFINITY;

/**
 * The version of each line from which a rule applies; 406 means 4.6. Each rule names its page of
 * platform.claude.com/docs, as of November 2026.
 */
const SINCE = {
  /** Adaptive thinking, by `effort`; earlier versions need a token budget. Source: `build-with-claude/thinking`. */
  adaptive: { haiku: 505, sonnet: 406, opus: 406, fable: 0, mythos: 0 },
  /** Thinks unless disabled. Source: `build-with-claude/thinking`. */
  thinksByDefault: { haiku: 505, sonnet: 500, opus: 500, fable: 0, mythos: 0 },
  /** Thinking cannot be disabled. Source: `build-with-claude/thinking-troubleshooting`. */
  alwaysThinks: { haiku: NEVER, sonnet: 505, opus: 505, fable: 0, mythos: 0 },
  /** Can limit thinking to short notes between tool calls. Source: `build-with-claude/thinking`. */
  betweenTools: { haiku: NEVER, sonnet: 505, opus: NEVER, fable: NEVER, mythos: NEVER },
  /** Supports the effort `xhigh`. Source: `build-with-claude/effort`. */
  xhigh: { haiku: 505, sonnet: 500, opus: 407, fable: 0, mythos: 500 },
  /** Refuses temperature, top_p and top_k. Source: `build-with-claude/thinking-troubleshooting`. */
  fixedSampling: { haiku: 505, sonnet: 500, opus: 407, fable: 0, mythos: 0 },
  /** Cannot be forced to call a tool by a request that asks for thinking. Source: `build-with-claude/thinking`. */
  noForcedToolsWithThinking: { haiku: 0, sonnet: 0, opus: 0, fable: 0, mythos: 0 },
  /** Accepts system messages within a conversation. Source: `build-with-claude/mid-conversation-system-messages`. */
  inlineSystem: { haiku: 505, sonnet: 505, opus: 408, fable: 0, mythos: 500 },
  /** Refuses a conversation that ends with an assistant's turn. Source: `api/errors`. */
  endsWithUser: { haiku: 505, sonnet: 406, opus: 406, fable: 0, mythos: 0 },
  /** Supports JSON schemas for answers, and strict ones for tools. Source: `build-with-claude/structured-outputs`. */
  jsonSchema: { haiku: 405, sonnet: 405, opus: 401, fable: 0, mythos: 0 },
} as const satisfies Readonly<Record<string, Readonly<Record<ModelLine, number>>>>;

/** The one version of each line to which a rule applies: it is documented of these models alone. */
const ONLY = {
  /**
   * Cannot be forced to call a tool at all. Sources: `models/opus-5-5/whats-new-opus-5-5`, "Forced tool use", for Opus and Fable;
   * `models/sonnet-5-5/whats-new-sonnet-5-5`, "Forced tool use is not supported", for Sonnet.
   */
  noForcedTools: { opus: 505, sonnet: 505, fable: 501 },
} as const satisfies Readonly<Record<string, Partial<Record<ModelLine, number>>>>;

type RuleName = keyof typeof SINCE;
const RULES = Object.keys(SINCE) as RuleName[];
export type ModelRules = Readonly<Record<RuleName | keyof typeof ONLY, boolean>>;

/** `claude-opus-4-8`, `claude-opus-4-20250514`, `claude-3-5-sonnet-20241022`, and other hosts' spellings. */
const NAME = /claude-(?:(\d{1,2})(?:[-.](\d{1,2}))?-)?([a-z]+)(?:-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?)?/;

/** Caches the rules by model name. Only as many as policies name. */
const rulesByName = new Map<string, ModelRules>();

/** The rules of a model by its upstream name. Another vendor's model is treated as an early one. */
export function rulesOf(upstream: string): ModelRules {
  return rulesByName.getOrInsertComputed(upstream, readRules);
}

function readRules(upstream: string): ModelRules {
  const [name, before, minorBefore, word = '', behind, minorBehind] = NAME.exec(upstream.toLowerCase()) ?? [];
  if (name === undefined) return { ...rules((rule) => rule === 'jsonSchema'), noForcedTools: false };
  // An unknown family gets the strictest rules of those that begin with a version.
  const line = isLine(word) ? word : 'fable';
  const major = before ?? behind;
  const version = major ? Number(major) * 100 + Number(minorBefore ?? minorBehind ?? 0) : unnumbered(upstream);
  const only: Partial<Record<string, number>> = ONLY.noForcedTools;
  return { ...rules((rule) => version >= SINCE[rule][line]), noForcedTools: only[word] === version };
}

/** A preview precedes every version; any other name without a version means the latest. */
const unnumbered = (upstream: string): number => (/preview/i.test(upstream) ? 0 : Number.MAX_SAFE_INTEGER);

const isLine = (word: string): word is ModelLine => Object.hasOwn(SINCE.adaptive, word);

function rules(holds: (rule: RuleName) => boolean): Readonly<Record<RuleName, boolean>> {
  return Object.fromEntries(RULES.map((rule) => [rule, holds(rule)])) as Record<RuleName, boolean>;
}
