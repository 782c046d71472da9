/** The name of a model family. */
type ModelLine = 'haiku' | 'sonnet' | 'opus' | 'fable' | 'mythos';

const NEVER = Number.POSITIVE_INFINITY;

/**
 * For each rule, the version of each model family from which the rule applies; 406 means 4.6. The comment of each rule names the page of
 * platform.claude.com/docs that documents it, as of November 2026.
 */
const SINCE = {
  /**
   * The model supports adaptive thinking, which `effort` controls. Models without adaptive thinking need a token budget. Source:
   * `build-with-claude/thinking`.
   */
  adaptive: { haiku: 505, sonnet: 406, opus: 406, fable: 0, mythos: 0 },
  /** The model thinks unless thinking is disabled. Source: `build-with-claude/thinking`. */
  thinksByDefault: { haiku: 505, sonnet: 500, opus: 500, fable: 0, mythos: 0 },
  /** The request cannot disable thinking. Source: `build-with-claude/thinking-troubleshooting`. */
  alwaysThinks: { haiku: NEVER, sonnet: 505, opus: 505, fable: 0, mythos: 0 },
  /** The model can limit thinking to short notes between tool calls. Source: `build-with-claude/thinking`. */
  betweenTools: { haiku: NEVER, sonnet: 505, opus: NEVER, fable: NEVER, mythos: NEVER },
  /** The model supports the effort `xhigh`. Source: `build-with-claude/effort`. */
  xhigh: { haiku: 505, sonnet: 500, opus: 407, fable: 0, mythos: 500 },
  /** The model rejects temperature, top_p and top_k. Source: `build-with-claude/thinking-troubleshooting`. */
  fixedSampling: { haiku: 505, sonnet: 500, opus: 407, fable: 0, mythos: 0 },
  /** A request with thinking cannot force the model to call a tool. Source: `build-with-claude/thinking`. */
  noForcedToolsWithThinking: { haiku: 0, sonnet: 0, opus: 0, fable: 0, mythos: 0 },
  /** The model accepts system messages within a conversation. Source: `build-with-claude/mid-conversation-system-messages`. */
  inlineSystem: { haiku: 505, sonnet: 505, opus: 408, fable: 0, mythos: 500 },
  /** The model rejects a conversation that ends with an assistant's turn. Source: `api/errors`. */
  endsWithUser: { haiku: 505, sonnet: 406, opus: 406, fable: 0, mythos: 0 },
  /** The model supports JSON schemas for answers, and strict schemas for tools. Source: `build-with-claude/structured-outputs`. */
  jsonSchema: { haiku: 405, sonnet: 405, opus: 401, fable: 0, mythos: 0 },
} as const satisfies Readonly<Record<string, Readonly<Record<ModelLine, number>>>>;

/**
 * For each rule, the only version of each model family to which the rule applies, because Anthropic documents the rule only for these
 * models.
 */
const ONLY = {
  /**
   * A request cannot force the model to call a tool at all. Sources: `models/opus-5-5/whats-new-opus-5-5`, "Forced tool use", for Opus and
   * Fable; `models/sonnet-5-5/whats-new-sonnet-5-5`, "Forced tool use is not supported", for Sonnet.
   */
  noForcedTools: { opus: 505, sonnet: 505, fable: 501 },
} as const satisfies Readonly<Record<string, Partial<Record<ModelLine, number>>>>;

type RuleName = keyof typeof SINCE;
const RULES = Object.keys(SINCE) as RuleName[];
export type ModelRules = Readonly<Record<RuleName | keyof typeof ONLY, boolean>>;

/** Matches `claude-opus-4-8`, `claude-opus-4-20250514`, `claude-3-5-sonnet-20241022`, and the spellings of other hosts. */
const NAME = /claude-(?:(\d{1,2})(?:[-.](\d{1,2}))?-)?([a-z]+)(?:-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?)?/;

/** Caches the rules by model name. The cache has only as many entries as policies name models. */
const rulesByName = new Map<string, ModelRules>();

/** Returns the rules of a model by its upstream name. The adapter treats a model of another vendor as an early Claude model. */
export function rulesOf(upstream: string): ModelRules {
  return rulesByName.getOrInsertComputed(upstream, readRules);
}

function readRules(upstream: string): ModelRules {
  const [name, before, minorBefore, word = '', behind, minorBehind] = NAME.exec(upstream.toLowerCase()) ?? [];
  if (name === undefined) return { ...rules((rule) => rule === 'jsonSchema'), noForcedTools: false };
  // An unknown family gets the strictest rules of the families whose rules begin with a version.
  const line = isLine(word) ? word : 'fable';
  const major = before ?? behind;
  const version = major ? Number(major) * 100 + Number(minorBefore ?? minorBehind ?? 0) : unnumbered(upstream);
  const only: Partial<Record<string, number>> = ONLY.noForcedTools;
  return { ...rules((rule) => version >= SINCE[rule][line]), noForcedTools: only[word] === version };
}

/** A preview counts as older than every version; any other model name without a version means the latest version. */
const unnumbered = (upstream: string): number => (/preview/i.test(upstream) ? 0 : Number.MAX_SAFE_INTEGER);

const isLine = (word: string): word is ModelLine => Object.hasOwn(SINCE.adaptive, word);

function rules(holds: (rule: RuleName) => boolean): Readonly<Record<RuleName, boolean>> {
  return Object.fromEntries(RULES.map((rule) => [rule, holds(rule)])) as Record<RuleName, boolean>;
}
