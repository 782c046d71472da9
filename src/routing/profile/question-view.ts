import { SIGN, type Sign } from './lexicon/signs.ts';
import type { QuestionText } from './question.ts';
import type { QuestionShape } from './question-shape.ts';
import type { QuestionReading } from './reading.ts';

/** A question with its context: the input of the task's features. */
export interface QuestionView {
  readonly question: QuestionText;
  readonly reading: QuestionReading;
  readonly shape: QuestionShape;
  readonly tools: ToolContext | null;
  /** Task probabilities of the question before, where this one may follow it up. */
  readonly before: Float64Array | null;
  readonly system: SystemInstruction | null;
  /** Whether the question is itself the system prompt. */
  readonly isSystemPrompt: boolean;
}

/** The instruction of a system prompt for all messages of the user. */
export interface SystemInstruction {
  /** Probability of each task. */
  readonly tasks: Float64Array;
  /** Whether it binds every answer: "translate everything", "the label only". */
  readonly binds: boolean;
  /** Index in `TASKS` of the one task that it orders, where it says little else; else -1. */
  readonly order: number;
  readonly text: string;
}

/** The relation of a question to the tools that are offered. */
export interface ToolContext {
  /** Whether the question has a word of a tool's name. */
  readonly named: boolean;
  /** Whether the conversation ends in calls or results of tools. */
  readonly amid: boolean;
  /** Results since the last user message, and the end of the last one; 0 and '' where `amid` is false. */
  readonly calls: number;
  readonly result: string;
}

/** The sum of the weights of some signs. */
export function sum({ reading: { signs } }: QuestionView, ...of: readonly Sign[]): number {
  let all = 0;
  for (let at = 0; at < of.length; at++) all += signs[SIGN[of[at]!]]!;
  return all;
}
