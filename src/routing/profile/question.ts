import type { Conversation, Turn } from '../../core/request/conversation.ts';
import { turnText } from '../texts.ts';
import type { PromptReader } from './prompt-reader.ts';
import { CONTEXT_FACT, type SystemReading, sizeClass } from './reading.ts';
import { COLUMNS, TASKS } from './table.ts';
import { isAmidTools, namesTool } from './tools.ts';
import { mayFollowUp, readUserTurn, saysSomething, type UserTurn, userPlaces } from './user-turn.ts';

/** The user messages that are read to understand a follow-up, including the last one. */
const TURNS = 4;
/** The turns that are searched for them: a message may consist of blocks of the caller's software alone. */
const SEARCHED = 8;

/** The figures that a text or some facts add to each column, and how much they count. */
interface Part {
  readonly sums: Float64Array;
  readonly weight: number;
  /** Offered tools change only how likely `tool_use` is. */
  readonly isOfTools: boolean;
}

/** A question and what it may follow up. */
export interface Question {
  /** The question, then the messages before that it may follow up, latest first. */
  readonly asked: readonly UserTurn[];
  readonly system: SystemReading | null;
  readonly parts: readonly Part[];
  /** The log odds of each column: the sum of all parts. */
  readonly odds: Float64Array;
}

/** Reads the last question in its context. */
export function readQuestion(conversation: Conversation, reader: PromptReader): Question {
  const { turns } = conversation;
  const asked = askedTurns(turns, reader);
  const prompt = asked.length === 0 ? '' : systemPromptText(turns);
  const system = prompt === '' ? null : reader.systemPrompt(prompt);
  const odds = new Float64Array(COLUMNS);
  const parts = partsOf(conversation, asked, system, reader);
  for (const { sums, weight, isOfTools } of parts)
    if (isOfTools) odds[TOOL_USE]! += weight * sums[TOOL_USE]!;
    else for (let column = 0; column < COLUMNS; column++) odds[column]! += weight * sums[column]!;
  if (!offersTools(conversation)) odds[TOOL_USE] = Number.NEGATIVE_INFINITY;
  return { asked, system, parts, odds };
}

export const TOOL_USE = TASKS.indexOf('tool_use');
const offersTools = ({ tools, toolChoice }: Conversation): boolean => tools.length > 0 && toolChoice !== 'none';

/** Returns the readings of the texts and of the facts that tell the task of a question. */
function partsOf(
  conversation: Conversation,
  [last, ...earlier]: readonly UserTurn[],
  system: SystemReading | null,
  reader: PromptReader,
): Part[] {
  if (last === undefined) return [];
  const { turns } = conversation;
  const { message } = last;
  const parts: Part[] = [];
  const add = (sums: Float64Array, weight = 1, isOfTools = false): number => parts.push({ sums, weight, isOfTools });
  add(message.sums);
  for (const [at, turn] of earlier.entries()) add(turn.message.asBefore, 1 / (at + 1));
  if (system !== null) add(system.sums);
  const answer = answerBefore(turns);
  if (answer !== '') add(reader.answer(answer));
  const { features } = reader.texts;
  features.addFact(CONTEXT_FACT.system, system === null ? 25 : sizeClass(system.length / 4));
  features.addFact(CONTEXT_FACT.before, earlier.length === 0 ? 0 : message.words <= 5 ? 2 : 1);
  add(reader.texts.sums());
  if (!offersTools(conversation)) return parts;
  const { tools } = conversation;
  const isAmid = isAmidTools(turns);
  features.addFact(CONTEXT_FACT.named, namesTool(tools, message.text.question) ? 1 : 0);
  features.addFact(CONTEXT_FACT.amid, isAmid ? 1 : 0);
  features.addFact(CONTEXT_FACT.tools, Math.min(4, tools.length));
  add(reader.texts.sums(), 1, true);
  if (!isAmid) add(message.withTools, 1, true);
  return parts;
}

/** Returns the last question, the question before it if the last one may be a follow-up, and so on, latest first. */
export function askedTurns(turns: readonly Turn[], reader: PromptReader): UserTurn[] {
  const asked: UserTurn[] = [];
  const places = userPlaces(turns);
  for (let back = 1; back <= SEARCHED && back <= places.length && asked.length < TURNS; back++) {
    const turn = readUserTurn(turns[places.at(-back)!]!, reader);
    if (!saysSomething(turn)) continue;
    asked.push(turn);
    if (!mayFollowUp(turn)) break;
  }
  return asked;
}

/** The turns that are read from the start of the conversation. Later system messages are about a single turn. */
const PROMPT_TURNS = 3;
const PROMPT_CHARS_MAX = 65_536;

/** Returns the text of the `system` and `developer` messages at the start of the conversation; '' for none. */
export function systemPromptText(turns: readonly Turn[]): string {
  let text = '';
  for (let at = 0; at < turns.length && at < PROMPT_TURNS && text.length < PROMPT_CHARS_MAX; at++) {
    const turn = turns[at]!;
    if (turn.role !== 'system' && turn.role !== 'developer') break;
    const more = turnText(turn);
    text = text === '' ? more : `${text}\n\n${more}`;
  }
  return text;
}

/** Returns the model's answer before the last message of the user; '' without one. */
function answerBefore(turns: readonly Turn[]): string {
  const answer = turns[(userPlaces(turns).at(-1) ?? 0) - 1];
  return answer?.role === 'assistant' ? turnText(answer) : '';
}
