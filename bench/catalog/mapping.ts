/**
 * Maps an ability to a share of good answers, for requests as people send them. The mapping is defined only here.
 *
 * The mapping follows item-response theory. Ability is in logits, on the scale of an index of hard, mostly agentic work, with 0 in the
 * middle of the catalog. A request has a difficulty on the same scale, and a model answers the request well with the probability `ceiling ·
 * σ(slope · ability + ease)`. The requests of a task are a mixture of easy, usual and hard ones, so the task's figure is the mean.
 *
 * `ease`: an average model answers 6 of 10 hard requests well (a proof, an agent's turn in a large repository), 95 of 100 usual ones and 99
 * of 100 easy ones. These figures, the slopes and the mixtures were chosen so that they reproduce the pooled tests on ordinary requests in
 * `facts.json` (`test/bench/catalog.test.ts` compares them): school algebra 97 of 100, labels 86 to 99, fields of listings 97, whole
 * listings 78, answers from documents 94.
 *
 * `slope`: if an answer must be worked out, ability counts fully (school algebra and extraction separate models at least as well as the
 * index does). In tests of everyday language, ability separates models half as well (0.45 to 0.65 fitted).
 *
 * `ceiling`: the share that no ability can exceed. A request may lack necessary information, people's tastes differ, a photo may be
 * blurred.
 */
export const EASE = { easy: 4.6, usual: 3, hard: 0.5 } as const;

export interface TaskMapping {
  /** The shares of a task's easy, usual and hard requests; the three shares sum to 1. */
  readonly mix: readonly [easy: number, usual: number, hard: number];
  readonly slope: number;
  readonly ceiling: number;
  /** The share of a gateway's traffic, used for `default`; a guess. */
  readonly traffic: number;
}

const WORKED_OUT = 1;
const LANGUAGE = 0.5;

export const TASKS: Readonly<Record<string, TaskMapping>> = {
  chat: { mix: [0.75, 0.22, 0.03], slope: LANGUAGE, ceiling: 0.98, traffic: 0.2 },
  coding: { mix: [0.6, 0.22, 0.18], slope: WORKED_OUT, ceiling: 0.995, traffic: 0.22 },
  math: { mix: [0.64, 0.23, 0.13], slope: WORKED_OUT, ceiling: 0.995, traffic: 0.05 },
  reasoning: { mix: [0.54, 0.28, 0.18], slope: WORKED_OUT, ceiling: 0.995, traffic: 0.1 },
  writing: { mix: [0.55, 0.36, 0.09], slope: LANGUAGE, ceiling: 0.97, traffic: 0.12 },
  summarization: { mix: [0.55, 0.4, 0.05], slope: LANGUAGE, ceiling: 0.97, traffic: 0.08 },
  translation: { mix: [0.6, 0.35, 0.05], slope: LANGUAGE, ceiling: 0.98, traffic: 0.05 },
  extraction: { mix: [0.65, 0.3, 0.05], slope: LANGUAGE, ceiling: 0.985, traffic: 0.06 },
  classification: { mix: [0.65, 0.29, 0.06], slope: LANGUAGE, ceiling: 0.985, traffic: 0.05 },
  tool_use: { mix: [0.6, 0.23, 0.17], slope: WORKED_OUT, ceiling: 0.99, traffic: 0.05 },
  vision: { mix: [0.3, 0.4, 0.3], slope: LANGUAGE, ceiling: 0.97, traffic: 0.02 },
};

/** Measures that are specific to a task, in addition to the index. A model without any of these measures is rated by the index alone. */
export const MEASURES: Readonly<Record<string, readonly string[]>> = {
  chat: ['arena_text', 'arena_instructions', 'ordinary'],
  coding: ['coding', 'terminal', 'arena_coding'],
  math: ['math'],
  reasoning: ['reasoning'],
  writing: ['arena_text', 'arena_instructions', 'ordinary'],
  summarization: ['long_context', 'arena_instructions', 'ordinary'],
  translation: ['arena_non_english', 'arena_text'],
  extraction: ['arena_instructions', 'long_context', 'ordinary'],
  classification: ['arena_instructions', 'ordinary'],
  tool_use: ['tools_july', 'tools_september', 'tools_telecom', 'ordinary'],
  vision: ['vision'],
};
