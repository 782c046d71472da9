/**
 * What engineers who know the models say about them: five levels for each ability, and classes of speed. The panel judges by this and by
 * list prices, and by nothing that Signalbox calculates.
 *
 * The levels are judgements, made in November 2026 after reading public sources: LiveBench (coding, mathematics, reasoning; livebench.ai),
 * the Arena text leaderboard (talk, writing; lmarena.ai), Terminal-Bench and tau-bench (agents, tools), Vectara's list of faithful
 * summaries, vendors' announcements and default efforts, and tests that individual authors have published. No source has translation for
 * all models, so the vendor's reputation counts there. A model without independent scores (`claude-haiku-5-5`, `mistral-large-4`) has the
 * level of its class. Speeds are our own coarse classes, based on vendors' figures and public speed pages (Artificial Analysis, none of
 * whose values is repeated); if nothing is published, they are the median of the class.
 */
export const ABILITIES = [
  'talk',
  'writing',
  'coding',
  'math',
  'reasoning',
  'translation',
  'extraction',
  'tools',
  'vision',
] as const;
export type Ability = (typeof ABILITIES)[number];

/** 1: weak; 2: does simple tasks; 3: does usual tasks; 4: strong; 5: among the best; 0: cannot do the task. */
export type Level = 0 | 1 | 2 | 3 | 4 | 5;

export interface Reputation {
  /** The levels, in the order of `ABILITIES`. */
  readonly levels: readonly [Level, Level, Level, Level, Level, Level, Level, Level, Level];
  /** Seconds until the first output, with a short prompt. */
  readonly startS: number;
  /** Output tokens per second. */
  readonly rate: number;
  /** The hidden tokens of the model at its default effort, as a multiple of the usual number for the kind of request. */
  readonly thinking: number;
  /** Prompt tokens that the model reads per second. */
  readonly readRate: number;
  readonly why: string;
}

const of = (
  levels: Reputation['levels'],
  [startS, rate, thinking]: readonly [number, number, number],
  why: string,
  readRate = 10_000,
): Reputation => ({ levels, startS, rate, thinking, readRate, why });

