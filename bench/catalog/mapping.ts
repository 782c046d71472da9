/**
 * From ability to a share of good answers, for requests as people send them. This is the one place where it is stated.
 *
 * An item-response view. Ability is in logits, on the scale of an index of hard, mostly agentic work, with 0 in the middle
 * of the catalog. A request has a difficulty on the same scale; a model answers it well with the probability
 * `ceiling · σ(slope · ability + ease)`. A task's requests are a mixture of easy, usual and hard ones, so its figure is the mean.
 *
 * `ease`: hard requests are as hard as that index for a middling model (a proof, an agent's turn in a large repository),
 * usual and easy ones are those of which a middling model answers 95 and 99 of 100 well. These two, the slopes and the shares were
 * set so that the pooled tests on ordinary requests in `facts.json` come out (`npm run catalog -- --check` compares them):
 * school algebra 97 of 100, labels 86 to 99, fields of listings 97, whole listings 78, answers from documents 94.
 *
 * `slope`: where an answer must be worked out, ability counts in full (school algebra and extraction separate models at least as well
 * as the index does); in tests of everyday language it separates them half as well (0.45 to 0.65 fitted).
 *
 * `ceiling`: what no ability mends. A request leaves out what is needed, the taste of two people differs, a photo is blurred.
 */
export const EASE = { easy: 4.6, usual: 3, hard: 0 } as const;

export interface TaskMapping {
  /** Shares of a task's requests; together 1. */
  readonly easy: number;
  readonly usual: number;
  readonly hard: number;
  readonly slope: number;
  readonly ceiling: number;
  /** Measures that speak for the task besides the index. Where a model has none of them, the index alone is the link. */
  readonly measures: readonly string[];
  /** Share of a gateway's traffic, for `default`; guessed. */
  readonly traffic: number;
}

const WORKED_OUT = 1;
const LANGUAGE = 0.5;

export const TASKS: Readonly<Record<string, TaskMapping>> = {
  chat: {
    easy: 0.75,
    usual: 0.22,
    hard: 0.03,
    slope: LANGUAGE,
    ceiling: 0.98,
    measures: ['arena_text', 'arena_instructions'],
    traffic: 0.2,
  },
  coding: {
    easy: 0.52,
    usual: 0.41,
    hard: 0.07,
    slope: WORKED_OUT,
    ceiling: 0.99,
    measures: ['coding', 'terminal', 'arena_coding'],
    traffic: 0.22,
  },
  math: { easy: 0.57, usual: 0.36, hard: 0.07, slope: WORKED_OUT, ceiling: 0.99, measures: ['math'], traffic: 0.05 },
  reasoning: {
    easy: 0.44,
    usual: 0.47,
    hard: 0.09,
    slope: WORKED_OUT,
    ceiling: 0.99,
    measures: ['reasoning'],
    traffic: 0.1,
  },
  writing: {
    easy: 0.55,
    usual: 0.38,
    hard: 0.07,
    slope: LANGUAGE,
    ceiling: 0.97,
    measures: ['arena_text', 'arena_instructions'],
    traffic: 0.12,
  },
  summarization: {
    easy: 0.55,
    usual: 0.4,
    hard: 0.05,
    slope: LANGUAGE,
    ceiling: 0.97,
    measures: ['long_context', 'arena_instructions'],
    traffic: 0.08,
  },
  translation: {
    easy: 0.6,
    usual: 0.35,
    hard: 0.05,
    slope: LANGUAGE,
    ceiling: 0.98,
    measures: ['arena_non_english', 'arena_text'],
    traffic: 0.05,
  },
  extraction: {
    easy: 0.65,
    usual: 0.3,
    hard: 0.05,
    slope: LANGUAGE,
    ceiling: 0.985,
    measures: ['arena_instructions', 'long_context'],
    traffic: 0.06,
  },
  classification: {
    easy: 0.65,
    usual: 0.29,
    hard: 0.06,
    slope: LANGUAGE,
    ceiling: 0.985,
    measures: ['arena_instructions'],
    traffic: 0.05,
  },
  tool_use: {
    easy: 0.5,
    usual: 0.42,
    hard: 0.08,
    slope: WORKED_OUT,
    ceiling: 0.985,
    measures: ['tools_july', 'tools_september', 'tools_telecom'],
    traffic: 0.05,
  },
  vision: { easy: 0.3, usual: 0.44, hard: 0.26, slope: LANGUAGE, ceiling: 0.97, measures: ['vision'], traffic: 0.02 },
};
