import type { Turn } from '../../core/request/conversation.ts';
import { expressionsOf, figuresOf } from './lexicon/data.ts';
import { SIGN } from './lexicon/signs.ts';
import file from './lexicon/system-prompts.json' with { type: 'json' };
import { orderOf } from './order.ts';
import { readQuestion } from './question.ts';
import { shapeOf } from './question-shape.ts';
import type { QuestionView, SystemInstruction } from './question-view.ts';
import { QuestionReading } from './reading.ts';
import type { ReadingTables } from './reading-tables.ts';
import { likelihoods } from './shares.ts';
import { type ReadingWeights, taskLogits } from './task-logits.ts';
import { TASKS } from './tasks.ts';
import { PLACE } from './word-rows.ts';
import { Words } from './word-sums.ts';

/** The number of turns read from the start of the conversation. Later system messages are about a single turn. */
const TURNS = 3;
/** The number of characters read at each end of a message: roles are at the beginning, instructions for the answer at the end. */
const HEAD = 900;
const TAIL = 500;

/** Returns the text of the `system` and `developer` messages at the start of the conversation; '' for none. */
export function systemPromptText(turns: readonly Turn[]): string {
  let text = '';
  for (let at = 0; at < turns.length && at < TURNS; at++) {
    const { role, parts } = turns[at]!;
    if (role !== 'system' && role !== 'developer') break;
    for (const part of parts) if (part.type === 'text') text = joined(text, part.text);
    if (text.length > 2 * (HEAD + TAIL)) break;
  }
  return text;
}

function joined(text: string, more: string): string {
  const bounded = more.length <= HEAD + TAIL ? more : `${more.slice(0, HEAD)}\n\n${more.slice(-TAIL)}`;
  return text ? `${text}\n\n${bounded}` : bounded;
}

const BOUND = figuresOf(file);
const { agent, agent_of_code } = expressionsOf(file);

/** Whether a text describes an agent that serves people, such as an agent of a bank, and does not mention code. */
const isAgentOfPeople = (text: string): boolean => agent.test(text) && !agent_of_code.test(text);

/** A system prompt, read like a question, and the meaning that the shipped weights give it for the user's messages. */
export type SystemPrompt = Readonly<ReturnType<typeof systemPromptOf>>;

export function systemPromptOf(text: string, tables: ReadingTables) {
  const question = readQuestion(text, tables, 'system prompt');
  const reading = new QuestionReading(question, tables);
  const shape = shapeOf(question);
  const view: QuestionView = {
    question,
    reading,
    shape,
    tools: null,
    before: null,
    system: null,
    words: [new Words(question.words, 1), Words.ofLines(question, PLACE.order, 1, tables.rows)],
    isSystemPrompt: true,
  };
  const words = Words.ofLines(question, PLACE.system, 1.25, tables.rows);
  return { view, instruction: instructionOf(view, tables), words };
}

const CODING = TASKS.indexOf('coding');

/** Returns the instruction of a system prompt. The parameter `weights` is described at `taskLogits`. */
export function instructionOf(view: QuestionView, tables: ReadingTables, weights?: ReadingWeights): SystemInstruction {
  const { text } = view.question;
  const logits = taskLogits(view, tables, weights);
  if (isAgentOfPeople(text)) logits[CODING]! -= BOUND.no_coder;
  return { tasks: likelihoods(logits), binds: bindsAll(view), order: orderOf(view, tables), text };
}

function bindsAll({ question, reading }: QuestionView): boolean {
  const words = reading.signs[SIGN.bind]!;
  return words > 0.4 && words * BOUND.binding_chars >= Math.min(question.length, BOUND.binding_chars_max);
}
