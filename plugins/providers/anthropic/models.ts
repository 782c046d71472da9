/** A line of models, as their names say it. */
type Line = 'haiku' | 'sonnet' | 'opus' | 'fable' | 'mythos';

const NEVER = Number.POSITIVE_INFINITY;

/**
 * Since which version of each line something is so; 406 stands for 4.6. From Anthropic's pages `thinking-troubleshooting`,
 * `thinking`, `effort`, `mid-conversation-system-messages`, `structured-outputs` and `errors`, as of November 2026.
 */
const SINCE = {
  /** Thinks as much as it finds fit, by `effort`; before, it wants a budget of tokens. */
  adaptive: { haiku: 505, sonnet: 406, opus: 406, fable: 0, mythos: 0 },
  /** Thinks unless told not to. */
  thinksUnasked: { haiku: 505, sonnet: 500, opus: 500, fable: 0, mythos: 0 },
  /** Cannot be told not to think. */
  alwaysThinks: { haiku: NEVER, sonnet: 505, opus: 505, fable: 0, mythos: 0 },
  /** Can be told to write but short notes between calls of tools. */
  betweenTools: { haiku: NEVER, sonnet: 505, opus: NEVER, fable: NEVER, mythos: NEVER },
  /** Has the effort `xhigh`. */
  xhigh: { haiku: 505, sonnet: 500, opus: 407, fable: 0, mythos: 500 },
  /** Refuses temperature, top_p and top_k. */
  fixedSampling: { haiku: 505, sonnet: 500, opus: 407, fable: 0, mythos: 0 },
  /** Cannot be made to call a tool. */
  unforced: { haiku: NEVER, sonnet: 505, opus: 505, fable: 501, mythos: 501 },
  /** Takes system messages amid a conversation. */
  inlineSystem: { haiku: 505, sonnet: 505, opus: 408, fable: 0, mythos: 500 },
  /** Refuses a conversation that ends with an answer of its own. */
  endsWithUser: { haiku: 505, sonnet: 406, opus: 406, fable: 0, mythos: 0 },
  /** Answers in a given JSON schema, and keeps strictly to those of tools. */
  jsonSchema: { haiku: 405, sonnet: 405, opus: 401, fable: 0, mythos: 0 },
} as const satisfies Readonly<Record<string, Readonly<Record<Line, number>>>>;

type Rule = keyof typeof SINCE;
const RULES = Object.keys(SINCE) as Rule[];
export type Rules = Readonly<Record<Rule, boolean>>;

/** `claude-opus-4-8`, `claude-opus-4-20250514`, `claude-3-5-sonnet-20241022`, and as other hosts write them. */
const NAME = /claude-(?:(\d{1,2})(?:[-.](\d{1,2}))?-)?([a-z]+)(?:-(\d{1,2})(?!\d)(?:[-.](\d{1,2})(?!\d))?)?/;

/** By name, of models that were asked: every request asks anew. Only as many as policies name. */
const known = new Map<string, Rules>();

/** What the model of this name takes. One that is not Claude is taken for an early one that does what the catalog says. */
export function rulesOf(upstream: string): Rules {
  let found = known.get(upstream);
  if (!found) {
    found = readRules(upstream);
    known.set(upstream, found);
  }
  return found;
}

function readRules(upstream: string): Rules {
  const [name, before, minorBefore, word = '', behind, minorBehind] = NAME.exec(upstream.toLowerCase()) ?? [];
  if (name === undefined) return rules((rule) => rule === 'jsonSchema');
  // A line yet unknown is taken to be as strict as the strictest.
  const line = isLine(word) ? word : 'fable';
  const major = before ?? behind;
  const version = major ? Number(major) * 100 + Number(minorBefore ?? minorBehind ?? 0) : unnumbered(upstream);
  return rules((rule) => version >= SINCE[rule][line]);
}

/** A preview came before every version; any other name without one means the latest. */
const unnumbered = (upstream: string): number => (/preview/i.test(upstream) ? 0 : Number.MAX_SAFE_INTEGER);

const isLine = (word: string): word is Line => Object.hasOwn(SINCE.adaptive, word);

function rules(holds: (rule: Rule) => boolean): Rules {
  return Object.fromEntries(RULES.map((rule) => [rule, holds(rule)])) as Rules;
}