/** The reputation of each model. The panel's test names models that this table lacks. */
export const REPUTATION: Readonly<Record<string, Reputation>> = {
  // Columns: talk, writing, coding, math, reasoning, translation, extraction, tools, vision; start, rate, thinking.
  'gpt-6-astra': of([5, 5, 5, 5, 5, 5, 5, 5, 5], [2, 50, 0.3], 'flagship; tops reasoning and maths, dearest of all'),
  'gpt-6.1-sol': of([5, 4, 5, 5, 5, 5, 5, 5, 5], [2, 60, 0.3], 'level with astra at a fifth of its price'),
  'gpt-6-luna': of(
    [3, 3, 3, 3, 3, 3, 4, 3, 4],
    [1, 125, 0.5],
    'small and cheap; extraction and labels like the large ones',
  ),
  'gpt-5.6-terra': of([4, 4, 4, 4, 4, 4, 4, 4, 4], [1, 100, 0.3], 'last generation’s middle; thinks well, still dear'),

  'claude-fable-5-1': of([5, 5, 5, 5, 5, 5, 5, 5, 5], [2, 60, 0.7], 'flagship; prose and code, as dear as astra'),
  'claude-opus-5-5': of([5, 5, 5, 5, 5, 5, 5, 5, 4], [2, 75, 1], 'first in code and in the arena'),
  'claude-sonnet-5-5': of([5, 5, 5, 5, 5, 5, 5, 5, 4], [1, 100, 0.8], 'the usual choice for code and agents'),
  'claude-haiku-5-5': of(
    [3, 3, 3, 3, 3, 3, 4, 3, 3],
    [1, 175, 1.5],
    'new; the vendor alone has scores, good for its price',
  ),
  'claude-haiku-4-5': of(
    [3, 3, 3, 2, 2, 3, 3, 3, 2],
    [1, 100, 0],
    'a year old; quick, and does not think unless asked',
  ),

  'gemini-3.1-pro': of(
    [5, 5, 4, 4, 4, 5, 5, 4, 5],
    [2, 125, 3],
    'preview; languages, pictures, knowledge; thinks long',
  ),
  'gemini-3.8-flash': of(
    [5, 4, 4, 4, 4, 5, 5, 5, 5],
    [1, 250, 2.5],
    'near the flagships at a third, thinks much, fast',
  ),
  'gemini-3.5-flash-lite': of([3, 2, 3, 2, 2, 3, 4, 3, 4], [1, 350, 0.7], 'fast; extraction, labels, simple text'),

  'mistral-large-4': of([4, 4, 3, 3, 3, 4, 4, 3, 3], [1, 75, 1], 'new; no independent score, level of its class'),
  'mistral-medium-3.5': of([3, 3, 2, 2, 2, 3, 3, 3, 2], [1, 60, 0], 'European languages; behind in code and maths'),
  'mistral-small-4': of([2, 2, 2, 2, 2, 2, 2, 2, 2], [1, 150, 0], 'cheap, does simple things'),

  'deepseek-v4-pro': of([4, 4, 4, 5, 4, 4, 4, 4, 0], [2, 75, 3], 'maths; thinks very long'),
  'deepseek-v4.1-flash': of(
    [3, 3, 4, 4, 4, 3, 3, 3, 3],
    [1, 200, 2.5],
    'code and maths far beyond its price; thinks long',
  ),
  'grok-4.7': of([4, 4, 4, 4, 4, 4, 4, 4, 4], [2, 75, 2], 'maths; slow to begin'),
  'kimi-k3': of([5, 5, 4, 4, 5, 4, 4, 5, 4], [3, 35, 4], 'agents and prose; the slowest, thinks longest'),
  'glm-5.3': of([4, 4, 4, 4, 4, 4, 4, 5, 0], [2, 75, 1.5], 'agents and code of the open models'),
  'glm-5.3-flash': of([3, 3, 3, 3, 3, 2, 3, 4, 3], [2, 50, 1], 'cheap with tools and code; slow'),

  'qwen3.8-27b': of([3, 2, 3, 3, 3, 3, 3, 3, 3], [0.5, 400, 2], 'code beyond its size; on Groq’s hardware'),
  'cerebras-qwen3.8-27b': of([3, 2, 3, 3, 3, 3, 3, 3, 3], [0.5, 1_000, 2], 'the same model, many times the speed'),
  'gpt-oss-120b': of(
    [2, 2, 2, 3, 2, 2, 2, 2, 0],
    [0.5, 500, 0.7],
    'contest maths; little knowledge; on Groq’s hardware',
  ),
  'qwen3.8-max': of([4, 4, 4, 4, 4, 4, 4, 5, 4], [3, 40, 4], 'agents; thinks longest, slow'),
  'muse-spark-1.3': of([5, 5, 4, 4, 4, 4, 4, 4, 4], [2, 175, 2.5], 'high in the arena, few other scores; thinks much'),

  'local-qwen3.8-27b': of([3, 2, 3, 3, 3, 3, 3, 3, 3], [1, 25, 2], 'as hosted, on a machine of one’s own', 1_000),
  'local-gemma4-26b': of([2, 3, 2, 2, 2, 2, 2, 2, 2], [1, 25, 1], 'talk and prose for its size', 1_000),
  'local-gpt-oss-20b': of([1, 1, 1, 2, 1, 1, 2, 2, 0], [1, 50, 0.7], 'small; sums and labels, little knowledge', 1_000),
};

/** Returns the level; undefined for a model that has no reputation yet. */
export const levelOf = (model: string, ability: Ability): Level | undefined =>
  REPUTATION[model]?.levels[ABILITIES.indexOf(ability)];
