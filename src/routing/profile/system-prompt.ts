import type { Turn } from '../../core/conversation.ts';
import { expressionsOf, figuresOf } from './lexicon/data.ts';
import { SIGN } from './lexicon/signs.ts';
import file from './lexicon/system-prompts.json' with { type: 'json' };
import { orderOf } from './order.ts';
import { readQuestion } from './question.ts';
import { shapeOf } from './question-shape.ts';
import type { QuestionView, SystemInstruction } from './question-view.ts';
import { QuestionReading } from './reading.ts';
import { likelihoods } from './shares.ts';
import { type TaskWeights, taskLogits } from './task-logits.ts';
import { TASKS } from './tasks.ts';
import { TextMemory } from './text-memory.ts';

/** Turns read, from the start of the conversation: later system messages are about a single turn. */
const TURNS = 3;
/** Characters read of each: the role stands at the head, instructions for the answer at the tail. */
const HEAD = 900;
const TAIL = 500;

/** The text of the `system` and `developer` messages that begin the conversation; '' for none. */
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

/** Whether it describes an agent that serves people, such as one of a bank: nothing speaks of code. */
const isAgentOfPeople = (text: string): boolean => agent.test(text) && !agent_of_code.test(text);

/** A system prompt, read like a question, and what it says about the user's messages by the shipped weights. */
export type SystemPrompt = Readonly<ReturnType<typeof systemPromptOf>>;

/** UTF-16 code units of the prompts that are remembered, twice. */
const REMEMBERED_CHARS = 2 ** 20;
const remembered = new TextMemory<SystemPrompt>(REMEMBERED_CHARS);

/** Reads a system prompt, or remembers it. */
export const readSystemPrompt = (text: string): SystemPrompt => remembered.of(text, systemPromptOf);

function systemPromptOf(text: string) {
  const question = readQuestion(text);
  const reading = new QuestionReading(question);
  const shape = shapeOf(question);
  const view: QuestionView = {
    question,
    reading,
    shape,
    tools: null,
    before: null,
    system: null,
    isSystemPrompt: true,
  };
  return { view, instruction: instructionOf(view) };
}

const CODING = TASKS.indexOf('coding');

/** The instruction of a system prompt. `weights`: see `taskLogits`. */
export function instructionOf(view: QuestionView, weights?: TaskWeights): SystemInstruction {
  const { text } = view.question;
  const logits = taskLogits(view, weights);
  if (isAgentOfPeople(text)) logits[CODING]! -= BOUND.no_coder;
  return { tasks: likelihoods(logits), binds: bindsAll(view), order: orderOf(view), text };
}

function bindsAll({ question, reading }: QuestionView): boolean {
  const words = reading.signs[SIGN.bind]!;
  return words > 0.4 && words * BOUND.binding_chars >= Math.min(question.length, BOUND.binding_chars_max);
}
