import type { QuestionText } from './question.ts';
import type { QuestionShape } from './question-shape.ts';
import type { QuestionReading } from './reading.ts';
import type { Words } from './word-sums.ts';

/** A question with its context. The features of the task are computed from the question and its context. */
export interface QuestionView {
  readonly question: QuestionText;
  readonly reading: QuestionReading;
  readonly shape: QuestionShape;
  readonly tools: ToolContext | null;
  /** Task probabilities of the question before, if this question may follow it up; null otherwise. */
  readonly before: Float64Array | null;
  readonly system: SystemInstruction | null;
  /** The words of the question and of its context. */
  readonly words: readonly Words[];
  /** Whether the question is the system prompt itself. */
  readonly isSystemPrompt: boolean;
}

/** The instruction that a system prompt gives for all messages of the user. */
export interface SystemInstruction {
  /** The probability of each task. */
  readonly tasks: Float64Array;
  /** Whether the instruction determines every answer: "translate everything", "the label only". */
  readonly binds: boolean;
  /** The index in `TASKS` of the task that the system prompt orders, if it says little else; otherwise -1. */
  readonly order: number;
  readonly text: string;
}

/** The relation of a question to the tools that the request offers. */
export interface ToolContext {
  /** Whether the question contains a word of a tool's name. */
  readonly named: boolean;
  /** Whether the conversation ends in tool calls or tool results. */
  readonly amid: boolean;
}
