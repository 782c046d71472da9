import type { Ability, Level } from './reputation.ts';

/**
 * The worth of an answer's quality to the person who sends the request, and the difficulty that Signalbox should read. `answer` is what a
 * good answer is worth to the person, in Credits: each level ten times the level before, from a tenth of a US cent to a dollar.
 */
export const WORTHS = {
  /** Any model that does the task is good enough, but not at more than three times the price. */
  easy: { answer: 1, costRatio: 3, patienceS: 5, difficulty: 'easy' },
  ordinary: { answer: 10, costRatio: 6, patienceS: 15, difficulty: 'usual' },
  /** A better answer saves a person's time. The models that engineers use for such work are not too expensive, but a flagship is. */
  demanding: { answer: 100, costRatio: 30, patienceS: 60, difficulty: 'usual' },
  /** Few models do the task at all, so a flagship may do it. */
  hard: { answer: 1_000, costRatio: 40, patienceS: 240, difficulty: 'hard' },
} as const;
export type Worth = keyof typeof WORTHS;

export type Needs = Readonly<Partial<Record<Ability, Level>>>;

/** The usual values of a kind of request. A request may override each field. */
export interface Kind {
  /** The task that Signalbox should read. */
  readonly task: string;
  /** The minimum level of an ability that does the task well. */
  readonly needs: Needs;
  readonly worth: Worth;
  /** The tokens of the visible answer. */
  readonly visible: number;
  /** The tokens of hidden reasoning for an ordinary request of this kind, by a model that reasons as most models do. */
  readonly hidden: number;
}

export const KINDS = {
  smalltalk: { task: 'chat', needs: { talk: 1 }, worth: 'easy', visible: 40, hidden: 80 },
  fact: { task: 'general', needs: { talk: 2 }, worth: 'ordinary', visible: 200, hidden: 250 },
  mail: { task: 'writing', needs: { writing: 2 }, worth: 'ordinary', visible: 200, hidden: 350 },
  essay: { task: 'writing', needs: { writing: 3 }, worth: 'demanding', visible: 700, hidden: 700 },
  edit: { task: 'writing', needs: { writing: 2 }, worth: 'easy', visible: 20, hidden: 120 },
  ack: { task: 'chat', needs: { talk: 1 }, worth: 'easy', visible: 10, hidden: 40 },
  symptom: { task: 'general', needs: { talk: 3, reasoning: 3 }, worth: 'ordinary', visible: 300, hidden: 500 },
  translate: { task: 'translation', needs: { translation: 2 }, worth: 'ordinary', visible: 80, hidden: 250 },
  summary: { task: 'summarization', needs: { writing: 2 }, worth: 'ordinary', visible: 300, hidden: 450 },
  extract: { task: 'extraction', needs: { extraction: 2 }, worth: 'ordinary', visible: 120, hidden: 300 },
  label: { task: 'classification', needs: { extraction: 2 }, worth: 'easy', visible: 5, hidden: 130 },
  sql: { task: 'coding', needs: { coding: 2 }, worth: 'ordinary', visible: 200, hidden: 400 },
  'code-small': { task: 'coding', needs: { coding: 2 }, worth: 'ordinary', visible: 200, hidden: 350 },
  code: { task: 'coding', needs: { coding: 3 }, worth: 'demanding', visible: 1_200, hidden: 1_200 },
  'code-hard': { task: 'coding', needs: { coding: 5 }, worth: 'hard', visible: 3_500, hidden: 5_000 },
  deadlock: { task: 'coding', needs: { coding: 4 }, worth: 'hard', visible: 900, hidden: 2_500 },
  debug: { task: 'coding', needs: { coding: 3 }, worth: 'demanding', visible: 450, hidden: 900 },
  arithmetic: { task: 'math', needs: { math: 1 }, worth: 'easy', visible: 40, hidden: 120 },
  math: { task: 'math', needs: { math: 3 }, worth: 'ordinary', visible: 450, hidden: 800 },
  proof: { task: 'math', needs: { math: 5 }, worth: 'hard', visible: 1_000, hidden: 6_000 },
  puzzle: { task: 'reasoning', needs: { reasoning: 4 }, worth: 'demanding', visible: 350, hidden: 1_500 },
  plan: { task: 'reasoning', needs: { reasoning: 3 }, worth: 'demanding', visible: 600, hidden: 900 },
  vision: { task: 'vision', needs: { vision: 2 }, worth: 'ordinary', visible: 150, hidden: 350 },
  tool: { task: 'tool_use', needs: { tools: 2 }, worth: 'ordinary', visible: 60, hidden: 200 },
  agent: { task: 'coding', needs: { tools: 3, coding: 3 }, worth: 'demanding', visible: 250, hidden: 600 },
} as const satisfies Readonly<Record<string, Kind>>;
export type KindName = keyof typeof KINDS;
